"""The contract's methods that write a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs_redis import records
from queuefs_redis.calls import Calls
from queuefs_redis.places import this_place
from queuefs_redis.records import encoded, microseconds, padded
from queuefs_redis.request import Request
from queuefs_redis.stages import Append, EndStage, Stage

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from queuefs.message import Draft, MessageId, QueueId, Room


class Writing(Calls):
    """From the first bytes of a message to its publication."""

    def stage(
        self, queue: QueueId, data: bytes, *, draft: Draft, room: Room, partial: bool, now: float
    ) -> Awaitable[MessageId]:
        """Store the beginning of a message."""

        def staged(message: MessageId) -> None:
            self._highest.message = max(self._highest.message, message)

        place = this_place() if self._is_new else ""
        start = (queue, room.messages, room.bytes, place, self._now(now), int(partial))
        return self._submit(Stage(self._checksums, data, start, draft, staged))

    def append(
        self, queue: QueueId, message: MessageId, data: bytes, *, offset: int, partial: bool, room: Room
    ) -> Awaitable[None]:
        """Add to a staged message."""
        start = (queue, padded(message), offset, int(partial), room.bytes)
        return self._submit(Append(self._checksums, message, data, offset, start))

    def publish(self, queue: QueueId, message: MessageId, *, now: float, window: float) -> Awaitable[MessageId]:
        """Make a staged message pending, or let it give way to another of its key."""
        args = (queue, padded(message), self._now(now), microseconds(window))
        return self._submit(EndStage(self._checksums, message, "publish", *args, decode=records.message_of))

    def discard(self, queue: QueueId, message: MessageId) -> Awaitable[None]:
        """Remove a staged message."""
        args = (queue, padded(message))
        return self._submit(EndStage(self._checksums, message, "discard", *args, decode=records.nothing))

    def find_key(self, queue: QueueId, key: str, *, now: float, window: float) -> Awaitable[MessageId | None]:
        """Return the message to which one of *key* would give way."""
        args = (queue, encoded(key), self._now(now), microseconds(window))
        return self._submit(
            Request("find_key", *args, decode=lambda reply: records.message_of(reply) if reply else None)
        )
