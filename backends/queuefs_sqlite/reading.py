"""The operations of a message's reader: claims, and looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs.message import Stats
from queuefs_sqlite import picking
from queuefs_sqlite.rows import PROCESSING, Row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuefs.message import Message, MessageId, QueueId
    from queuefs_sqlite.store import Store


def claim(store: Store, queue: QueueId, *, count: int, lease: float, lifo: bool, now: float) -> list[Message]:
    """See `Backend.claim`."""
    account = store.ledger.account(queue)
    if account.pending == account.paused:
        return []
    if account.delayed:
        picking.ripen(store, queue, now=now)
        account = store.ledger.account(queue)
    until = now + lease
    heads = picking.pick(store, account, count=count, lifo=lifo, now=now)
    messages = []
    delayed = 0
    for row, data in heads:
        store.run("claim", until, row.id)
        delayed += row.is_delayed
        claimed = row._replace(
            state=PROCESSING, lease_until=until, due=None, claims=row.claims + 1, attempt=row.attempt + 1
        )
        messages.append(claimed.message(data))
    account = store.ledger.change(queue)
    account.pending -= len(heads)
    account.delayed -= delayed
    account.processing += len(heads)
    account.dequeued += len(heads)
    return messages


def peek(store: Store, queue: QueueId, *, count: int, lifo: bool, now: float) -> list[Message]:
    """See `Backend.peek`."""
    account = store.ledger.account(queue)
    return [row.message(data) for row, data in picking.pick(store, account, count=count, lifo=lifo, now=now)]


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
    return [row and store.payload(row) for row in _rows(store, queue, messages)]


def _rows(store: Store, queue: QueueId, messages: Sequence[MessageId]) -> list[Row | None]:
    account = store.ledger.account(queue)
    return [store.message(message, account.box) or store.message(message, account.dead_box) for message in messages]


def stats(store: Store, queue: QueueId) -> Stats:
    """See `Backend.stats`."""
    account = store.ledger.account(queue)
    oldest = store.first("oldest_pending", account.box) if account.pending else None
    return Stats(
        pending=account.pending,
        processing=account.processing,
        delayed=account.delayed,
        paused=account.paused,
        dead=account.dead,
        unacked_bytes=account.unacked_bytes,
        oldest_pending=oldest and oldest[0],
        enqueued=account.enqueued,
        dequeued=account.dequeued,
        acked=account.acked,
        nacked=account.nacked,
        expired=account.expired,
        buried=account.buried,
    )
