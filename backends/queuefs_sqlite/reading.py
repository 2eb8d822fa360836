"""The operations of a message's reader: claims, what settles them, and looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs.backend import Settled
from queuefs_sqlite.store import PROCESSING, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queuefs.message import Message, MessageId, QueueId, Ref
    from queuefs_sqlite.store import Store


def claim(store: Store, queue: QueueId, *, count: int, lease: float, now: float) -> list[Message]:
    """See `Backend.claim`."""
    account = store.ledger.account(queue)
    if not account.pending:
        return []
    until = now + lease
    # All are read before the first is changed: a change would move the index under the reading statement.
    heads = store.readable(account.box, count)
    messages = []
    for row, data in heads:
        store.run("claim", until, row.id)
        claimed = row._replace(state=PROCESSING, lease_until=until, claims=row.claims + 1, attempt=row.attempt + 1)
        messages.append(claimed.message(data))
    store.ledger.add(queue, pending=-len(heads), processing=len(heads))
    return messages


def peek(store: Store, queue: QueueId, *, count: int) -> list[Message]:
    """See `Backend.peek`."""
    return [row.message(data) for row, data in store.readable(store.ledger.account(queue).box, count)]


def ack(store: Store, queue: QueueId, refs: Sequence[Ref]) -> list[Settled]:
    """See `Backend.ack`."""

    def remove(message: MessageId, size: int, chunks: int) -> None:
        store.delete(message, chunks=chunks)
        store.ledger.add(queue, processing=-1, unacked_bytes=-size)

    return _settle(store, queue, refs, remove)


def nack(store: Store, queue: QueueId, refs: Sequence[Ref], *, query: str = "nack") -> list[Settled]:
    """See `Backend.nack`."""

    def back(message: MessageId, _size: int, _chunks: int) -> None:
        store.run(query, message)
        store.ledger.add(queue, processing=-1, pending=+1)

    return _settle(store, queue, refs, back)


def undo(store: Store, queue: QueueId, refs: Sequence[Ref]) -> list[Settled]:
    """See `Backend.undo`."""
    return nack(store, queue, refs, query="undo")


def extend(store: Store, queue: QueueId, refs: Sequence[Ref], *, lease: float, now: float) -> list[Settled]:
    """See `Backend.extend`."""

    def renew(message: MessageId, _size: int, _chunks: int) -> None:
        store.run("extend", now + lease, message)

    return _settle(store, queue, refs, renew)


def check(store: Store, queue: QueueId, refs: Sequence[Ref]) -> list[Settled]:
    """See `Backend.check`."""
    results = _settle(store, queue, refs, lambda _message, _size, _chunks: None)
    done: set[MessageId] = set()
    for place, ref in enumerate(refs):
        if ref.id in done:
            results[place] = Settled.UNKNOWN  # `ack` would have removed it by then
        elif results[place] is Settled.DONE:
            done.add(ref.id)
    return results


def _settle(
    store: Store, queue: QueueId, refs: Sequence[Ref], step: Callable[[MessageId, int, int], None]
) -> list[Settled]:
    box = store.ledger.account(queue).box
    results = []
    for ref in refs:
        row = store.first("unacked", ref.id, box)
        if row is None:
            results.append(Settled.UNKNOWN)
            continue
        state, claims, size, chunks = row
        # Compared here and not by SQL: a receipt's number may be larger than SQLite's integers.
        if state != PROCESSING or ref.claim not in (None, claims):
            results.append(Settled.STALE)
            continue
        step(ref.id, size, chunks)
        results.append(Settled.DONE)
    return results


def snapshot(store: Store, queue: QueueId) -> list[Message]:
    """See `Backend.snapshot`."""
    return [row.message(None) for row in store.snapshot(store.ledger.account(queue).box)]


def payloads(store: Store, queue: QueueId, messages: Sequence[MessageId]) -> list[bytes | None]:
    """See `Backend.payloads`."""
    box = store.ledger.account(queue).box
    rows = (store.first("payload_row", message, box) for message in messages)
    return [None if row is None else store.payload(Row._make(row)) for row in rows]
