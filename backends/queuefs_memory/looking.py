"""Looking: counts, snapshots, payloads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs.ticket import at_once
from queuefs_memory.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuefs.message import Counts, Message, MessageId, QueueId, Stats
    from queuefs_memory.rows import Row


class Looking(Store):
    """`counts` to `stats`; `peek` stands beside `claim`."""

    @at_once
    def counts(self, queue: QueueId) -> Counts:
        """Return both counts."""
        return self._queue(queue).counts()

    @at_once
    def unacked_bytes(self, queue: QueueId) -> int:
        """Return the sum of the payload sizes."""
        return self._queue(queue).unacked_bytes

    @at_once
    def snapshot(self, queue: QueueId) -> Sequence[Message]:
        """Return all unacknowledged messages in order, without payloads."""
        rows = sorted(self._queue(queue).messages.values(), key=lambda row: (-row.priority, row.id))
        return [row.message(payload=False) for row in rows]

    @at_once
    def dead(self, queue: QueueId) -> Sequence[Message]:
        """Return all dead messages by id, without payloads."""
        return [row.message(payload=False) for _, row in sorted(self._queue(queue).dead.items())]

    @at_once
    def find(self, queue: QueueId, messages: Sequence[MessageId]) -> Sequence[Message | None]:
        """Return messages by id, without payloads."""
        return [row.message(payload=False) if row else None for row in self._known(queue, messages)]

    @at_once
    def payloads(self, queue: QueueId, messages: Sequence[MessageId]) -> Sequence[bytes | None]:
        """Return payloads by id."""
        return [row.data if row else None for row in self._known(queue, messages)]

    @at_once
    def stats(self, queue: QueueId) -> Stats:
        """Return all counts and totals."""
        return self._queue(queue).stats()

    def _known(self, queue: QueueId, messages: Sequence[MessageId]) -> Sequence[Row | None]:
        row = self._queue(queue)
        return [row.messages.get(message) or row.dead.get(message) for message in messages]
