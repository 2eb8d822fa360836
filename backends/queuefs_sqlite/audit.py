"""Compares everything in the store with everything else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs_sqlite.ledger import QUEUE_COLUMNS, Account
from queuefs_sqlite.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from queuefs_sqlite.store import Store

#: What ``audit_counters`` selects, as it is kept and then as it is counted.
_COUNTED = ("pending", "processing", "staged", "delayed", "paused", "dead", "unacked_bytes", "staged_bytes")


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
        for name, kept, counted in zip(_COUNTED, numbers[: len(_COUNTED)], numbers[len(_COUNTED) :], strict=True):
            if kept != counted:
                yield f"queue {queue}: {name} is kept as {kept} and counted as {int(counted)}"
    for (queue,) in store.run("audit_totals").fetchall():
        yield f"queue {queue}: its totals contradict each other"
    for queue, name in store.run("audit_tree").fetchall():
        yield f"queue {queue} ({name!r}): its parents do not lead to the root"
    for row in store.run("all_queues").fetchall():
        if not store.ledger.agrees(row[0], Account(*row[len(QUEUE_COLUMNS) :])):
            yield f"queue {row[0]}: memory and file disagree"


def _messages(store: Store) -> Iterator[str]:
    for message, box in store.run("audit_lost_messages").fetchall():
        yield f"message {message}: its box {box} is no queue's for such messages"
    for (message,) in store.run("audit_lost_bodies").fetchall():
        yield f"message {message}: there is a payload, and no message"
    for (message,) in store.run("audit_states").fetchall():
        yield f"message {message}: its columns contradict each other"
    for key, message in store.run("audit_keys").fetchall():
        yield f"key {key!r}: its window is impossible, or its message {message} was never there"
    for (message,) in store.run("audit_chunks").fetchall():
        yield f"message {message}: a part of its payload is missing"
    for values in store.run("audit_payloads").fetchall():
        row = Row._make(values)
        if store.payload(row) is None:
            yield f"message {row.id}: its payload of {row.size} bytes is missing or damaged"
