"""What all parts of the memory back end share: its queues and deadlines, and the few steps that messages make."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs.backend import Traits
from queuefs.errors import QueueNotFound
from queuefs.lifecycle import State
from queuefs.message import ROOT
from queuefs_memory.deadlines import Deadlines
from queuefs_memory.shelf import MAX_NEWS

if TYPE_CHECKING:
    from queuefs.clock import ClockMark
    from queuefs.message import Outcome, QueueId, Retention
    from queuefs_memory.rows import QueueRow, Row

# Read once: an attribute of an enum class costs as much as the rest of a short method.
_PENDING = State.PENDING
_PROCESSING = State.PROCESSING
_DEAD = State.DEAD


class Store:
    """The data, and the steps that keep counts, lines and deadlines together."""

    def __init__(self) -> None:
        """Start without queues."""
        self.traits = Traits(durable=False, shared=False, instant=True, server_time=False)
        self._queues: dict[QueueId, QueueRow] = {}
        self._top: dict[str, QueueRow] = {}
        #: Of messages in processing.
        self._leases = Deadlines()
        #: Of pending messages that are delayed and not paused.
        self._delays = Deadlines()
        #: Of pending messages with a time to live.
        self._lives = Deadlines()
        #: Queues in which a delay ended since the last tick.
        self._ripe: dict[QueueId, None] = {}
        self._last_queue = 0
        self._last_id = 0
        self._clock: ClockMark | None = None

    def _queue(self, queue: QueueId) -> QueueRow:
        try:
            return self._queues[queue]
        except KeyError:
            raise QueueNotFound from None

    def _told(self, queue: QueueId, keep: Retention | None) -> QueueRow:
        """Return a queue, whose records are kept from now on as *keep* says."""
        row = self._queue(queue)
        if keep is not None:
            row.records.keep = keep
        return row

    def _place(self, parent: QueueId) -> dict[str, QueueRow]:
        """Return the children of *parent*, which must exist."""
        return self._top if parent == ROOT else self._queue(parent).children

    def _children(self, parent: QueueId) -> dict[str, QueueRow]:
        """Return the children of *parent*; none if there is no parent."""
        return self._place(parent) if parent == ROOT or parent in self._queues else {}

    # Steps of a message -----------------------------------------------------------------------------------------------

    def _wait(self, row: Row) -> None:
        """Let *row*, pending as of now, stand in line, or be delayed."""
        row.state = _PENDING
        queue = row.queue
        news = queue.waiting.news
        news.append(row.rank)
        if len(news) > MAX_NEWS:
            queue.waiting.tidy()
        if row.priority:
            queue.ages.add(row.id)
        if row.due is None:
            queue.line.add(row)
        else:
            queue.delayed += 1
            self._delays.start(row, row.due)
        if row.expires_at is not None:
            self._lives.start(row, row.expires_at)

    def _hold(self, row: Row, until: float) -> None:
        """Let *row*, which is out of line, be in processing; to count it is the caller's."""
        row.state = _PROCESSING
        row.lease_until = until
        self._leases.start(row, until)
        queue = row.queue
        news = queue.held.news
        news.append(row.rank)
        if len(news) > MAX_NEWS:
            queue.waiting.forget(news)
            queue.held.tidy()

    def _pause(self, row: Row) -> None:
        """Let *row*, pending and not paused, be paused."""
        self._step_aside(row)
        row.paused = True
        row.queue.paused += 1

    def _step_aside(self, row: Row) -> None:
        """Let *row*, pending and not paused, not be handed out."""
        if row.ready:
            row.queue.line.drop(row)
        elif self._delays.end(row):
            row.queue.delayed -= 1

    def _ripen(self, now: float) -> None:
        """Let what was delayed until *now* stand in line."""
        while (row := self._delays.pop(now)) is not None:
            self._ripen_one(row)

    def _ripen_one(self, row: Row) -> None:
        queue = row.queue
        queue.delayed -= 1
        queue.line.add(row)
        self._ripe[queue.queue.id] = None

    def _stop(self, row: Row) -> None:
        """End the claim of *row*; what becomes of it is the caller's."""
        row.lease_until = None
        row.queue.processing -= 1
        self._leases.end(row)

    def _join(self, row: Row) -> None:
        """Take *row* in as unacknowledged; where it stands is the caller's."""
        queue = row.queue
        queue.messages[row.id] = row
        queue.unacked_bytes += row.size
        if row.draft.key is not None:
            queue.keys.hold(row.draft.key, row.id)

    def _leave(self, row: Row) -> None:
        """Take *row*, which is neither in processing nor in line any more, out of what is unacknowledged."""
        queue = row.queue
        del queue.messages[row.id]
        queue.unacked_bytes -= row.size
        if row.draft.key is not None:
            queue.keys.release(row.draft.key, row.id)

    def _go(self, row: Row) -> None:
        """Let *row*, as above, be gone; where it stood, what is left of it may still be met, but not the payload."""
        self._leave(row)
        row.data = b""

    def _done(self, row: Row, outcome: Outcome, now: float, keep: Retention | None) -> None:
        """Let *row*, as above, be done."""
        self._go(row)
        if keep is not None:
            row.queue.records.add(row.record(outcome, now))

    def _die(self, row: Row) -> None:
        """Let *row*, which is unacknowledged no more, be dead."""
        row.state = _DEAD
        queue = row.queue
        queue.dead[row.id] = row
        queue.dead_bytes += row.size
        queue.set_aside.add(row.id)

    def _stop_waiting(self, row: Row) -> None:
        """Take *row*, pending, out of line; what becomes of it is the caller's."""
        if row.paused:
            row.queue.paused -= 1
        else:
            self._step_aside(row)
        if row.expires_at is not None:
            self._lives.end(row)
