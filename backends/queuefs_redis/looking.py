"""The contract's methods that only look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from queuefs.errors import StoreDamaged
from queuefs.message import MessageId
from queuefs_redis import replies
from queuefs_redis.calls import Calls
from queuefs_redis.encoding import microseconds, padded
from queuefs_redis.metas import Meta, Taken, joined, looked_at, page_of, places_of, taken_of
from queuefs_redis.records import record_of, records_of
from queuefs_redis.request import Request
from queuefs_redis.views import Dead, Snapshot

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from queuefs.lifecycle import State
    from queuefs.message import Counts, Ended, Message, Place, QueueId, Record, Space, Stats


class Looking(Calls):
    """Counts, views and payloads."""

    def counts(self, queue: QueueId) -> Awaitable[Counts]:
        """Return both counts."""
        return self._submit(Request("counts", queue, decode=replies.counts_of))

    def unacked_bytes(self, queue: QueueId) -> Awaitable[int]:
        """Return the sum of the payload sizes."""
        return self._submit(Request("counts", queue, decode=replies.bytes_of))

    def stats(self, queue: QueueId) -> Awaitable[Stats]:
        """Return all counts and totals."""
        return self._submit(Request("stats", queue, int(self.traits.server_time), decode=replies.stats_of))

    def space(self) -> Awaitable[Space]:
        """Return how much of the server's memory is used, and how much is free."""
        return self._submit(Request("space", decode=replies.space_of))

    def last_id(self) -> Awaitable[MessageId | None]:
        """Return the highest message id that was given."""

        def highest(reply: bytes) -> MessageId | None:
            last = max(int(reply), self._highest.message)
            return MessageId(last) if last else None

        return self._submit(Request("last_id", decode=highest))

    def peek(
        self, queue: QueueId, *, count: int, lifo: bool, now: float, inline: int | None = None
    ) -> Awaitable[Sequence[Message]]:
        """Return what a claim would claim."""
        longest = "" if inline is None else inline

        def look() -> Awaitable[Taken]:
            return self._submit(Request("peek", queue, count, int(lifo), self._now(now), longest, decode=taken_of))

        return self._damage.look_around(queue, look, look())

    def snapshot(self, queue: QueueId) -> Awaitable[Sequence[Message]]:
        """Return all unacknowledged messages in order, without payloads."""
        return self._submit(Snapshot(queue))

    def dead(self, queue: QueueId) -> Awaitable[Sequence[Message]]:
        """Return all dead messages by id, without payloads."""
        return self._submit(Dead(queue))

    def page(
        self, queue: QueueId, state: State, *, after: Place | None, limit: int, lifo: bool = False
    ) -> Awaitable[Sequence[Message]]:
        """Return the messages of one state that stand behind a place, without payloads."""
        return self._submit(Request("page", queue, state, limit, *_behind(after), int(lifo), decode=page_of))

    def places(
        self, queue: QueueId, state: State, *, after: Place | None, limit: int, lifo: bool = False
    ) -> Awaitable[Sequence[Place]]:
        """Return the places of the messages of one state that stand behind a place."""
        return self._submit(Request("places", queue, state, limit, *_behind(after), int(lifo), decode=places_of))

    def records(self, queue: QueueId, *, after: Ended | None, limit: int, now: float) -> Awaitable[Sequence[Record]]:
        """Return records of messages that are done, the latest first."""
        place = ("", "") if after is None else (microseconds(after.finished_at), padded(after.id))
        return self._submit(Request("records", queue, limit, self._now(now), *place, decode=records_of))

    def find_records(
        self, queue: QueueId, messages: Sequence[MessageId], *, now: float
    ) -> Awaitable[Sequence[Record | None]]:
        """Return records by id."""

        def found(reply: Sequence[bytes]) -> list[Record | None]:
            return [record_of(message, text) for message, text in zip(messages, reply[1:], strict=True)]

        return self._submit(Request("find_records", queue, self._now(now), *map(padded, messages), decode=found))

    def find(self, queue: QueueId, messages: Sequence[MessageId]) -> Awaitable[Sequence[Message | None]]:
        """Return messages by id, without payloads."""

        def found(reply: Sequence[bytes]) -> list[Message | None]:
            return [looked_at(message, text) for message, text in zip(messages, reply[1:], strict=True)]

        return self._submit(Request("look", queue, *map(padded, messages), decode=found))

    def read(self, queue: QueueId, message: MessageId, *, offset: int, size: int) -> Awaitable[bytes | None]:
        """Return a piece of a payload."""

        def found(reply: Sequence[bytes]) -> bytes | None:
            if reply[0] == b"!":
                raise StoreDamaged(f"a part of the payload of message {message} is missing")
            return None if reply[0] == b"-" else b"".join(reply[1:])

        return self._submit(Request("read", queue, padded(message), offset, size, decode=found))

    def payloads(self, queue: QueueId, messages: Sequence[MessageId]) -> Awaitable[Sequence[bytes | None]]:
        """Return payloads; None also for one that is not what was put in, unless that is known of it."""

        def checked(reply: Sequence[Any]) -> list[bytes | None]:
            payloads: list[bytes | None] = []
            for message, text, body in zip(messages, reply[1::2], reply[2::2], strict=True):
                meta = Meta.read(text) if text else None
                data = joined(body)
                if meta is None or data is None:
                    payloads.append(None)
                elif meta.flag == b"X" or meta.fits(data):
                    payloads.append(data)
                else:
                    self._damage.note(queue, message)
                    payloads.append(None)
            return payloads

        return self._submit(Request("payloads", queue, *map(padded, messages), decode=checked))


def _behind(after: Place | None) -> tuple[int | str, str]:
    """Return rank and id behind which a page begins."""
    return ("", "") if after is None else (-after.priority, padded(after.id))
