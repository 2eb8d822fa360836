"""Records on their way to the file, and those that are gone and that nobody was told of yet.

A batch gathers them, and writes at its end those that the queue keeps: of 256 messages in a queue that keeps 10, no
more than 10. What is too much in the file is dropped by upkeep, a little at a time.
"""

from __future__ import annotations

from collections import deque
from itertools import chain, islice
from operator import attrgetter
from typing import TYPE_CHECKING

from queuefs.message import MessageId

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuefs.message import Outcome, QueueId, Retention
    from queuefs_sqlite.ledger import Account
    from queuefs_sqlite.rows import RecordRow, Row
    from queuefs_sqlite.store import Store

#: More than a queue can have, and SQLite's integers hold it.
_MANY = 2**62

#: Before every record.
_NEVER = (float("-inf"), 0)

_ended = attrgetter("ended")


class Archive:
    """The records of a store."""

    def __init__(self, store: Store) -> None:
        """Keep records in *store*."""
        self._store = store
        #: Whether the disk has room for records; while it has none, none are kept.
        self.has_room = True
        #: What the batch has gathered.
        self._new: dict[QueueId, list[RecordRow]] = {}
        #: Those that never came to the file, or left it by no round of upkeep, and of which the next one tells;
        self._untold: deque[tuple[QueueId, MessageId]] = deque()
        #: those that this batch adds,
        self._lost: list[tuple[QueueId, MessageId]] = []
        #: and how many of all of them it tells.
        self._told = 0

    def remember(self, before: Archive) -> None:
        """Take over what nobody was told of yet on a connection that was lost."""
        self._untold = before._untold

    # A batch ------------------------------------------------------------------------------------------------------

    def tell(self, queue: QueueId, keep: Retention | None) -> None:
        """Let a queue keep what *keep* says from now on; None says nothing.

        Raises:
            QueueNotFound: there is no such queue.
        """
        if keep is None:
            return
        account = self._store.ledger.account(queue)
        records = max(0, min(keep.records, _MANY))
        if (account.keep_records, account.keep_seconds) != (records, keep.seconds):
            account = self._store.ledger.change(queue)
            account.keep_records, account.keep_seconds = records, keep.seconds

    def add(self, queue: QueueId, row: Row, outcome: Outcome, *, now: float, keep: Retention | None) -> None:
        """Keep a record of a message that is done *now*, if there is to be one."""
        if keep is not None:
            self.add_row(queue, row.record(outcome, now=now), keep=keep)

    def add_row(self, queue: QueueId, row: RecordRow, *, keep: Retention) -> None:
        """Keep a record, if there is to be one."""
        if keep.records > 0 and keep.seconds > 0 and self.has_room:
            self._new.setdefault(queue, []).append(row)

    def lose(self, queue: QueueId, messages: Sequence[int]) -> None:
        """Take note that these records are gone, for the next round of upkeep to tell."""
        self._lost += [(queue, MessageId(message)) for message in messages]

    def write(self, queue: QueueId) -> None:
        """Write what the batch has gathered for a queue."""
        rows = self._new.pop(queue, None)
        if rows is None:
            return
        account = self._store.ledger.change(queue)
        surplus = len(rows) - account.keep_records
        if surplus > 0:
            rows.sort(key=_ended)
            self.lose(queue, [row.id for row in rows[:surplus]])
            del rows[:surplus]
        if rows:
            first = min(row.finished_at for row in rows)
            account.done_since = min(first, account.done_since) if account.done else first
            account.done += self._insert(account.done_box, rows)

    def _insert(self, box: int, rows: Sequence[RecordRow]) -> int:
        """Write records, and return how many there are more by that."""
        values = [(box, *row) for row in rows]
        more = self._store.run_many("add_record", values)
        if more < len(rows):  # messages of the same ids were done here before: they came from another store
            for row, each in zip(rows, values, strict=True):
                more -= self._store.run("delete_record", box, row.id).rowcount
                more += self._store.run("add_record", *each).rowcount
        return more

    def seal(self) -> None:
        """Write all that the batch has gathered."""
        for queue in list(self._new):
            self.write(queue)

    def keep(self) -> None:
        """Take note that the batch was committed."""
        self._untold.extend(self._lost)
        for _ in range(self._told):
            self._untold.popleft()
        self.forget()

    def forget(self) -> None:
        """Drop what the batch has gathered: it was rolled back, or is committed."""
        self._new.clear()
        self._lost.clear()
        self._told = 0

    # Looking and dropping -------------------------------------------------------------------------------------------

    def last_hidden(self, account: Account) -> tuple[float, int]:
        """Return where the last record stands that is one more than the queue keeps."""
        surplus = account.done - account.keep_records
        if surplus <= 0:
            return _NEVER
        if surplus <= account.keep_records:
            found = self._store.first("record_from_first", account.done_box, surplus - 1)
        else:
            found = self._store.first("record_from_last", account.done_box, account.keep_records)
        return _NEVER if found is None else tuple(found)

    def drop(self, *, now: float, limit: int) -> list[tuple[QueueId, MessageId]]:
        """Drop up to *limit* records that are over or too many, and return those that are gone and were not told."""
        self.seal()
        gone = list(islice(chain(self._untold, self._lost), self._told, self._told + limit))
        self._told += len(gone)
        for queue, account in list(self._store.ledger.accounts()):
            if len(gone) < limit and _due_at(account) <= now:
                gone += [(queue, message) for message in self._drop_of(queue, now=now, limit=limit - len(gone))]
        return gone

    def _drop_of(self, queue: QueueId, *, now: float, limit: int) -> list[MessageId]:
        account = self._store.ledger.change(queue)
        surplus = account.done - account.keep_records
        early = self._store.run("early_records", account.done_box, limit + 1).fetchall()
        gone = [
            MessageId(message)
            for place, (finished_at, message) in enumerate(early[:limit])
            if place < surplus or finished_at + account.keep_seconds <= now
        ]
        if gone:
            self._store.run("drop_early_records", account.done_box, len(gone))
        if len(early) > len(gone):
            account.done -= len(gone)
            account.done_since = early[len(gone)][0]
        else:
            account.done = 0
        return gone

    def drop_surplus(self, queue: QueueId) -> None:
        """Drop all records of a queue that are too many, for the next round of upkeep to tell."""
        account = self._store.ledger.account(queue)
        surplus = account.done - account.keep_records
        if surplus > 0:
            self.lose(queue, self._drop_of(queue, now=float("-inf"), limit=surplus))

    def next_due(self) -> float | None:
        """Return when there is something to drop, or to tell."""
        if self._told < len(self._untold) + len(self._lost):
            return float("-inf")
        return min((_due_at(account) for _, account in self._store.ledger.accounts() if account.done), default=None)


def _due_at(account: Account) -> float:
    """Return when a queue has records to drop."""
    if not account.done:
        return float("inf")
    if account.done > account.keep_records:
        return float("-inf")
    return account.done_since + account.keep_seconds
