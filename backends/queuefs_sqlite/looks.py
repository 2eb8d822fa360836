"""The part of the contract that looks at messages, handed over to the writer thread."""

from __future__ import annotations

from functools import partial as bind
from typing import TYPE_CHECKING

from queuefs.message import Counts
from queuefs.ticket import Answer
from queuefs_sqlite import pages, reading, records, tree
from queuefs_sqlite.calls import Calls

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from queuefs.lifecycle import State
    from queuefs.message import Ended, Message, MessageId, Place, QueueId, Record, Stats


class Looks(Calls):
    """`counts` to `stats`."""

    def counts(self, queue: QueueId) -> Awaitable[Counts]:
        """See `Backend.counts`."""
        account = self._account(queue)
        if account is not None:
            return Answer(Counts(pending=account.pending, processing=account.processing))
        return self._look(lambda store: tree.counts(store, queue))

    def peek(
        self, queue: QueueId, *, count: int, lifo: bool, now: float, inline: int | None = None
    ) -> Awaitable[Sequence[Message]]:
        """See `Backend.peek`."""
        return self._look(bind(reading.peek, queue=queue, count=count, lifo=lifo, now=now, inline=inline))

    def unacked_bytes(self, queue: QueueId) -> Awaitable[int]:
        """See `Backend.unacked_bytes`."""
        account = self._account(queue)
        if account is not None:
            return Answer(account.unacked_bytes)
        return self._look(lambda store: tree.unacked_bytes(store, queue))

    def snapshot(self, queue: QueueId) -> Awaitable[Sequence[Message]]:
        """See `Backend.snapshot`."""
        return self._look(lambda store: reading.snapshot(store, queue))

    def dead(self, queue: QueueId) -> Awaitable[Sequence[Message]]:
        """See `Backend.dead`."""
        return self._look(lambda store: reading.dead(store, queue))

    def page(
        self, queue: QueueId, state: State, *, after: Place | None, limit: int, lifo: bool = False
    ) -> Awaitable[Sequence[Message]]:
        """See `Backend.page`."""
        return self._look(bind(pages.page, queue=queue, state=state, after=after, limit=limit, lifo=lifo))

    def places(
        self, queue: QueueId, state: State, *, after: Place | None, limit: int, lifo: bool = False
    ) -> Awaitable[Sequence[Place]]:
        """See `Backend.places`."""
        return self._look(bind(pages.places, queue=queue, state=state, after=after, limit=limit, lifo=lifo))

    def records(self, queue: QueueId, *, after: Ended | None, limit: int, now: float) -> Awaitable[Sequence[Record]]:
        """See `Backend.records`."""
        return self._look(lambda store: records.records(store, queue, after=after, limit=limit, now=now))

    def find_records(
        self, queue: QueueId, messages: Sequence[MessageId], *, now: float
    ) -> Awaitable[Sequence[Record | None]]:
        """See `Backend.find_records`."""
        return self._look(lambda store: records.find_records(store, queue, messages, now=now))

    def read(self, queue: QueueId, message: MessageId, *, offset: int, size: int) -> Awaitable[bytes | None]:
        """See `Backend.read`."""
        return self._look(lambda store: reading.read(store, queue, message, offset=offset, size=size))

    def find(self, queue: QueueId, messages: Sequence[MessageId]) -> Awaitable[Sequence[Message | None]]:
        """See `Backend.find`."""
        return self._look(lambda store: reading.find(store, queue, messages))

    def payloads(self, queue: QueueId, messages: Sequence[MessageId]) -> Awaitable[Sequence[bytes | None]]:
        """See `Backend.payloads`."""
        return self._look(lambda store: reading.payloads(store, queue, messages))

    def stats(self, queue: QueueId) -> Awaitable[Stats]:
        """See `Backend.stats`."""
        return self._look(lambda store: reading.stats(store, queue))
