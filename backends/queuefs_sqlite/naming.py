"""What is done to messages by name, whoever holds them: pause, resume, cancel, bury; the second life of dead ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs.backend import SUCCEEDED, Settled
from queuefs_sqlite.rows import DELAYED, PAUSED, PROCESSING, READY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queuefs.message import MessageId, QueueId, Retention
    from queuefs_sqlite.ledger import Account
    from queuefs_sqlite.rows import Row
    from queuefs_sqlite.store import Store


def pause(store: Store, queue: QueueId, messages: Sequence[MessageId]) -> list[Settled]:
    """See `Backend.pause`."""

    def hold(row: Row) -> Settled:
        if row.state == PROCESSING:
            return Settled.STALE
        if row.state != PAUSED:
            _move(store, queue, row, PAUSED)
        return Settled.DONE

    return each(store, queue, messages, hold)


def resume(store: Store, queue: QueueId, messages: Sequence[MessageId]) -> list[Settled]:
    """See `Backend.resume`."""

    def let_go(row: Row) -> Settled:
        if row.state == PROCESSING:
            return Settled.STALE
        if row.state == PAUSED:
            # A delay may have ended in the meantime: the next claim or round of upkeep finds out.
            _move(store, queue, row, READY if row.due is None else DELAYED)
        return Settled.DONE

    return each(store, queue, messages, let_go)


def _move(store: Store, queue: QueueId, row: Row, state: int) -> None:
    store.run("set_state", state, row.id)
    account = store.ledger.change(queue)
    account.delayed += (state == DELAYED) - row.is_delayed
    account.paused += (state == PAUSED) - row.is_paused


def cancel(
    store: Store, queue: QueueId, messages: Sequence[MessageId], *, now: float, keep: Retention | None
) -> list[Settled]:
    """See `Backend.cancel`."""
    store.archive.tell(queue, keep)

    def call_off(row: Row) -> Settled:
        if row.state == PROCESSING:
            store.run("cancel", row.id)
        else:
            remove_pending(store, queue, row.id, state=row.state, size=row.size, chunks=row.chunks)
            store.archive.add(queue, row._replace(cancelled=1), SUCCEEDED, now=now, keep=keep)
        return Settled.DONE

    return each(store, queue, messages, call_off)


def remove_pending(store: Store, queue: QueueId, message: int, *, state: int, size: int, chunks: int) -> None:
    """Delete a pending message."""
    store.delete(message, chunks=chunks, size=size)
    leave_pending(store.ledger.change(queue), state=state, size=size)


def leave_pending(account: Account, *, state: int, size: int) -> None:
    """Count one pending message less."""
    account.pending -= 1
    account.delayed -= state == DELAYED
    account.paused -= state == PAUSED
    account.unacked_bytes -= size


def bury(store: Store, queue: QueueId, messages: Sequence[MessageId], *, reason: str | None) -> list[Settled]:
    """See `Backend.bury`."""

    def set_aside(row: Row) -> Settled:
        if not row.is_pending:
            return Settled.STALE
        bury_row(store, queue, row, reason=reason)
        return Settled.DONE

    return each(store, queue, messages, set_aside)


def bury_row(store: Store, queue: QueueId, row: Row, *, reason: str | None) -> None:
    """Make a pending message dead."""
    account = store.ledger.change(queue)
    store.run("bury", account.dead_box, reason, row.id)
    leave_pending(account, state=row.state, size=row.size)
    account.dead += 1
    account.buried += 1


def each(store: Store, queue: QueueId, messages: Sequence[MessageId], step: Callable[[Row], Settled]) -> list[Settled]:
    """Take a step with each of the messages that is unacknowledged."""
    box = store.ledger.account(queue).box
    rows = (store.message(message, box) for message in messages)
    return [Settled.UNKNOWN if row is None else step(row) for row in rows]


# Dead messages --------------------------------------------------------------------------------------------------------


def retry(store: Store, queue: QueueId, messages: Sequence[MessageId] | None) -> list[Settled]:
    """See `Backend.retry`."""

    def revive(row: Row) -> None:
        account = store.ledger.change(queue)
        store.run("retry", account.box, row.id)
        account.dead -= 1
        account.pending += 1
        account.unacked_bytes += row.size

    if messages is not None:
        return _each_dead(store, queue, messages, revive)
    dead_box = store.ledger.account(queue).dead_box
    size = store.value("dead_bytes", dead_box)
    account = store.ledger.change(queue)
    count = store.run("retry_all", account.box, dead_box).rowcount
    account.dead -= count
    account.pending += count
    account.unacked_bytes += size
    return [Settled.DONE] * count


def drop(store: Store, queue: QueueId, messages: Sequence[MessageId] | None) -> list[Settled]:
    """See `Backend.drop`. All of them are one step: the queue gets an empty box for its dead."""

    def remove(row: Row) -> None:
        store.delete(row.id, chunks=row.chunks, size=row.size)
        store.ledger.change(queue).dead -= 1

    if messages is not None:
        return _each_dead(store, queue, messages, remove)
    old = store.ledger.account(queue)
    count = old.dead
    if count:
        box = store.ledger.new_box()
        store.run("set_dead_box", box, queue)
        store.throw_away(old.dead_box)
        account = store.ledger.change(queue)
        account.dead_box = box
        account.dead = 0
    return [Settled.DONE] * count


def _each_dead(
    store: Store, queue: QueueId, messages: Sequence[MessageId], step: Callable[[Row], None]
) -> list[Settled]:
    account = store.ledger.account(queue)
    results = []
    for message in messages:
        row = store.message(message, account.dead_box)
        if row is not None:
            step(row)
            results.append(Settled.DONE)
        else:
            is_alive = store.message(message, account.box) is not None
            results.append(Settled.STALE if is_alive else Settled.UNKNOWN)
    return results
