"""The answer to a call on a back end: the call counts when it is made, the answer is there when it is awaited."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Generic, ParamSpec, TypeVar

import trio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    import outcome

T = TypeVar("T")
P = ParamSpec("P")


class Ticket(Generic[T]):
    """An answer that is on its way; await it once, from a trio task.

    Awaiting can't be cancelled: the operation has been handed over, and its outcome must be known.
    """

    __slots__ = ("_outcome", "_waiter")

    def __init__(self) -> None:
        """Start without an answer."""
        self._outcome: outcome.Outcome[T] | None = None
        self._waiter: trio.lowlevel.Task | None = None

    def settle(self, answer: outcome.Outcome[T]) -> None:
        """Store the answer and wake whoever waits for it; must be called on the trio thread."""
        self._outcome = answer
        if self._waiter is not None:
            trio.lowlevel.reschedule(self._waiter)
            self._waiter = None

    def __await__(self) -> Generator[object, object, T]:
        """Return the answer or raise its error."""
        if self._outcome is None:
            self._waiter = trio.lowlevel.current_task()
            parked = trio.lowlevel.wait_task_rescheduled(_not_cancellable)  # noqa: ASYNC105 - awaited by `yield from`
            yield from parked.__await__()
        assert self._outcome is not None  # only `settle` reschedules the waiter
        return self._outcome.unwrap()


def _not_cancellable(_raise_cancel: object) -> trio.lowlevel.Abort:
    return trio.lowlevel.Abort.FAILED


class Answer(Generic[T]):
    """An answer that is there already: awaiting it never suspends, so the short wait of the mount stays short."""

    __slots__ = ("_value",)

    def __init__(self, value: T) -> None:
        """Keep *value*."""
        self._value = value

    def __await__(self) -> Generator[object, object, T]:
        """Return the value at once."""
        yield from ()  # nothing; it makes this a generator
        return self._value


class Failure:
    """An error that is there already."""

    __slots__ = ("_error",)

    def __init__(self, error: Exception) -> None:
        """Keep *error*."""
        self._error = error

    def __await__(self) -> Generator[object, object, None]:
        """Raise the error."""
        yield from ()  # nothing; it makes this a generator
        raise self._error


def at_once(function: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """Make a plain function answer as the contract wants: done when called, its result or error given when awaited."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
        try:
            return Answer(function(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - handed on whole, to be raised by await
            return Failure(error)  # type: ignore[return-value]  # it never returns a value

    return call
