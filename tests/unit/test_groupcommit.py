"""The line of work in front of one thread."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import outcome
import pytest
import trio
import trio.testing

from queuefs.errors import ShuttingDown
from queuefs.groupcommit import GroupCommit

if TYPE_CHECKING:
    from collections.abc import Sequence

PATIENCE_SECONDS = 30

#: The piece that fails.
UNLUCKY = -1


class Worker:
    """Answers each piece with its negative, one batch at a time, when the test lets it."""

    def __init__(self, *, held: bool = False) -> None:
        self.batches: list[list[int]] = []
        self.threads: set[int] = set()
        self._go = threading.Event()
        self.begun = threading.Event()
        if not held:
            self._go.set()

    def let_go(self) -> None:
        self._go.set()

    def __call__(self, batch: Sequence[int]) -> list[outcome.Outcome[Any]]:
        self.batches.append(list(batch))
        self.threads.add(threading.get_ident())
        self.begun.set()
        assert self._go.wait(PATIENCE_SECONDS)
        return [outcome.capture(self._answer, piece) for piece in batch]

    def _answer(self, piece: int) -> int:
        if piece == UNLUCKY:
            raise ValueError(piece)
        return -piece

    async def busy(self) -> None:
        """Return once it has taken its first batch."""
        assert await trio.to_thread.run_sync(self.begun.wait, PATIENCE_SECONDS)


async def test_each_piece_gets_its_answer() -> None:
    line = GroupCommit(Worker(), name="worker")
    async with line.open():
        tickets = [line.submit(piece) for piece in range(10)]
        assert [await ticket for ticket in tickets] == [-piece for piece in range(10)]


async def test_an_error_is_that_of_its_piece_alone() -> None:
    line = GroupCommit(Worker(), name="worker")
    async with line.open():
        before, bad, after = line.submit(12), line.submit(UNLUCKY), line.submit(14)
        assert (await before, await after) == (-12, -14)
        with pytest.raises(ValueError, match=str(UNLUCKY)):
            await bad


async def test_what_arrives_meanwhile_is_one_batch_in_order() -> None:
    worker = Worker(held=True)
    line = GroupCommit(worker, name="worker")
    async with line.open():
        first = line.submit(0)
        await worker.busy()
        rest = [line.submit(piece) for piece in range(1, 50)]
        worker.let_go()
        for ticket in (first, *rest):
            await ticket
    assert worker.batches == [[0], list(range(1, 50))]


async def test_a_batch_has_its_limit() -> None:
    worker = Worker(held=True)
    line = GroupCommit(worker, name="worker", max_batch=4)
    async with line.open():
        tickets = [line.submit(0)]
        await worker.busy()
        tickets += [line.submit(piece) for piece in range(1, 11)]
        worker.let_go()
        for ticket in tickets:
            await ticket
    assert worker.batches == [[0], [1, 2, 3, 4], [5, 6, 7, 8], [9, 10]]


async def test_one_thread_does_it_all() -> None:
    worker = Worker()
    line = GroupCommit(worker, name="worker")
    async with line.open():
        for piece in range(100, 200):
            assert await line.submit(piece) == -piece
    assert len(worker.threads) == 1
    assert threading.get_ident() not in worker.threads


async def test_closing_finishes_what_was_submitted() -> None:
    worker = Worker(held=True)
    line = GroupCommit(worker, name="worker", max_batch=2)
    async with line.open():
        tickets = [line.submit(piece) for piece in range(9)]
        worker.let_go()
    assert [await ticket for ticket in tickets] == [-piece for piece in range(9)]


async def test_closing_finishes_also_when_cancelled() -> None:
    worker = Worker(held=True)
    line = GroupCommit(worker, name="worker")
    with trio.CancelScope() as scope:
        async with line.open():
            ticket = line.submit(1)
            await worker.busy()
            scope.cancel()
            worker.let_go()
            await trio.lowlevel.checkpoint()
    assert scope.cancelled_caught
    assert await ticket == -1


async def test_a_closed_line_takes_no_more() -> None:
    line = GroupCommit(Worker(), name="worker")
    async with line.open():
        pass
    with pytest.raises(ShuttingDown):
        await line.submit(1)


async def test_its_thread_ends_with_it() -> None:
    line = GroupCommit(Worker(), name="worker of this test")
    async with line.open():
        assert "worker of this test" in {thread.name for thread in threading.enumerate()}
    assert "worker of this test" not in {thread.name for thread in threading.enumerate()}


async def test_an_idle_worker_wakes_up() -> None:
    """It has to sleep between the two for the test to mean anything; many rounds make that all but certain."""
    line = GroupCommit(Worker(), name="worker")
    async with line.open():
        for piece in range(500, 1000):
            assert await line.submit(piece) == -piece


def fails(_batch: Sequence[int]) -> list[outcome.Outcome[Any]]:
    raise ZeroDivisionError


async def test_a_worker_that_raises_answers_everybody_with_that() -> None:
    line = GroupCommit(fails, name="worker")
    async with line.open():
        tickets = [line.submit(piece) for piece in range(5)]
        for ticket in tickets:
            with pytest.raises(ZeroDivisionError):
                await ticket


@pytest.mark.parametrize("producers", [1, 16])
async def test_every_producers_order_is_kept(producers: int) -> None:
    worker = Worker()
    line = GroupCommit(worker, name="worker", max_batch=7)

    async def produce(first: int) -> None:
        tickets = []
        for piece in range(first, first + 40):
            tickets.append(line.submit(piece))
            await trio.lowlevel.checkpoint()
        assert [await ticket for ticket in tickets] == [-piece for piece in range(first, first + 40)]

    async with line.open(), trio.open_nursery() as nursery:
        for number in range(producers):
            nursery.start_soon(produce, 1000 * (number + 1))
    done = [piece for batch in worker.batches for piece in batch]
    for number in range(producers):
        own = [piece for piece in done if piece // 1000 == number + 1]
        assert own == list(range(1000 * (number + 1), 1000 * (number + 1) + 40))
