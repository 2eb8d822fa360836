"""Sees to what a file's last close leaves to be done, since the close itself must not wait.

The kernel sends RELEASE without waiting for it, and a handler that waits there holds one of the few slots for
background requests. So the call on the back end is made at once, which gives it its place in the order of operations
(later calls find it done), and its outcome is awaited here. One that meets an outage is made again until it has
succeeded, and until then the calls that follow on that queue wait for it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import structlog
import trio

from queuefs.errors import BackendError, BackendUnavailable, QueueFSError, StoreFull

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from queuefs.message import QueueId

T = TypeVar("T")

log = structlog.get_logger(__name__)

#: Seconds until a failed call is made again: at first, and at most.
FIRST_RETRY_SECONDS = 0.1
LAST_RETRY_SECONDS = 2.0

#: How long a later call waits for one that has failed before it gives up itself, seconds.
PATIENCE_SECONDS = 3.0


@dataclass(slots=True)
class _Work(Generic[T]):
    """One call that a close has left to be made."""

    queue: QueueId
    call: Callable[[], Awaitable[T]]
    heed: Callable[[T], str | None]
    _: KW_ONLY
    again: bool
    complained: bool = False

    async def attempt(self, ticket: Awaitable[T]) -> BackendError | None:
        """Await one outcome; return the error if another attempt may succeed."""
        try:
            wrong = self.heed(await ticket)
        except BackendError as error:
            self.complain(str(error))
            return error if error.may_pass else None
        except QueueFSError as error:
            wrong = str(error)
        if wrong is not None:
            log.info("refused after close", queue=self.queue, reason=wrong)
        return None

    def complain(self, reason: str) -> None:
        """Say once why it is not done."""
        if not self.complained:
            log.warning("not done after close", queue=self.queue, reason=reason, again=self.again)
        self.complained = True


class Handover:
    """What has been handed over and is not finished."""

    def __init__(self, nursery: trio.Nursery, *, instant: bool) -> None:
        """Wait for outcomes in *nursery*; *instant* says that the back end's answers are there when a call returns."""
        self._nursery = nursery
        self._instant = instant
        self._open = 0
        self._held_up: Counter[QueueId] = Counter()
        self._progress = trio.Event()

    async def once(self, queue: QueueId, call: Callable[[], Awaitable[T]], heed: Callable[[T], str | None]) -> None:
        """Make *call* now, and only once: repeating it could undo what others did since. Never suspends.

        Args:
            queue: Whose order it belongs to.
            call: The call on the back end.
            heed: Takes the call's result, and returns what is wrong with it, if anything, for the log.
        """
        await self._start(queue, call, heed, again=False)

    async def until_done(
        self, queue: QueueId, call: Callable[[], Awaitable[T]], heed: Callable[[T], str | None]
    ) -> None:
        """Make *call* now, and again until the back end has taken it; it must be idempotent. Never suspends."""
        await self._start(queue, call, heed, again=True)

    async def in_order(self, queue: QueueId, command: Callable[[], Awaitable[None]]) -> None:
        """Carry out *command*, which may suspend, and let the queue's later calls wait for it."""

        async def held_up() -> None:
            try:
                await command()
            finally:
                self._let_go(queue, 1)

        self._held_up[queue] += 1
        await self._start(queue, held_up, lambda _done: None, again=False)

    async def _start(
        self,
        queue: QueueId,
        call: Callable[[], Awaitable[T]],
        heed: Callable[[T], str | None],
        *,
        again: bool,
    ) -> None:
        work = _Work(queue, call, heed, again=again)
        if self._instant:
            await work.attempt(call())
            return
        self._open += 1
        self._nursery.start_soon(self._see_through, work, call())

    async def _see_through(self, work: _Work[T], ticket: Awaitable[T]) -> None:
        try:
            error = await work.attempt(ticket)
            if error is not None and work.again:
                await self._repeat(work, error)
        except Exception:  # one bug must not end the mount, and this task is a part of it
            log.exception("a bug in QueueFS", queue=work.queue)
        finally:
            self._open -= 1
            self._tell()

    async def _repeat(self, work: _Work[T], error: BackendError) -> None:
        pause = FIRST_RETRY_SECONDS
        # On a full disk others have to go on: they make room.
        holds = 0 if isinstance(error, StoreFull) else 1
        self._held_up[work.queue] += holds
        try:
            while True:
                await trio.sleep(pause)
                pause = min(2 * pause, LAST_RETRY_SECONDS)
                if await work.attempt(work.call()) is None:
                    log.info("done late after close", queue=work.queue)
                    return
        finally:
            self._let_go(work.queue, holds)

    def _let_go(self, queue: QueueId, holds: int) -> None:
        self._held_up[queue] -= holds
        if not self._held_up[queue]:
            del self._held_up[queue]

    async def barrier(self, queue: QueueId) -> None:
        """Return once nothing of *queue* is held up; at once when nothing ever failed.

        Raises:
            BackendUnavailable: it still is after `PATIENCE_SECONDS`.
        """
        if not self._held_up[queue]:
            return
        with trio.move_on_after(PATIENCE_SECONDS):
            while self._held_up[queue]:
                await self._progress.wait()
        if self._held_up[queue]:
            raise BackendUnavailable

    async def drained(self) -> None:
        """Return once everything handed over is finished."""
        while self._open:
            await self._progress.wait()

    def _tell(self) -> None:
        self._progress.set()
        self._progress = trio.Event()
