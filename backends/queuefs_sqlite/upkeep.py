"""What is done without anybody's asking: times that have come, what a dead daemon left, cleared boxes, the clock."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

import structlog

from queuefs.backend import Overdue, Tick
from queuefs.clock import ClockMark
from queuefs.message import MessageId, QueueId, Ref, Space
from queuefs_sqlite.files import beside
from queuefs_sqlite.naming import remove_pending
from queuefs_sqlite.trash import purge_all
from queuefs_sqlite.writing import Staged, make_pending

if TYPE_CHECKING:
    from pathlib import Path

    from queuefs_sqlite.store import Store

log = structlog.get_logger(__name__)


def tick(store: Store, *, now: float, limit: int) -> Tick:
    """See `Backend.tick`. What lies in trash is nobody's any more, and is deleted where it is met."""
    adopted = _adopt(store, now=now, limit=limit)
    lapsed = _lapse(store, now=now, limit=limit)
    ripe = _ripen(store, now=now, limit=limit)
    overdue, has_more = _overdue(store, now=now, limit=limit)
    forgotten = store.run("forget_keys", now, limit).rowcount
    terminated = store.archive.drop(now=now, limit=limit)
    has_trash = purge_all(store, limit)
    has_more = has_more or has_trash or forgotten == limit
    next_due = 0.0 if has_more else _next_due(store, now=now)
    return Tick(overdue=overdue, lapsed=lapsed, ripe=ripe, adopted=adopted, terminated=terminated, next_due=next_due)


def _next_due(store: Store, *, now: float) -> float | None:
    if store.adopted < len(store.inherited):
        return 0.0
    times = (
        store.value("next_lease", now),
        store.value("next_delay"),
        store.value("next_lapse"),
        store.archive.next_due(),
    )
    return min((max(0.0, time - now) for time in times if time is not None), default=None)


def _lapse(store: Store, *, now: float, limit: int) -> list[tuple[QueueId, MessageId]]:
    lapsed = []
    for message, queue, chunks, state, size in store.run("lapsed", now, limit).fetchall():
        if queue is None:
            store.delete(message, chunks=chunks, size=size)
        else:
            remove_pending(store, queue, message, state=state, size=size, chunks=chunks)
            lapsed.append((QueueId(queue), MessageId(message)))
    return lapsed


def _ripen(store: Store, *, now: float, limit: int) -> list[QueueId]:
    ripe: Counter[QueueId] = Counter()
    for message, queue, chunks, size in store.run("all_due", now, limit).fetchall():
        if queue is None:
            store.delete(message, chunks=chunks, size=size)
        else:
            store.run("ripen", message)
            ripe[QueueId(queue)] += 1
    for number, count in ripe.items():
        store.ledger.change(number).delayed -= count
    store.ripe_told |= store.ripe
    return sorted(filter(store.ledger.has, store.ripe | ripe.keys()))


def _overdue(store: Store, *, now: float, limit: int) -> tuple[list[Overdue], bool]:
    """Return whose lease is over, and whether there are more of them."""
    overdue = []
    rows = store.run("overdue", now, limit + 1).fetchall()
    for message, queue, claims, attempt, cancelled, chunks, size in rows[:limit]:
        if queue is None:
            store.delete(message, chunks=chunks, size=size)
        else:
            receipt = Ref(MessageId(message), claims)
            overdue.append(Overdue(queue=QueueId(queue), receipt=receipt, attempt=attempt, cancelled=bool(cancelled)))
    return overdue, len(rows) > limit


def _adopt(store: Store, *, now: float, limit: int) -> list[tuple[QueueId, MessageId]]:
    """Publish what a dead daemon had staged, and drop what is known to be in part."""
    adopted = []
    left = store.inherited[store.adopted :][:limit]
    for number in left:
        found = store.first("inherited", number)
        if found is None:
            continue  # a commit that failed was carried out all the same
        message = MessageId(number)
        partial, size, chunks, delay, ttl, key, queue = found
        if partial or queue is None:
            drop_staged(store, message, size=size, chunks=chunks, queue=queue)
            continue
        row = Staged(size=size, crc=0, chunks=chunks, delay=delay, ttl=ttl, key=key)
        if make_pending(store, queue, message, row, now=now, window=0.0) == message:
            adopted.append((QueueId(queue), message))
    store.adopted += len(left)
    if left:
        log.info("messages of an earlier daemon found", published=len(adopted), dropped=len(left) - len(adopted))
    return adopted


def skip_ids(store: Store) -> None:
    """Let no id be given again that an earlier daemon may have given, also if this file is an older copy."""
    store.pass_id(store.ids.mark)


def drop_unknown(store: Store, known_id: int) -> None:
    """Delete what a batch staged whose commit failed and was carried out all the same.

    Nobody was told these ids, so nobody could ever publish or discard them.
    """
    for message, size, chunks, queue in store.run("staged_after", known_id).fetchall():
        drop_staged(store, message, size=size, chunks=chunks, queue=queue)


def drop_staged(store: Store, message: int, *, size: int, chunks: int, queue: int | None) -> None:
    """Delete a staged message."""
    store.delete(message, chunks=chunks, size=size)
    if queue is not None:
        account = store.ledger.change(QueueId(queue))
        account.staged -= 1
        account.staged_bytes -= size


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


def space(store: Store, path: Path) -> Space:
    """See `Backend.space`: how large the files of the database at *path* are, and what its disk has left."""
    disk = os.statvfs(path.parent)
    files = (path, beside(path, "-wal"), beside(path, "-shm"))
    return Space(
        used=sum(file.stat().st_size for file in files if file.exists()),
        free=disk.f_bavail * disk.f_frsize,
        messages=store.ledger.unacked(),
    )


def last_id(store: Store) -> MessageId | None:
    """See `Backend.last_id`."""
    last = store.ledger.last_id
    return MessageId(last) if last else None
