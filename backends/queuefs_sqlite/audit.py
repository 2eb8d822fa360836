"""Compares everything in the store with everything else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs_sqlite.ledger import Account
from queuefs_sqlite.store import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from queuefs_sqlite.store import Store


def audit(store: Store) -> list[str]:
    """See `Backend.audit`."""
    store.seal()  # the batch that this runs in may have changed counters that are not written yet
    return [*_file(store), *_queues(store), *_messages(store)]


def _file(store: Store) -> Iterator[str]:
    for (sentence,) in store.db.execute("PRAGMA integrity_check").fetchall():
        if sentence != "ok":
            yield f"SQLite: {sentence}"


def _queues(store: Store) -> Iterator[str]:
    for queue, *numbers in store.run("audit_counters").fetchall():
        kept, counted = numbers[:4], [int(n) for n in numbers[4:]]
        yield f"queue {queue}: pending, processing, staged, bytes are kept as {kept} and counted as {counted}"
    for queue, name in store.run("audit_tree").fetchall():
        yield f"queue {queue} ({name!r}): its parents do not lead to the root"
    for row in store.run("all_queues").fetchall():
        if not store.ledger.agrees(row[0], Account(*row[7:])):
            yield f"queue {row[0]}: memory and file disagree"


def _messages(store: Store) -> Iterator[str]:
    for message, box in store.run("audit_lost_messages").fetchall():
        yield f"message {message}: its box {box} belongs to no queue"
    for (message,) in store.run("audit_lost_bodies").fetchall():
        yield f"message {message}: there is a payload, and no message"
    for (message,) in store.run("audit_states").fetchall():
        yield f"message {message}: its columns contradict each other"
    for (message,) in store.run("audit_chunks").fetchall():
        yield f"message {message}: a part of its payload is missing"
    for values in store.run("audit_payloads").fetchall():
        row = Row._make(values)
        if store.payload(row) is None:
            yield f"message {row.id}: its payload of {row.size} bytes is missing or damaged"
