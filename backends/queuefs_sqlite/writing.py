"""The operations of a message's writer."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, NamedTuple

from queuefs.errors import BadValue, IdsExhausted, MessageNotFound, QueueFull
from queuefs.message import MAX_MESSAGE_ID, MessageId
from queuefs_sqlite.rows import DELAYED, READY

if TYPE_CHECKING:
    from queuefs.message import Draft, QueueId, Room
    from queuefs_sqlite.ledger import Account
    from queuefs_sqlite.store import Store


class Staged(NamedTuple):
    """A message that is being written, as ``staged`` selects it."""

    size: int
    crc: int
    chunks: int
    delay: float | None
    ttl: float | None
    key: str | None


def staged_box(queue: QueueId) -> int:
    """Return where messages of a queue lie while they are written; `clear` does not touch it."""
    return -queue


def stage(
    store: Store, queue: QueueId, data: bytes, *, draft: Draft, room: Room, partial: bool, now: float
) -> MessageId:
    """See `Backend.stage`."""
    account = store.ledger.account(queue)
    if 0 < room.messages <= account.pending + account.processing + account.staged:
        raise QueueFull
    _check_bytes(account, len(data), room)
    # SQLite would say SQLITE_FULL, as for a full disk, and roll back everybody else's work too.
    if store.ledger.last_id >= MAX_MESSAGE_ID:
        raise IdsExhausted
    store.ids.cover(store.ledger.last_id + 1)
    # While it is staged, `due` and `expires_at` are seconds from its publication.
    wishes = (draft.delay or None, draft.ttl or None, draft.key, draft.extra)
    values = (staged_box(queue), partial, -draft.priority, *wishes, now, len(data), zlib.crc32(data))
    message = store.run("stage", *values).lastrowid
    assert message is not None  # it was an INSERT
    store.run("add_body", message, data)
    store.ledger.last_id = message
    account = store.ledger.change(queue)
    account.staged += 1
    account.staged_bytes += len(data)
    return MessageId(message)


def append(
    store: Store, queue: QueueId, message: MessageId, data: bytes, *, offset: int, partial: bool, room: Room
) -> None:
    """See `Backend.append`."""
    account = store.ledger.account(queue)
    row = _staged(store, queue, message)
    if row is None:
        raise MessageNotFound
    if offset != row.size:
        raise BadValue(f"message {message} has {row.size} bytes so far; more can't begin at {offset}")
    chunks = row.chunks
    if data:
        _check_bytes(account, len(data), room)
        store.run("add_chunk", message, offset, data)
        chunks += 1
    store.run("grow", row.size + len(data), zlib.crc32(data, row.crc), chunks, partial, message)
    store.ledger.change(queue).staged_bytes += len(data)


def _check_bytes(account: Account, more: int, room: Room) -> None:
    if 0 < room.bytes < account.unacked_bytes + account.staged_bytes + more:
        raise QueueFull


def publish(store: Store, queue: QueueId, message: MessageId, *, now: float, window: float) -> MessageId:
    """See `Backend.publish`."""
    store.ledger.account(queue)
    row = _staged(store, queue, message)
    if row is None:
        return message
    return make_pending(store, queue, message, row, now=now, window=window)


def make_pending(
    store: Store, queue: QueueId, message: MessageId, row: Staged, *, now: float, window: float
) -> MessageId:
    """Publish a message that is staged, unless it gives way; return the id of the one that is there then."""
    if row.key is not None:
        first = find_key(store, queue, row.key, now=now, window=window)
        if first is not None:
            _remove(store, queue, message, row)
            return first
        if window > 0:
            store.run("note_key", queue, row.key, message, now, now + window)
    account = store.ledger.change(queue)
    due = None if row.delay is None else now + row.delay
    expires_at = None if row.ttl is None else now + row.ttl
    store.run("publish", account.box, READY if due is None else DELAYED, due, expires_at, message)
    account.staged -= 1
    account.staged_bytes -= row.size
    account.pending += 1
    account.delayed += due is not None
    account.unacked_bytes += row.size
    account.enqueued += 1
    return message


def find_key(store: Store, queue: QueueId, key: str, *, now: float, window: float) -> MessageId | None:
    """See `Backend.find_key`."""
    found = store.first("key_holder", store.ledger.account(queue).box, key)
    if found is None:
        found = store.first("last_of_key", queue, key, now - window)
    return None if found is None else MessageId(found[0])


def discard(store: Store, queue: QueueId, message: MessageId) -> None:
    """See `Backend.discard`."""
    store.ledger.account(queue)
    row = _staged(store, queue, message)
    if row is not None:
        _remove(store, queue, message, row)


def _staged(store: Store, queue: QueueId, message: MessageId) -> Staged | None:
    values = store.first("staged", message, staged_box(queue))
    return None if values is None else Staged._make(values)


def _remove(store: Store, queue: QueueId, message: MessageId, row: Staged) -> None:
    store.delete(message, chunks=row.chunks)
    account = store.ledger.change(queue)
    account.staged -= 1
    account.staged_bytes -= row.size
