"""The operations of a message's writer."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, NamedTuple

from queuefs.errors import BadValue, IdInUse, IdsExhausted, MessageNotFound, QueueFull
from queuefs.message import MAX_MESSAGE_ID, MessageId
from queuefs_sqlite.payloads import PART_BYTES, parts
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


def stage(  # noqa: PLR0913 - the contract's
    store: Store,
    queue: QueueId,
    data: bytes,
    *,
    draft: Draft,
    room: Room,
    partial: bool,
    now: float,
    message: MessageId | None,
) -> MessageId:
    """See `Backend.stage`."""
    check_room(store.ledger.account(queue), room, messages=1, more=len(data))
    # While it is staged, `due` and `expires_at` are seconds from its publication.
    wishes = (draft.delay or None, draft.ttl or None, draft.key, draft.extra)
    values = (staged_box(queue), partial, -draft.priority, *wishes, now, len(data), zlib.crc32(data))
    if message is None:
        message = _insert(store, values)
    else:
        _insert_as(store, message, values)
    store.run("add_body", message, data[:PART_BYTES])
    if len(data) > PART_BYTES:
        chunks = _add_chunks(store, message, memoryview(data)[PART_BYTES:], after=PART_BYTES)
        store.run("count_chunks", chunks, message)
    account = store.ledger.change(queue)
    account.staged += 1
    account.staged_bytes += len(data)
    return message


def _insert(store: Store, values: tuple[object, ...]) -> MessageId:
    # SQLite would say SQLITE_FULL, as for a full disk, and roll back everybody else's work too.
    if store.ledger.last_id >= MAX_MESSAGE_ID:
        raise IdsExhausted
    store.ids.cover(store.ledger.last_id + 1)
    message = store.run("stage", *values).lastrowid
    assert message is not None  # it was an INSERT
    store.ledger.last_id = message
    return MessageId(message)


def _insert_as(store: Store, message: MessageId, values: tuple[object, ...]) -> None:
    """Insert a message under an id that it had in another store; what is gone and not deleted yet makes way."""
    there = store.first("in_the_way", message)
    if there == (False,):
        raise IdInUse
    store.erase(message, chunks=1)
    store.pass_id(message)
    store.run("stage_as", *values, message)


def _add_chunks(store: Store, message: MessageId, data: bytes | memoryview, *, after: int) -> int:
    """Store what begins at byte *after* of a payload, and return how many rows that took."""
    rows = [(message, position, part) for position, part in parts(data, after=after)]
    store.run_many("add_chunk", rows)
    return len(rows)


def append(
    store: Store, queue: QueueId, message: MessageId, data: bytes, *, offset: int, partial: bool, room: Room
) -> None:
    """See `Backend.append`."""
    account = store.ledger.account(queue)
    row = staged(store, queue, message)
    if row is None:
        raise MessageNotFound
    if offset != row.size:
        raise BadValue(f"message {message} has {row.size} bytes so far; more can't begin at {offset}")
    chunks = row.chunks
    if data:
        check_room(account, room, messages=0, more=len(data))
        chunks += _add_chunks(store, message, data, after=offset)
    store.run("grow", row.size + len(data), zlib.crc32(data, row.crc), chunks, partial, message)
    store.ledger.change(queue).staged_bytes += len(data)


def check_room(account: Account, room: Room, *, messages: int, more: int) -> None:
    """Raise `QueueFull` if a queue has no room for some *messages*, or for *more* bytes."""
    if messages and 0 < room.messages < account.pending + account.processing + account.staged + messages:
        raise QueueFull
    if 0 < room.bytes < account.unacked_bytes + account.staged_bytes + more:
        raise QueueFull


def publish(store: Store, queue: QueueId, message: MessageId, *, now: float, window: float) -> MessageId:
    """See `Backend.publish`."""
    store.ledger.account(queue)
    row = staged(store, queue, message)
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
    row = staged(store, queue, message)
    if row is not None:
        _remove(store, queue, message, row)


def staged(store: Store, queue: QueueId, message: MessageId) -> Staged | None:
    """Return a message that is being written, None if it is not (any more)."""
    values = store.first("staged", message, staged_box(queue))
    return None if values is None else Staged._make(values)


def _remove(store: Store, queue: QueueId, message: MessageId, row: Staged) -> None:
    store.delete(message, chunks=row.chunks, size=row.size)
    account = store.ledger.change(queue)
    account.staged -= 1
    account.staged_bytes -= row.size
