"""Deletes what is gone for everybody, a little at a time: one big deletion would hold everybody up."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from queuefs_sqlite.store import Store

#: How much of it one batch takes along: about a millisecond's work.
_ROWS = 200
_BYTES = 4 << 20


def purge_some(store: Store) -> None:
    """Delete as much as a batch may take along."""
    purge(store, store.trash[0], at_most=_ROWS)


def purge_all(store: Store, limit: int) -> bool:
    """Delete from all boxes, up to *limit* rows and some MiB of each; return whether there is more."""
    for box in store.read_trash():
        limit -= purge(store, box, at_most=limit)
        if limit <= 0:
            break
    return bool(store.read_trash())


def purge(store: Store, box: int, *, at_most: int) -> int:
    """Delete rows of a box in trash, and the box once it is empty; return how many these were."""
    count = seen = 0
    for message, size, chunks in store.run("in_trash", box, at_most).fetchall():
        if count >= at_most or seen >= _BYTES:
            return count
        few = min(at_most - count, (_BYTES - seen) * chunks // max(size, 1)) or 1
        if few < chunks:
            gone = store.run("delete_some_chunks", message, few).rowcount
            count += gone
            if gone == few:
                return count  # there may be more of them
            size = chunks = 0  # noqa: PLW2901 - what is left of it is a row or two
        store.erase(message, chunks=chunks)
        count += 1 + chunks
        seen += size
    if count < at_most and seen < _BYTES:
        count += _purge_records(store, box, at_most=at_most - count)
    return count


def _purge_records(store: Store, box: int, *, at_most: int) -> int:
    count = store.run("delete_some_records", box, at_most).rowcount
    if count < at_most:
        store.run("forget_trash", box)
        store.trash_touched = True
    return count
