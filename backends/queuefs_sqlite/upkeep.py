"""What is done without anybody's asking: times that have come, what a dead daemon left, cleared boxes, the clock."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import structlog

from queuefs.backend import Overdue, Tick
from queuefs.clock import ClockMark
from queuefs.message import MessageId, QueueId, Ref
from queuefs_sqlite.naming import remove_pending
from queuefs_sqlite.writing import Staged, make_pending

if TYPE_CHECKING:
    from queuefs_sqlite.store import Store

log = structlog.get_logger(__name__)

#: How much of the trash one batch takes along: about a millisecond's work.
_PURGE_MESSAGES = 200
_PURGE_BYTES = 4 << 20


def tick(store: Store, *, now: float, limit: int) -> Tick:
    """See `Backend.tick`. What lies in trash is nobody's any more, and is deleted where it is met."""
    adopted = _adopt(store, now=now, limit=limit)
    lapsed = _lapse(store, now=now, limit=limit)
    ripe = _ripen(store, now=now, limit=limit)
    overdue, has_more = _overdue(store, now=now, limit=limit)
    forgotten = store.run("forget_keys", now, limit).rowcount
    has_trash = _purge_all(store, limit)
    has_more = has_more or has_trash or forgotten == limit
    next_due = 0.0 if has_more else _next_due(store, now=now)
    return Tick(overdue=overdue, lapsed=lapsed, ripe=ripe, adopted=adopted, next_due=next_due)


def _purge_all(store: Store, limit: int) -> bool:
    """Delete up to *limit* messages that were cleared; return whether there are more."""
    for box in store.read_trash():
        limit -= purge(store, box, at_most=limit)
        if limit <= 0:
            break
    return bool(store.read_trash())


def _next_due(store: Store, *, now: float) -> float | None:
    if store.first("left_staged", store.inherited, 1) is not None:
        return 0.0
    times = (store.value("next_lease", now), store.value("next_delay"), store.value("next_lapse"))
    return min((max(0.0, time - now) for time in times if time is not None), default=None)


def _lapse(store: Store, *, now: float, limit: int) -> list[tuple[QueueId, MessageId]]:
    lapsed = []
    for message, queue, chunks, state, size in store.run("lapsed", now, limit).fetchall():
        if queue is None:
            store.delete(message, chunks=chunks)
        else:
            remove_pending(store, queue, message, state=state, size=size, chunks=chunks)
            lapsed.append((QueueId(queue), MessageId(message)))
    return lapsed


def _ripen(store: Store, *, now: float, limit: int) -> list[QueueId]:
    ripe: Counter[QueueId] = Counter()
    for message, queue, chunks in store.run("all_due", now, limit).fetchall():
        if queue is None:
            store.delete(message, chunks=chunks)
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
    for message, queue, claims, attempt, cancelled, chunks in rows[:limit]:
        if queue is None:
            store.delete(message, chunks=chunks)
        else:
            receipt = Ref(MessageId(message), claims)
            overdue.append(Overdue(queue=QueueId(queue), receipt=receipt, attempt=attempt, cancelled=bool(cancelled)))
    return overdue, len(rows) > limit


def _adopt(store: Store, *, now: float, limit: int) -> list[tuple[QueueId, MessageId]]:
    """Publish what a dead daemon had staged, and drop what is known to be in part."""
    adopted = []
    rows = store.run("left_staged", store.inherited, limit).fetchall()
    for number, partial, size, chunks, delay, ttl, key, queue in rows:
        message = MessageId(number)
        if partial or queue is None:
            drop_staged(store, message, size=size, chunks=chunks, queue=queue)
            continue
        row = Staged(size=size, crc=0, chunks=chunks, delay=delay, ttl=ttl, key=key)
        if make_pending(store, queue, message, row, now=now, window=0.0) == message:
            adopted.append((QueueId(queue), message))
    if rows:
        log.info("messages of an earlier daemon found", published=len(adopted), dropped=len(rows) - len(adopted))
    return adopted


def skip_ids(store: Store) -> None:
    """Let no id be given again that an earlier daemon may have given, also if this file is an older copy."""
    if store.ids.mark > store.ledger.last_id:
        store.run("forget_ids")
        store.run("skip_ids", store.ids.mark)
        store.ledger.last_id = store.ids.mark


def drop_unknown(store: Store, known_id: int) -> None:
    """Delete what a batch staged whose commit failed and was carried out all the same.

    Nobody was told these ids, so nobody could ever publish or discard them.
    """
    for message, size, chunks, queue in store.run("staged_after", known_id).fetchall():
        drop_staged(store, message, size=size, chunks=chunks, queue=queue)


def drop_staged(store: Store, message: int, *, size: int, chunks: int, queue: int | None) -> None:
    """Delete a staged message."""
    store.delete(message, chunks=chunks)
    if queue is not None:
        account = store.ledger.change(QueueId(queue))
        account.staged -= 1
        account.staged_bytes -= size


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
