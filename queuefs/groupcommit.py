"""Hands work from the trio thread to one worker thread, which takes all that has arrived as one batch.

A commit to disk or a round trip to a server costs the same for one operation as for hundreds. The worker takes
everything that arrived while it was busy with the last batch, so the batch sizes itself to the load and no timer is
needed. SQLite and Redis share this class; what a batch means is theirs.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import outcome
import trio

from queuefs.errors import ShuttingDown
from queuefs.ticket import Ticket

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

W = TypeVar("W")


class GroupCommit(Generic[W]):
    """A line of work in front of one thread.

    Work is done in the order in which `submit` was called, and every submitted piece is done and answered, also
    when the line is being closed.
    """

    def __init__(
        self,
        run: Callable[[Sequence[W]], Sequence[outcome.Outcome[Any]]],
        *,
        name: str,
        max_batch: int = 256,
    ) -> None:
        """Prepare the line; nothing runs until it is opened.

        Args:
            run: Called on the worker thread with one batch; returns one outcome for each piece, in the same order.
                It must not raise; should it do so all the same, every piece of the batch gets that error.
            name: The thread's name.
            max_batch: The most pieces in one batch.
        """
        self._run = run
        self._name = name
        self._max_batch = max_batch
        self._arrived: deque[tuple[W, Ticket[Any]]] = deque()
        self._work_there = threading.Semaphore(0)
        self._asleep = False
        self._closing = False
        self._token: trio.lowlevel.TrioToken | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Run the worker thread; on exit, finish what was submitted and end it."""
        self._token = trio.lowlevel.current_trio_token()
        ended = trio.Event()
        thread = threading.Thread(target=self._work, args=(ended,), name=self._name)
        thread.start()
        try:
            yield
        finally:
            self._closing = True
            self._work_there.release()
            with trio.CancelScope(shield=True):
                await ended.wait()
                thread.join()

    def submit(self, work: W) -> Ticket[Any]:
        """Take *work* into the line, before anything submitted later; must be called on the trio thread.

        Awaiting the ticket raises `ShuttingDown` if the line has been closed.
        """
        ticket: Ticket[Any] = Ticket()
        if self._closing:
            ticket.settle(outcome.Error(ShuttingDown()))
            return ticket
        self._arrived.append((work, ticket))
        if self._asleep:  # a release wakes a thread, which costs; a worker that is awake looks again by itself
            self._asleep = False
            self._work_there.release()
        return ticket

    def _work(self, ended: trio.Event) -> None:
        assert self._token is not None  # `open` set it before it started this thread
        while self._work_once(self._token):
            pass
        self._token.run_sync_soon(ended.set)

    def _work_once(self, token: trio.lowlevel.TrioToken) -> bool:
        """Do one batch; nothing of it is kept while the next is waited for. Return False once there is none."""
        batch = self._take()
        if not batch:
            return False
        try:
            answers = self._run([work for work, _ in batch])
        except BaseException as error:  # noqa: BLE001 - a lost batch would leave its callers waiting for ever
            answers = [outcome.Error(error) for _ in batch]  # an Outcome can be unwrapped only once
        token.run_sync_soon(_deliver, batch, answers)
        return True

    def _take(self) -> list[tuple[W, Ticket[Any]]]:
        """Return what has arrived, waiting for at least one piece; empty when the line has been closed and emptied."""
        while not self._arrived:
            self._asleep = True
            if self._arrived:  # came in between the look and the flag
                break
            if self._closing:
                return []
            self._work_there.acquire()
        self._asleep = False
        return [self._arrived.popleft() for _ in range(min(len(self._arrived), self._max_batch))]


def _deliver(batch: list[tuple[Any, Ticket[Any]]], answers: Sequence[outcome.Outcome[Any]]) -> None:
    for (_, ticket), answer in zip(batch, answers, strict=True):
        ticket.settle(answer)
