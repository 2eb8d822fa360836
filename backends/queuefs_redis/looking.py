"""The contract's methods that only look."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from queuefs_redis import audit, records
from queuefs_redis.calls import Calls
from queuefs_redis.records import padded
from queuefs_redis.request import Request
from queuefs_redis.views import Dead, Snapshot

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from queuefs.message import Counts, Message, MessageId, QueueId, Stats


class Looking(Calls):
    """Counts, views and payloads."""

    def counts(self, queue: QueueId) -> Awaitable[Counts]:
        """Return both counts."""
        return self._submit(Request("counts", queue, decode=records.counts_of))

    def unacked_bytes(self, queue: QueueId) -> Awaitable[int]:
        """Return the sum of the payload sizes."""
        return self._submit(Request("counts", queue, decode=records.bytes_of))

    def stats(self, queue: QueueId) -> Awaitable[Stats]:
        """Return all counts and totals."""
        return self._submit(Request("stats", queue, int(self.traits.server_time), decode=records.stats_of))

    def peek(self, queue: QueueId, *, count: int, lifo: bool, now: float) -> Awaitable[Sequence[Message]]:
        """Return what a claim would claim."""

        def look(wanted: int) -> Awaitable[records.Taken]:
            return self._submit(Request("peek", queue, wanted, int(lifo), self._now(now), decode=records.taken_of))

        return self._damage.around(queue, look, count, look(count))

    def snapshot(self, queue: QueueId) -> Awaitable[Sequence[Message]]:
        """Return all unacknowledged messages in order, without payloads."""
        return self._submit(Snapshot(queue))

    def dead(self, queue: QueueId) -> Awaitable[Sequence[Message]]:
        """Return all dead messages by id, without payloads."""
        return self._submit(Dead(queue))

    def find(self, queue: QueueId, messages: Sequence[MessageId]) -> Awaitable[Sequence[Message | None]]:
        """Return messages by id, without payloads."""

        def found(reply: Sequence[bytes]) -> list[Message | None]:
            return [records.looked_at(message, text) for message, text in zip(messages, reply[1:], strict=True)]

        return self._submit(Request("look", queue, *map(padded, messages), decode=found))

    def payloads(self, queue: QueueId, messages: Sequence[MessageId]) -> Awaitable[Sequence[bytes | None]]:
        """Return payloads; None also for one that is not what was put in."""

        def checked(reply: Sequence[bytes]) -> list[bytes | None]:
            payloads: list[bytes | None] = []
            for message, meta, body in zip(messages, reply[1::2], reply[2::2], strict=True):
                good = bool(meta) and records.intact(records.meta_fields(meta), body)
                if meta and not good:
                    self._damage.note(queue, message)
                payloads.append(body if good else None)
            return payloads

        return self._submit(Request("payloads", queue, *map(padded, messages), decode=checked))

    def audit(self) -> Awaitable[Sequence[str]]:
        """Return one sentence for each disagreement within the store."""
        return self._audit()

    async def _audit(self) -> Sequence[str]:
        tree = await self._submit(Request("audit_tree", decode=audit.Tree))
        sentences = list(tree.sentences())
        for number in tree.records:
            decode = partial(audit.QueueKeys, number)
            queue = await self._submit(Request("audit_queue", number, decode=decode))
            sentences += queue.sentences(tree)
        return sentences
