"""Writing messages: staged, appended to, published or discarded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs.errors import BadValue, IdInUse, IdsExhausted, MessageNotFound
from queuefs.message import MAX_MESSAGE_ID, MessageId
from queuefs.ticket import at_once
from queuefs_memory.rows import Row
from queuefs_memory.store import Store

if TYPE_CHECKING:
    from queuefs.message import Draft, QueueId, Room


class Writing(Store):
    """`stage` to `discard`."""

    @at_once
    def stage(
        self,
        queue: QueueId,
        data: bytes,
        *,
        draft: Draft,
        room: Room,
        partial: bool,  # noqa: ARG002 - a mark for after a crash, which nothing here survives
        now: float,
        message: MessageId | None = None,
    ) -> MessageId:
        """Store the beginning of a message."""
        target = self._queue(queue)
        if message is not None and self._is_in_use(message):
            raise IdInUse(f"there is a message {message} already")
        if room.messages or room.bytes:
            target.check_room(room, len(data))
        if message is not None:
            number = message
            self._last_id = max(self._last_id, number)
        elif self._last_id < MAX_MESSAGE_ID:
            self._last_id = number = MessageId(self._last_id + 1)
        else:
            raise IdsExhausted
        target.staged[number] = Row(number, target, data, draft, now)
        target.staged_bytes += len(data)
        return number

    def _is_in_use(self, message: MessageId) -> bool:
        """Say whether any queue has something of that id: it names one message of the whole store."""
        return any(message in there for row in self._queues.values() for there in (row.messages, row.dead, row.staged))

    @at_once
    def append(
        self,
        queue: QueueId,
        message: MessageId,
        data: bytes,
        *,
        offset: int,
        partial: bool,  # noqa: ARG002 - as above
        room: Room,
    ) -> None:
        """Add to a staged message."""
        target = self._queue(queue)
        row = target.staged.get(message)
        if row is None:
            raise MessageNotFound(f"message {message} is not being written")
        if offset != row.size:
            raise BadValue(f"message {message} has {row.size} bytes, so byte {offset} can't be next")
        if room.bytes:
            target.check_bytes(room, len(data))
        row.chunks.append(data)
        row.size += len(data)
        target.staged_bytes += len(data)

    @at_once
    def publish(self, queue: QueueId, message: MessageId, *, now: float, window: float) -> MessageId:
        """Make a staged message pending, or let it give way."""
        target = self._queue(queue)
        row = target.staged.pop(message, None)
        if row is None:
            return message
        target.staged_bytes -= row.size
        draft = row.draft
        if draft.key is not None:
            first = target.keys.find(draft.key, now=now, window=window)
            if first is not None:
                return first
            target.keys.publish(draft.key, message, now=now, window=window)
        row.join_chunks()
        target.messages[message] = row
        target.unacked_bytes += row.size
        target.enqueued += 1
        if draft.delay:
            row.due = now + draft.delay
        if draft.ttl:
            row.expires_at = now + draft.ttl
        self._wait(row)
        return message

    @at_once
    def find_key(self, queue: QueueId, key: str, *, now: float, window: float) -> MessageId | None:
        """Return the message to which another of *key* would give way."""
        return self._queue(queue).keys.find(key, now=now, window=window)

    @at_once
    def discard(self, queue: QueueId, message: MessageId) -> None:
        """Remove a staged message."""
        target = self._queue(queue)
        row = target.staged.pop(message, None)
        if row is not None:
            target.staged_bytes -= row.size
