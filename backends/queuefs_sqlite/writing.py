"""The operations of a message's writer."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from queuefs.errors import BadValue, IdsExhausted, MessageNotFound
from queuefs.message import MAX_MESSAGE_ID, MessageId

if TYPE_CHECKING:
    from queuefs.message import QueueId
    from queuefs_sqlite.store import Store


def stage(store: Store, queue: QueueId, data: bytes, *, partial: bool, priority: int, now: float) -> MessageId:
    """See `Backend.stage`."""
    box = store.ledger.account(queue).box
    # SQLite would say SQLITE_FULL, as for a full disk, and roll back everybody else's work too.
    if store.ledger.last_id >= MAX_MESSAGE_ID:
        raise IdsExhausted
    cursor = store.run("stage", box, partial, -priority, now, len(data), zlib.crc32(data))
    message = cursor.lastrowid
    assert message is not None  # it was an INSERT
    store.run("add_body", message, data)
    store.ledger.last_id = message
    store.ledger.add(queue, staged=+1)
    return MessageId(message)


def append(store: Store, queue: QueueId, message: MessageId, data: bytes, *, offset: int, partial: bool) -> None:
    """See `Backend.append`."""
    row = store.first("staged", message, store.ledger.account(queue).box)
    if row is None:
        raise MessageNotFound
    size, crc, chunks = row
    if offset != size:
        raise BadValue(f"message {message} has {size} bytes so far; more can't begin at {offset}")
    if data:
        store.run("add_chunk", message, offset, data)
        chunks += 1
    store.run("grow", size + len(data), zlib.crc32(data, crc), chunks, partial, message)


def publish(store: Store, queue: QueueId, message: MessageId) -> None:
    """See `Backend.publish`."""
    row = store.first("staged", message, store.ledger.account(queue).box)
    if row is not None:
        store.run("publish", message)
        store.ledger.add(queue, staged=-1, pending=+1, unacked_bytes=row[0])


def discard(store: Store, queue: QueueId, message: MessageId) -> None:
    """See `Backend.discard`."""
    row = store.first("staged", message, store.ledger.account(queue).box)
    if row is not None:
        store.delete(message, chunks=row[2])
        store.ledger.add(queue, staged=-1)
