"""The operations of a message's reader: claims, and looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs.backend import Settled
from queuefs.message import Stats
from queuefs_sqlite import picking
from queuefs_sqlite.naming import each

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuefs.message import Message, MessageId, QueueId
    from queuefs_sqlite.rows import Row
    from queuefs_sqlite.store import Store


def claim(
    store: Store, queue: QueueId, *, count: int, lease: float, lifo: bool, now: float, inline: int | None
) -> list[Message]:
    """See `Backend.claim`."""
    account = store.ledger.account(queue)
    if account.pending == account.paused:
        return []
    if account.delayed:
        picking.ripen(store, queue, now=now)
        account = store.ledger.account(queue)
    until = now + lease
    heads = picking.pick(store, account, count=count, lifo=lifo, now=now, inline=inline)
    messages = []
    delayed = 0
    for row, data in heads:
        store.run("claim", until, now, row.id)
        delayed += row.is_delayed
        messages.append(row.claimed(now=now, until=until).message(data))
    account = store.ledger.change(queue)
    account.pending -= len(heads)
    account.delayed -= delayed
    account.processing += len(heads)
    account.dequeued += len(heads)
    return messages


def take(store: Store, queue: QueueId, messages: Sequence[MessageId], *, lease: float, now: float) -> list[Settled]:
    """See `Backend.take`."""

    def take_one(row: Row) -> Settled:
        if row.is_pending and row.expires_at is not None and row.expires_at <= now:
            return Settled.UNKNOWN
        if not row.is_pending or row.is_paused:
            return Settled.STALE
        store.run("claim", now + lease, now, row.id)
        account = store.ledger.change(queue)
        account.pending -= 1
        account.delayed -= row.is_delayed
        account.processing += 1
        account.dequeued += 1
        return Settled.DONE

    return each(store, queue, messages, take_one)


def peek(store: Store, queue: QueueId, *, count: int, lifo: bool, now: float, inline: int | None) -> list[Message]:
    """See `Backend.peek`."""
    heads = picking.pick(store, store.ledger.account(queue), count=count, lifo=lifo, now=now, inline=inline)
    return [row.message(data) for row, data in heads]


def snapshot(store: Store, queue: QueueId) -> list[Message]:
    """See `Backend.snapshot`."""
    return [row.message(None) for row in store.rows("snapshot", store.ledger.account(queue).box)]


def dead(store: Store, queue: QueueId) -> list[Message]:
    """See `Backend.dead`."""
    return [row.message(None) for row in store.rows("dead", store.ledger.account(queue).dead_box)]


def find(store: Store, queue: QueueId, messages: Sequence[MessageId]) -> list[Message | None]:
    """See `Backend.find`."""
    return [row and row.message(None) for row in _rows(store, queue, messages)]


def payloads(store: Store, queue: QueueId, messages: Sequence[MessageId]) -> list[bytes | None]:
    """See `Backend.payloads`."""
    return [row and store.payloads.whole(row) for row in _rows(store, queue, messages)]


def read(store: Store, queue: QueueId, message: MessageId, *, offset: int, size: int) -> bytes | None:
    """See `Backend.read`."""
    (row,) = _rows(store, queue, [message])
    return row and store.payloads.piece(row, offset=offset, size=size)


def _rows(store: Store, queue: QueueId, messages: Sequence[MessageId]) -> list[Row | None]:
    account = store.ledger.account(queue)
    return [store.message(message, account.box) or store.message(message, account.dead_box) for message in messages]


def stats(store: Store, queue: QueueId) -> Stats:
    """See `Backend.stats`."""
    store.ledger.account(queue)
    store.archive.write(queue)
    account = store.ledger.account(queue)
    oldest = store.first("oldest_pending", account.box) if account.pending else None
    return Stats(
        pending=account.pending,
        processing=account.processing,
        delayed=account.delayed,
        paused=account.paused,
        dead=account.dead,
        done=min(account.done, account.keep_records),
        unacked_bytes=account.unacked_bytes,
        oldest_pending=oldest and oldest[0],
        enqueued=account.enqueued,
        dequeued=account.dequeued,
        acked=account.acked,
        nacked=account.nacked,
        expired=account.expired,
        buried=account.buried,
    )
