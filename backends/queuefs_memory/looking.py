"""Looking: counts, snapshots, pages, payloads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs.lifecycle import State
from queuefs.message import Place
from queuefs.ticket import at_once
from queuefs_memory.places import message_at, page_lifo, rank
from queuefs_memory.rows import NO_PAYLOAD
from queuefs_memory.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuefs.message import Counts, Ended, Message, MessageId, QueueId, Record, Stats
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
        rows = sorted(self._queue(queue).messages.values(), key=lambda row: row.rank)
        return [row.message(NO_PAYLOAD) for row in rows]

    @at_once
    def dead(self, queue: QueueId) -> Sequence[Message]:
        """Return all dead messages by id, without payloads."""
        return [row.message(NO_PAYLOAD) for _, row in sorted(self._queue(queue).dead.items())]

    @at_once
    def page(
        self, queue: QueueId, state: State, *, after: Place | None, limit: int, lifo: bool = False
    ) -> Sequence[Message]:
        """Return the messages of one state that stand behind *after*, without payloads."""
        return [row.message(NO_PAYLOAD) for row in self._page(queue, state, after, limit, lifo=lifo)]

    @at_once
    def places(
        self, queue: QueueId, state: State, *, after: Place | None, limit: int, lifo: bool = False
    ) -> Sequence[Place]:
        """Return the places of the messages of one state that stand behind *after*."""
        return [Place(row.priority, row.id) for row in self._page(queue, state, after, limit, lifo=lifo)]

    def _page(self, queue: QueueId, state: State, after: Place | None, limit: int, *, lifo: bool) -> Sequence[Row]:
        row = self._queue(queue)
        rows = row.messages
        if state is State.DEAD:
            rows, ranks = row.dead, row.set_aside.page(None if after is None else after.id, limit)
        elif state is State.PENDING and lifo:
            ranks = page_lifo(row.waiting, after, limit)
        else:
            shelf = row.waiting if state is State.PENDING else row.held
            ranks = shelf.page(None if after is None else rank(*after), limit)
        return [rows[message_at(place)] for place in ranks]

    @at_once
    def records(self, queue: QueueId, *, after: Ended | None, limit: int, now: float) -> Sequence[Record]:
        """Return records, the latest first."""
        return self._queue(queue).records.page(after, limit, now)

    @at_once
    def find_records(self, queue: QueueId, messages: Sequence[MessageId], *, now: float) -> Sequence[Record | None]:
        """Return records by id."""
        records = self._queue(queue).records
        return [records.find(message, now) for message in messages]

    @at_once
    def read(self, queue: QueueId, message: MessageId, *, offset: int, size: int) -> bytes | None:
        """Return a piece of a payload."""
        (row,) = self._known(queue, [message])
        return None if row is None else row.data[offset : offset + size]

    @at_once
    def find(self, queue: QueueId, messages: Sequence[MessageId]) -> Sequence[Message | None]:
        """Return messages by id, without payloads."""
        return [row.message(NO_PAYLOAD) if row else None for row in self._known(queue, messages)]

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
