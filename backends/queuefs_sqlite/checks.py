"""Compares everything in a store with everything else, and says what can be done about what disagrees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from queuefs.message import QueueId
from queuefs_sqlite import mending
from queuefs_sqlite.ledger import QUEUE_COLUMNS, Account, counters_of
from queuefs_sqlite.parts import examine
from queuefs_sqlite.rows import STAGED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from queuefs_sqlite.rows import Row
    from queuefs_sqlite.statements import Snapshot
    from queuefs_sqlite.store import Store

#: What ``audit_counters`` selects, as it is kept and then as it is counted.
_COUNTED = (
    "pending",
    "processing",
    "staged",
    "delayed",
    "paused",
    "dead",
    "unacked_bytes",
    "staged_bytes",
    "done",
)

#: How much is read of one snapshot, messages and bytes: the log can't begin anew while there is one.
_MESSAGES = 500
_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that disagrees."""

    sentence: str
    #: What was done about it, when the steps are taken.
    done: str = ""
    #: Each is a moment's work on the writer thread, and returns whether there was anything left to do.
    steps: Sequence[Callable[[Store], bool]] = ()


# On the writer thread -------------------------------------------------------------------------------------------------


def memory(store: Store) -> list[Finding]:
    """Compare what is in memory with what is in the file."""
    store.seal()  # the batch that this runs in may have changed counters that are not written yet
    known = dict(store.ledger.accounts())
    found = []
    for row in store.run("all_queues").fetchall():
        queue, account = row[0], Account(*row[len(QUEUE_COLUMNS) :])
        sentence = f"queue {queue}: memory and file disagree"
        if queue not in known:
            found.append(Finding(sentence))
        elif account != known[queue]:
            found.append(
                Finding(sentence, f"queue {queue}: the file has now what memory has", [_remember(QueueId(queue))])
            )
    return found


def _remember(queue: QueueId) -> Callable[[Store], bool]:
    def step(store: Store) -> bool:
        account = dict(store.ledger.accounts()).get(queue)
        if account is None:
            return False
        store.run("set_counters", *counters_of(account), queue)
        for box in ("box", "dead_box", "done_box"):
            store.run(f"set_{box}", getattr(account, box), queue)
        return True

    return step


# On a connection of their own -----------------------------------------------------------------------------------------


def contents(snapshot: Snapshot) -> Iterator[Finding]:
    """Look at every row."""
    with snapshot.held():
        yield from _file(snapshot)
        yield from _queues(snapshot)
        yield from _messages(snapshot)
        yield from _records(snapshot)
    yield from _payloads(snapshot)


def _file(snapshot: Snapshot) -> Iterator[Finding]:
    for (sentence,) in snapshot.db.execute("PRAGMA integrity_check").fetchall():
        if sentence != "ok":
            yield Finding(f"SQLite: {sentence}")


def _queues(snapshot: Snapshot) -> Iterator[Finding]:
    for queue, name in snapshot.run("audit_tree").fetchall():
        yield Finding(f"queue {queue} ({name!r}): its parents do not lead to the root")
    for queue, key, message in snapshot.run("audit_keys").fetchall():
        yield Finding(
            f"key {key!r}: its window is impossible, or its message {message} was never there",
            f"key {key!r}: it is free",
            [mending.free_key(queue, key, message)],
        )


def _messages(snapshot: Snapshot) -> Iterator[Finding]:
    for message, box, queue in snapshot.run("audit_lost_messages").fetchall():
        sentence = f"message {message}: its box {box} is no queue's for such messages"
        if queue is None:
            yield Finding(sentence)
        else:
            yield Finding(sentence, f"message {message}: it is where it belongs", [mending.put_right(message, queue)])
    for message, has_state in snapshot.run("audit_states").fetchall():
        yield Finding(
            f"message {message}: its columns contradict each other",
            f"message {message}: its columns agree",
            [mending.agree(message)] if has_state else [],
        )
    for message, chunks in snapshot.run("audit_lost_bodies").fetchall():
        yield Finding(
            f"message {message}: there is a payload, and no message",
            f"message {message}: a payload without a message is removed",
            mending.remove_payload(message, chunks),
        )


def _records(snapshot: Snapshot) -> Iterator[Finding]:
    for (box,) in snapshot.run("audit_lost_records").fetchall():
        yield Finding(
            f"records: there are some in box {box}, which is no queue's for such",
            f"records: those in box {box} are removed",
            [mending.throw_away(box)],
        )
    for box, message in snapshot.run("audit_records").fetchall():
        yield Finding(
            f"message {message}: its record says what none may",
            f"message {message}: its record is removed",
            [mending.remove_record(box, message)],
        )


def _payloads(snapshot: Snapshot) -> Iterator[Finding]:
    last = 0
    while True:
        with snapshot.held():
            rows = snapshot.rows("audit_messages", last, _MESSAGES)
            if not rows:
                return
            seen = 0
            for row in rows:
                yield from _payload(snapshot, row)
                last = row.id
                seen += row.size
                if seen > _BYTES:
                    break


def _payload(snapshot: Snapshot, row: Row) -> Iterator[Finding]:
    found = examine(snapshot, row)
    if found.is_whole:
        if found.extra or found.chunks != row.chunks:
            yield Finding(
                f"message {row.id}: its payload is whole, but has other parts than are counted",
                f"message {row.id}: its payload has the parts that are counted",
                [mending.recount(row, found)],
            )
        return
    sentence = f"message {row.id}: its payload of {row.size} bytes is missing or damaged"
    if row.state == STAGED:
        yield Finding(f"{sentence}, and it is being written")
    else:
        yield Finding(
            sentence, f"message {row.id}: it is dead, for its payload is damaged", mending.set_aside(row, found)
        )


def counters(snapshot: Snapshot) -> Iterator[Finding]:
    """Count all rows."""
    with snapshot.held():
        for queue, *numbers in snapshot.run("audit_counters").fetchall():
            yield from _counters(queue, numbers)
        for (queue,) in snapshot.run("audit_totals").fetchall():
            yield Finding(
                f"queue {queue}: its totals contradict each other",
                f"queue {queue}: its totals are the least that they can be",
                [mending.raise_totals(QueueId(queue))],
            )


def _counters(queue: int, numbers: Sequence[float]) -> Iterator[Finding]:
    whole = [int(number) for number in numbers]  # sums come as REAL
    boxes, kept, counted = whole[:3], whole[3 : 3 + len(_COUNTED)], whole[3 + len(_COUNTED) :]
    for name, old, new in zip(_COUNTED, kept, counted, strict=True):
        if old != new:
            yield Finding(
                f"queue {queue}: {name} is kept as {old} and counted as {new}",
                f"queue {queue}: {name} is {new}, not {old}",
                [mending.correct(QueueId(queue), tuple(boxes), name, new - old)],
            )
