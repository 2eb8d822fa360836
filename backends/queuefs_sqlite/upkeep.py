"""What is done without anybody's asking: ended leases, what a dead daemon left, cleared boxes, the clock's mark."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import structlog

from queuefs.backend import Tick
from queuefs.clock import ClockMark
from queuefs.message import MessageId, QueueId

if TYPE_CHECKING:
    from queuefs_sqlite.store import Store

log = structlog.get_logger(__name__)

#: How much of the trash one batch takes along: about a millisecond's work.
_PURGE_MESSAGES = 200
_PURGE_BYTES = 4 << 20


def tick(store: Store, *, now: float, limit: int) -> Tick:
    """See `Backend.tick`."""
    expired: list[tuple[QueueId, MessageId]] = []
    for message, queue in store.run("expired", now, limit).fetchall():
        store.run("nack", message)
        if queue is not None:  # else it lies in trash, where nobody cares what state it is in
            expired.append((QueueId(queue), MessageId(message)))
    for queue, count in Counter(queue for queue, _ in expired).items():
        store.ledger.add(queue, processing=-count, pending=count)
    for box in store.read_trash():
        limit -= purge(store, box, at_most=limit)
        if limit <= 0:
            break
    next_lease = store.value("next_lease")
    next_due = None if next_lease is None else max(0.0, next_lease - now)
    if store.read_trash():
        next_due = 0.0
    return Tick(expired=expired, adopted=(), next_due=next_due)


def adopt(store: Store) -> None:
    """Publish what a dead daemon had staged, and drop what is known to be in part."""
    published = dropped = 0
    for message, partial, size, chunks, queue in store.run("left_staged", 0).fetchall():
        if partial or queue is None:
            store.delete(message, chunks=chunks)
            dropped += 1
        else:
            store.run("publish", message)
            published += 1
        if queue is not None:
            whole = int(not partial)
            store.ledger.add(queue, staged=-1, pending=whole, unacked_bytes=size * whole)
    if published or dropped:
        log.info("messages of an earlier daemon found", published=published, dropped=dropped)


def drop_unknown(store: Store, known_id: int) -> None:
    """Delete what a batch staged whose commit failed and was carried out all the same.

    Nobody was told these ids, so nobody could ever publish or discard them.
    """
    for message, _partial, _size, chunks, queue in store.run("left_staged", known_id).fetchall():
        store.delete(message, chunks=chunks)
        if queue is not None:
            store.ledger.add(queue, staged=-1)


def purge_some(store: Store) -> None:
    """Delete as many of the messages that were cleared as a batch may take along."""
    purge(store, store.trash[0], at_most=_PURGE_MESSAGES)


def purge(store: Store, box: int, *, at_most: int) -> int:
    """Delete messages of a box in trash, and the box once it is empty; return how many these were."""
    count = seen = 0
    for message, size, chunks in store.run("in_trash", box, at_most).fetchall():
        store.delete(message, chunks=chunks)
        count += 1
        seen += size
        if seen > _PURGE_BYTES:
            return count
    if count < at_most:
        store.run("forget_trash", box)
        store.trash_touched = True
    return count


def load_clock(store: Store) -> ClockMark | None:
    """See `Backend.load_clock`."""
    kept = dict(store.run("load_meta"))
    try:
        return ClockMark(boot_id=kept["clock_boot_id"], uptime=kept["clock_uptime"], at=kept["clock_at"])
    except KeyError:
        return None


def save_clock(store: Store, mark: ClockMark) -> None:
    """See `Backend.save_clock`."""
    store.run("save_meta", "clock_boot_id", mark.boot_id)
    store.run("save_meta", "clock_uptime", mark.uptime)
    store.run("save_meta", "clock_at", mark.at)
