"""What becomes of a claim: each settles messages in processing by their refs, in order."""

from __future__ import annotations

from functools import partial as bind
from typing import TYPE_CHECKING

from queuefs.backend import SUCCEEDED, Settled
from queuefs_sqlite.rows import DEAD, DELAYED, PROCESSING, READY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from queuefs.message import MessageId, Outcome, QueueId, Ref, Retention, Verdict
    from queuefs_sqlite.rows import Row
    from queuefs_sqlite.store import Store


def undo(store: Store, queue: QueueId, refs: Sequence[Ref], *, now: float, keep: Retention | None) -> list[Settled]:
    """See `Backend.undo`."""
    store.archive.tell(queue, keep)

    def take_back(row: Row) -> Settled:
        account = store.ledger.change(queue)
        account.dequeued -= 1
        undone = row._replace(attempt=row.attempt - 1)
        if not _done_if_cancelled(store, queue, undone, now=now, keep=keep):
            store.run("undo", row.id)
            account.processing -= 1
            account.pending += 1
        return Settled.DONE

    return _settle(store, queue, ((ref, take_back) for ref in refs))


def ack(
    store: Store, queue: QueueId, refs: Sequence[Ref], *, now: float, keep: Retention | None, outcome: Outcome
) -> list[Settled]:
    """See `Backend.ack`."""
    store.archive.tell(queue, keep)

    def finish(row: Row) -> Settled:
        _finish(store, queue, row, outcome, now=now, keep=keep)
        store.ledger.change(queue).acked += 1
        return Settled.DONE

    return _settle(store, queue, ((ref, finish) for ref in refs))


def nack(
    store: Store, queue: QueueId, verdicts: Sequence[Verdict], *, now: float, keep: Retention | None
) -> list[Settled]:
    """See `Backend.nack`."""
    store.archive.tell(queue, keep)

    def give_back(verdict: Verdict, row: Row) -> Settled:
        store.ledger.change(queue).nacked += 1
        _judge(store, queue, verdict, row, now=now, keep=keep)
        return Settled.DONE

    return _settle(store, queue, ((verdict.ref, bind(give_back, verdict)) for verdict in verdicts))


def expire(
    store: Store, queue: QueueId, verdicts: Sequence[Verdict], *, now: float, keep: Retention | None
) -> list[Settled]:
    """See `Backend.expire`."""
    store.archive.tell(queue, keep)

    def take_away(verdict: Verdict, row: Row) -> Settled:
        assert row.lease_until is not None  # it is in processing
        if row.lease_until > now:
            return Settled.STALE
        store.ledger.change(queue).expired += 1
        _judge(store, queue, verdict, row, now=now, keep=keep)
        return Settled.DONE

    return _settle(store, queue, ((verdict.ref, bind(take_away, verdict)) for verdict in verdicts))


def extend(store: Store, queue: QueueId, refs: Sequence[Ref], *, lease: float, now: float) -> list[Settled]:
    """See `Backend.extend`."""

    def renew(row: Row) -> Settled:
        store.run("extend", now + lease, row.id)
        return Settled.CANCELLED if row.cancelled else Settled.DONE

    return _settle(store, queue, ((ref, renew) for ref in refs))


def check(store: Store, queue: QueueId, refs: Sequence[Ref]) -> list[Settled]:
    """See `Backend.check`."""
    results = _settle(store, queue, ((ref, lambda _row: Settled.DONE) for ref in refs))
    done: set[MessageId] = set()
    for place, ref in enumerate(refs):
        if ref.id in done:
            results[place] = Settled.UNKNOWN  # `ack` would have removed it by then
        elif results[place] is Settled.DONE:
            done.add(ref.id)
    return results


def _settle(store: Store, queue: QueueId, steps: Iterable[tuple[Ref, Callable[[Row], Settled]]]) -> list[Settled]:
    """Take each step with the message its ref names, if that is being processed under that claim."""
    box = store.ledger.account(queue).box
    results = []
    for ref, step in steps:
        row = store.message(ref.id, box)
        if row is None:
            results.append(Settled.UNKNOWN)
        # Compared here and not by SQL: a receipt's number may be larger than SQLite's integers.
        elif row.state != PROCESSING or ref.claim not in (None, row.claims):
            results.append(Settled.STALE)
        else:
            results.append(step(row))
    return results


def _judge(store: Store, queue: QueueId, verdict: Verdict, row: Row, *, now: float, keep: Retention | None) -> None:
    """Let a message leave processing as it is said."""
    if row.cancelled and verdict.reason is not None:
        row = row._replace(reason=verdict.reason)
    if _done_if_cancelled(store, queue, row, now=now, keep=keep):
        return
    account = store.ledger.change(queue)
    account.processing -= 1
    if verdict.dead:
        store.run("give_back", account.dead_box, DEAD, None, verdict.reason, row.id)
        account.dead += 1
        account.buried += 1
        account.unacked_bytes -= row.size
        return
    due = now + verdict.delay if verdict.delay else None
    store.run("give_back", account.box, READY if due is None else DELAYED, due, verdict.reason, row.id)
    account.pending += 1
    account.delayed += due is not None


def _done_if_cancelled(store: Store, queue: QueueId, row: Row, *, now: float, keep: Retention | None) -> bool:
    if row.cancelled:
        _finish(store, queue, row, SUCCEEDED, now=now, keep=keep)
    return bool(row.cancelled)


def _finish(store: Store, queue: QueueId, row: Row, outcome: Outcome, *, now: float, keep: Retention | None) -> None:
    """Let a message in processing be done."""
    store.delete(row.id, chunks=row.chunks, size=row.size)
    account = store.ledger.change(queue)
    account.processing -= 1
    account.unacked_bytes -= row.size
    store.archive.add(queue, row, outcome, now=now, keep=keep)
