"""Puts right what a look at a store has found: each function returns what the writer thread is to do, in a moment each.

Other operations come between the look and these steps, and between the steps: each looks again whether there is
something left to do, and returns whether there was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from queuefs_sqlite import naming
from queuefs_sqlite.rows import DEAD, PROCESSING, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queuefs.message import MessageId, QueueId
    from queuefs_sqlite.parts import Examined
    from queuefs_sqlite.store import Store

    #: A moment's work; it returns whether there was anything left to do.
    Step = Callable[[Store], bool]

log = structlog.get_logger(__name__)

#: Rows of payload that one step writes or removes.
_ROWS = 16

#: The reason of a message whose payload is not what was put in.
DAMAGED = "its payload was damaged in the store"


# Payloads -------------------------------------------------------------------------------------------------------------


def set_aside(row: Row, found: Examined) -> list[Step]:
    """Make a message dead, and let its payload be what there is of it, zeros where something is missing between."""

    def is_same(store: Store) -> bool:
        return store.first("repair_is_same", row.id, row.size, row.crc) is not None

    def bury(store: Store) -> bool:
        return is_same(store) and _bury(store, row.id)

    def fill(gaps: Sequence[tuple[int, int]]) -> Step:
        def step(store: Store) -> bool:
            if is_same(store):
                store.run_many("repair_fill", [(row.id, position, size) for position, size in gaps])
            return False

        return step

    def measure(store: Store) -> bool:
        if not is_same(store):
            return False
        if found.body is not None:
            store.run("repair_fill_body", row.id, found.body)
        _measure(store, row, found)
        return True

    return [bury, *(fill(found.gaps[at : at + _ROWS]) for at in range(0, len(found.gaps), _ROWS)), measure]


def recount(row: Row, found: Examined) -> Step:
    """Let a payload that is whole have the parts that it has."""

    def step(store: Store) -> bool:
        if store.first("repair_is_same", row.id, row.size, row.crc) is None:
            return False
        _measure(store, row, found)
        return True

    return step


def _measure(store: Store, row: Row, found: Examined) -> None:
    store.run_many("repair_drop_chunk", [(rowid, row.id) for rowid in found.extra])
    store.run("repair_body_type", row.id)
    store.run("repair_chunk_type", row.id)
    there = _find(store, row.id)
    if there is not None:
        queue, now = there
        if now.state != DEAD:  # somebody has given it another life meanwhile
            store.ledger.change(queue).unacked_bytes += found.size - row.size
    store.run("repair_payload", found.size, found.crc, found.chunks, row.id)
    store.payloads.forgive(row.id)


def _find(store: Store, message: int) -> tuple[QueueId, Row] | None:
    values = store.first("repair_find", message)
    return None if values is None else (values[0], Row._make(values[1:]))


def _bury(store: Store, message: MessageId | int) -> bool:
    there = _find(store, message)
    if there is None:
        return False
    queue, row = there
    log.error("payload damaged; the message is dead", message=row.id, size=row.size)
    account = store.ledger.change(queue)
    if row.state == DEAD:
        store.run("repair_reason", DAMAGED, row.id)
    elif row.state == PROCESSING:
        store.run("repair_set_aside", account.dead_box, DAMAGED, row.id)
        account.processing -= 1
        account.unacked_bytes -= row.size
        account.dead += 1
        account.buried += 1
    else:
        naming.bury_row(store, queue, row, reason=DAMAGED)
    return True


def remove_payload(message: int, chunks: int) -> list[Step]:
    """Remove a payload of no message."""

    def some_of_it(store: Store) -> bool:
        if store.first("repair_is_there", message) is not None:
            return False
        return store.run("delete_some_chunks", message, _ROWS).rowcount > 0

    def rest_of_it(store: Store) -> bool:
        if store.first("repair_is_there", message) is not None:
            return False
        return store.run("delete_body", message).rowcount > 0

    return [*[some_of_it] * -(-chunks // _ROWS), rest_of_it]


# Rows -----------------------------------------------------------------------------------------------------------------


def put_right(message: int, queue: int) -> Step:
    """Let a message lie in the box that *queue* has for its state."""
    return lambda store: store.run("repair_box", queue, message).rowcount > 0


def agree(message: int) -> Step:
    """Let the columns of a message agree."""
    return lambda store: store.run("repair_columns", message).rowcount > 0


def free_key(queue: int, key: str, message: int) -> Step:
    """Let a key keep nobody out any more."""
    return lambda store: store.run("forget_key", queue, key, message).rowcount > 0


def remove_record(box: int, message: int) -> Step:
    """Remove a record."""
    return lambda store: store.run("delete_record", box, message).rowcount > 0


def throw_away(box: int) -> Step:
    """Have records of no queue deleted."""

    def step(store: Store) -> bool:
        if any(box in (account.box, account.dead_box, account.done_box) for _, account in store.ledger.accounts()):
            return False
        store.throw_away(box)
        return True

    return step


# Counters -------------------------------------------------------------------------------------------------------------


def correct(queue: QueueId, boxes: tuple[int, ...], counter: str, difference: int) -> Step:
    """Change a counter by as much as it was wrong: whatever was counted since is right."""

    def step(store: Store) -> bool:
        account = dict(store.ledger.accounts()).get(queue)
        if account is None or (account.box, account.dead_box, account.done_box) != boxes:
            return False  # it was emptied meanwhile, and counts from nothing
        setattr(store.ledger.change(queue), counter, getattr(account, counter) + difference)
        return True

    return step


def raise_totals(queue: QueueId) -> Step:
    """Let no total be less than what is there."""

    def step(store: Store) -> bool:
        if not store.ledger.has(queue):
            return False
        account = store.ledger.change(queue)
        account.enqueued = max(account.enqueued, account.pending + account.processing + account.dead)
        for total in ("acked", "nacked", "expired", "buried"):
            setattr(account, total, max(0, getattr(account, total)))
        return True

    return step
