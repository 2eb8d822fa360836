"""The contract's methods that write a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs_redis import replies
from queuefs_redis.calls import Calls
from queuefs_redis.encoding import encoded, keep_args, microseconds, padded
from queuefs_redis.metas import restored_args
from queuefs_redis.places import this_place
from queuefs_redis.records import record_text
from queuefs_redis.request import Request
from queuefs_redis.stages import Append, EndStage, Stage

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from queuefs.message import Draft, Message, MessageId, QueueId, Record, Retention, Room


class Writing(Calls):
    """From the first bytes of a message to its publication."""

    def stage(
        self,
        queue: QueueId,
        data: bytes,
        *,
        draft: Draft,
        room: Room,
        partial: bool,
        now: float,
        message: MessageId | None = None,
    ) -> Awaitable[MessageId]:
        """Store the beginning of a message."""
        place = this_place() if self._is_new else ""
        wanted = "" if message is None else padded(message)
        start = (queue, room.messages, room.bytes, place, self._now(now), wanted, int(partial))
        return self._submit(Stage(self._checksums, data, start, draft, self._note_id))

    def append(
        self, queue: QueueId, message: MessageId, data: bytes, *, offset: int, partial: bool, room: Room
    ) -> Awaitable[None]:
        """Add to a staged message."""
        start = (queue, padded(message), offset, int(partial), room.bytes)
        return self._submit(Append(self._checksums, message, data, offset, start))

    def publish(self, queue: QueueId, message: MessageId, *, now: float, window: float) -> Awaitable[MessageId]:
        """Make a staged message pending, or let it give way to another of its key."""
        args = (queue, padded(message), self._now(now), microseconds(window))
        return self._submit(EndStage(self._checksums, message, "publish", *args, decode=replies.message_of))

    def restore(self, queue: QueueId, message: Message) -> Awaitable[None]:
        """Make a staged message what it was in another store."""
        args = (queue, padded(message.id), *restored_args(message))
        return self._submit(EndStage(self._checksums, message.id, "restore", *args, decode=replies.nothing))

    def restore_record(self, queue: QueueId, record: Record, *, keep: Retention) -> Awaitable[None]:
        """Keep *record* as if its message had just been done here."""
        self._note_id(record.id)
        args = (padded(record.id), record_text(record), microseconds(record.finished_at), *keep_args(keep))
        return self._submit(Request("restore_record", queue, *args, decode=replies.nothing))

    def discard(self, queue: QueueId, message: MessageId) -> Awaitable[None]:
        """Remove a staged message."""
        args = (queue, padded(message))
        return self._submit(EndStage(self._checksums, message, "discard", *args, decode=replies.nothing))

    def find_key(self, queue: QueueId, key: str, *, now: float, window: float) -> Awaitable[MessageId | None]:
        """Return the message to which one of *key* would give way."""
        args = (queue, encoded(key), self._now(now), microseconds(window))
        return self._submit(
            Request("find_key", *args, decode=lambda reply: replies.message_of(reply) if reply else None)
        )
