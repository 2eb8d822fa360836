"""Calls that were made and whose answers are still to come: many, since each waits for a disk or a network."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from queuefs.errors import QueueFSError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

#: So many calls, and payload bytes in them, are under way at a time.
MOST_CALLS = 512
MOST_BYTES = 16 * 1024 * 1024


class _Call(NamedTuple):
    answer: Awaitable[object]
    what: str
    weight: int
    done: Callable[[], None] | None


class Flight:
    """Awaits answers in the order in which the calls were made."""

    def __init__(self) -> None:
        """Start with no call."""
        self._calls: deque[_Call] = deque()
        self._weight = 0

    async def add(
        self, answer: Awaitable[object], what: str, *, weight: int = 0, done: Callable[[], None] | None = None
    ) -> None:
        """Take a call that was made, and wait until there are not too many.

        Args:
            answer: What the call returned.
            what: Whom it is about; errors begin with it.
            weight: Bytes that it holds in memory.
            done: Called once it has succeeded.

        Raises:
            QueueFSError: of this call or one before it; the ones behind it are left to `wind_up`.
        """
        self._calls.append(_Call(answer, what, weight, done))
        self._weight += weight
        while len(self._calls) > MOST_CALLS or self._weight > MOST_BYTES:
            await self._land()

    async def land(self) -> None:
        """Wait for all.

        Raises:
            QueueFSError: as of `add`.
        """
        while self._calls:
            await self._land()

    async def wind_up(self) -> None:
        """Wait for what is left after an error; what fails now fails by that."""
        while self._calls:
            try:
                await self._land()
            except QueueFSError:
                continue

    async def _land(self) -> None:
        call = self._calls.popleft()
        self._weight -= call.weight
        try:
            await call.answer
        except QueueFSError as error:
            raise type(error)(f"{call.what}: {error}") from error
        if call.done is not None:
            call.done()
