"""The answer to a call on a back end."""

from __future__ import annotations

import outcome
import pytest
import trio
import trio.testing

from queuefs.errors import QueueNotFound
from queuefs.ticket import Ticket, at_once


class Store:
    def __init__(self) -> None:
        self.calls: list[int] = []

    @at_once
    def double(self, number: int, *, fail: bool = False) -> int:
        """Return twice *number*."""
        self.calls.append(number)
        if fail:
            raise QueueNotFound
        return 2 * number


async def test_an_answer_is_there_when_it_is_awaited() -> None:
    ticket: Ticket[str] = Ticket()
    ticket.settle(outcome.Value("done"))
    with trio.testing.assert_no_checkpoints():
        assert await ticket == "done"


async def test_a_waiting_task_is_woken() -> None:
    ticket: Ticket[str] = Ticket()
    got = []

    async def wait() -> None:
        got.append(await ticket)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        assert got == []
        ticket.settle(outcome.Value("done"))
    assert got == ["done"]


async def test_an_error_is_raised_to_the_one_who_waits() -> None:
    ticket: Ticket[str] = Ticket()

    async def wait() -> None:
        with pytest.raises(QueueNotFound):
            await ticket

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        ticket.settle(outcome.Error(QueueNotFound()))


async def test_a_cancelled_task_learns_the_outcome_all_the_same() -> None:
    ticket: Ticket[str] = Ticket()
    got = []

    async def wait() -> None:
        got.append(await ticket)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
        with trio.CancelScope(shield=True):  # this task is in the cancelled scope too
            await trio.testing.wait_all_tasks_blocked()
        assert got == []
        ticket.settle(outcome.Value("done"))
    assert got == ["done"]


async def test_a_plain_function_is_carried_out_when_called() -> None:
    store = Store()
    answer = store.double(4)
    assert store.calls == [4]
    with trio.testing.assert_no_checkpoints():
        assert await answer == 8


async def test_a_plain_functions_error_comes_from_awaiting() -> None:
    store = Store()
    answer = store.double(4, fail=True)
    assert store.calls == [4]
    with pytest.raises(QueueNotFound):
        await answer


async def test_a_wrapped_function_keeps_its_name_and_words() -> None:
    assert Store.double.__name__ == "double"
    assert Store.double.__doc__ == "Return twice *number*."
