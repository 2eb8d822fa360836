"""The operations on records of messages that are done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs.backend import Settled
from queuefs.errors import StoreFull
from queuefs_sqlite.rows import RecordRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuefs.message import Ended, MessageId, QueueId, Record, Retention
    from queuefs_sqlite.ledger import Account
    from queuefs_sqlite.store import Store

#: The most records in one answer: some 20 ms' work.
_PAGE = 5000


def records(store: Store, queue: QueueId, *, after: Ended | None, limit: int, now: float) -> list[Record]:
    """See `Backend.records`."""
    account = _written(store, queue)
    hidden = store.archive.last_hidden(account)
    limit = min(limit, _PAGE)
    found: list[RecordRow] = []
    before = float("inf")
    if after is not None:
        before = after.finished_at
        found = _rows(store, "records_at", account.done_box, before, after.id, limit)
    if len(found) < limit:
        found += _rows(store, "records_before", account.done_box, before, limit - len(found))
    return [row.record() for row in found if _is_shown(row, account, hidden, now=now)]


def find_records(store: Store, queue: QueueId, messages: Sequence[MessageId], *, now: float) -> list[Record | None]:
    """See `Backend.find_records`."""
    account = _written(store, queue)
    hidden = store.archive.last_hidden(account)
    found = [_record(store, account, message) for message in messages]
    return [row.record() if row and _is_shown(row, account, hidden, now=now) else None for row in found]


def prune(store: Store, queue: QueueId, messages: Sequence[MessageId] | None) -> list[Settled]:
    """See `Backend.prune`. All of them are one step: the queue gets an empty box for its records."""
    _written(store, queue)
    store.archive.drop_surplus(queue)  # else some of it would be shown again
    account = store.ledger.account(queue)
    if messages is None:
        return [Settled.DONE] * _prune_all(store, queue, account.done)
    answers = []
    for message in messages:
        gone = store.run("delete_record", account.done_box, message).rowcount
        answers.append(Settled.DONE if gone else Settled.UNKNOWN)
        if gone:
            store.ledger.change(queue).done -= gone
    return answers


def _prune_all(store: Store, queue: QueueId, count: int) -> int:
    if count:
        account = store.ledger.change(queue)
        store.throw_away(account.done_box)
        account.done_box = store.ledger.new_box()
        account.done = 0
        store.run("set_done_box", account.done_box, queue)
    return count


def restore_record(store: Store, queue: QueueId, record: Record, *, keep: Retention) -> None:
    """See `Backend.restore_record`."""
    account = _written(store, queue)
    if not store.archive.has_room:
        raise StoreFull
    store.pass_id(record.id)
    store.archive.tell(queue, keep)
    gone = store.run("delete_record", account.done_box, record.id).rowcount
    if gone:
        store.ledger.change(queue).done -= gone
    store.archive.add_row(queue, RecordRow.of(record), keep=keep)


def _written(store: Store, queue: QueueId) -> Account:
    """Return the counters of a queue, all whose records are in the file."""
    store.ledger.account(queue)
    store.archive.write(queue)
    return store.ledger.account(queue)


def _is_shown(row: RecordRow, account: Account, hidden: tuple[float, int], *, now: float) -> bool:
    return row.ended > hidden and row.finished_at + account.keep_seconds > now


def _record(store: Store, account: Account, message: MessageId) -> RecordRow | None:
    values = store.first("record", account.done_box, message)
    return None if values is None else RecordRow._make(values)


def _rows(store: Store, query: str, *values: object) -> list[RecordRow]:
    return [RecordRow._make(row) for row in store.run(query, *values).fetchall()]
