"""Messages that go from queue to queue, or come from another store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs.backend import Settled
from queuefs.errors import KeyInUse, MessageNotFound
from queuefs.lifecycle import State
from queuefs.ticket import at_once
from queuefs_memory.store import Store

if TYPE_CHECKING:
    from queuefs.message import Message, MessageId, QueueId, Record, Retention, Room
    from queuefs_memory.rows import QueueRow, Row


class Moving(Store):
    """`move`, `restore` and `restore_record`."""

    @at_once
    def move(self, queue: QueueId, message: MessageId, *, target: QueueId, room: Room) -> Settled:
        """Let a pending message be one of another queue."""
        source, goal = self._queue(queue), self._queue(target)
        row = source.messages.get(message)
        if row is None:
            return Settled.UNKNOWN
        if row.state is not State.PENDING:
            return Settled.STALE
        if goal is not source:
            goal.check_room(room, row.size)
            if row.draft.key is not None and goal.keys.holds(row.draft.key):
                raise KeyInUse
            self._move(row, goal)
        return Settled.DONE

    def _move(self, row: Row, goal: QueueRow) -> None:
        self._stop_waiting(row)
        self._leave(row)
        if row.draft.key is not None:
            row.queue.keys.unpublish(row.draft.key, row.id)
        row.queue = goal
        goal.enqueued += 1
        self._join(row)
        self._wait_or_pause(row)

    def _wait_or_pause(self, row: Row) -> None:
        """Let *row* be pending, and paused if it says so."""
        paused, row.paused = row.paused, False
        self._wait(row)
        if paused:
            self._pause(row)

    @at_once
    def restore(self, queue: QueueId, message: Message) -> None:
        """Make a staged message what it was in another store."""
        target = self._queue(queue)
        row = target.staged.pop(message.id, None)
        if row is None:
            raise MessageNotFound(f"message {message.id} is not being written")
        target.staged_bytes -= row.size
        row.become(message)
        target.enqueued += 1
        if message.state is State.DEAD:
            self._die(row)
            return
        self._join(row)
        if message.lease_until is not None:  # which only has what is in processing
            self._hold(row, message.lease_until)
            target.processing += 1
        else:
            self._wait_or_pause(row)

    @at_once
    def restore_record(self, queue: QueueId, record: Record, *, keep: Retention) -> None:
        """Keep a record from another store."""
        self._told(queue, keep).records.add(record)
        self._last_id = max(self._last_id, record.id)
