"""What the daemon knows of its queues without asking the file: the tree, and each queue's counters.

The daemon holds the file alone, so what was committed last is true. A batch works on a layer above, which a commit
makes the truth and a rollback drops. The trio thread reads the lower layer, and only when nothing is under way.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from queuefs.errors import QueueNotFound
from queuefs.message import Owner, Queue, QueueId

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


#: The columns of a queue that `queue_of` takes.
QUEUE_COLUMNS = ("qid", "parent", "name", "uid", "gid", "mode", "created_at", "config", "files")


@dataclass(slots=True)
class Account:
    """A queue's counters, and the boxes that its messages lie in."""

    box: int
    dead_box: int
    done_box: int
    pending: int = 0
    processing: int = 0
    staged: int = 0
    #: Of the pending ones, as the last round of upkeep has left them.
    delayed: int = 0
    paused: int = 0
    dead: int = 0
    unacked_bytes: int = 0
    staged_bytes: int = 0
    #: Records in the file, those included that nobody is shown any more.
    done: int = 0
    #: What it was last told to keep of them,
    keep_records: int = 0
    keep_seconds: float = 0.0
    #: and a time before which none of them finished.
    done_since: float = 0.0
    enqueued: int = 0
    dequeued: int = 0
    acked: int = 0
    nacked: int = 0
    expired: int = 0
    buried: int = 0


#: The columns of `Account`, boxes first.
ACCOUNT_COLUMNS = tuple(field.name for field in fields(Account))

#: Those that are no boxes.
COUNTERS = ACCOUNT_COLUMNS[3:]

#: Returns an account's counters in that order.
counters_of = attrgetter(*COUNTERS)


class Ledger:
    """The queues of a store."""

    def __init__(self, rows: Iterable[Sequence[Any]], *, last_box: int, last_id: int) -> None:
        """Start from the rows of ``all_queues``."""
        self._accounts: dict[int, Account] = {}
        self._queues: dict[int, Queue] = {}
        self._names: dict[int, dict[str, int]] = {}
        for row in rows:
            queue = queue_of(row[: len(QUEUE_COLUMNS)])
            self._accounts[queue.id] = Account(*row[len(QUEUE_COLUMNS) :])
            self._list(queue)
        self._new_accounts: dict[int, Account | None] = {}
        self._new_queues: dict[int, Queue | None] = {}
        self._unacked = sum(_unacked(account) for account in self._accounts.values())
        self._last_box = last_box
        #: The highest message id given so far; never lowered, for an id that was rolled back is known to nobody.
        self.last_id = last_id
        #: The highest id whose `stage` was committed.
        self.known_id = last_id

    # In a batch ---------------------------------------------------------------------------------------------------

    def account(self, queue: QueueId) -> Account:
        """Return a queue's counters as the batch has left them so far, for a look.

        Raises:
            QueueNotFound: there is no such queue.
        """
        account = self._new_accounts[queue] if queue in self._new_accounts else self._accounts.get(queue)
        if account is None:
            raise QueueNotFound
        return account

    def has(self, queue: QueueId) -> bool:
        """Whether there is such a queue, as the batch has left it so far."""
        return self._new_accounts.get(queue, self._accounts.get(queue)) is not None

    def agrees(self, queue: QueueId, account: Account) -> bool:
        """Whether these are the counters as the batch has left them so far."""
        return self._new_accounts.get(queue, self._accounts.get(queue)) == account

    def new_box(self) -> int:
        """Return the number of a box that nothing lies in."""
        self._last_box += 1
        return self._last_box

    def set_account(self, queue: QueueId, account: Account) -> None:
        """Note the counters of a new queue."""
        self._new_accounts[queue] = account

    def change(self, queue: QueueId) -> Account:
        """Return a queue's counters to be changed in place; they are this batch's own.

        Raises:
            QueueNotFound: there is no such queue.
        """
        account = self._new_accounts.get(queue)
        if account is None:
            account = replace(self.account(queue))
            self._new_accounts[queue] = account
        return account

    def set_queue(self, queue: Queue) -> None:
        """Note a queue that is new, or that has another name, owner or config."""
        self._new_queues[queue.id] = queue

    def drop_queue(self, queue: QueueId) -> None:
        """Note that a queue is gone."""
        self._new_queues[queue] = None
        self._new_accounts[queue] = None

    def unacked(self) -> int:
        """Return how many messages are unacknowledged in all queues, as the batch has left them so far."""
        new = self._new_accounts.items()
        return self._unacked + sum(_unacked(account) - _unacked(self._accounts.get(queue)) for queue, account in new)

    def accounts(self) -> Iterator[tuple[QueueId, Account]]:
        """Return all queues with their counters as the batch has left them so far, for a look."""
        for number, account in (self._accounts | self._new_accounts).items():
            if account is not None:
                yield QueueId(number), account

    def changed(self) -> Iterator[tuple[int, Account]]:
        """Return the queues whose counters the batch has changed."""
        for queue, account in self._new_accounts.items():
            if account is not None and account != self._accounts.get(queue):
                yield queue, account

    def keep(self) -> None:
        """Make the batch's changes the truth: they are committed."""
        self._unacked = self.unacked()
        for number, account in self._new_accounts.items():
            if account is None:
                self._accounts.pop(number, None)
            else:
                self._accounts[number] = account
        for number in self._new_queues:  # all old names go before the first new one comes: two may have been swapped
            self._unlist(number)
        for queue in self._new_queues.values():
            if queue is not None:
                self._list(queue)
        self.known_id = self.last_id
        self.forget()

    def forget(self) -> None:
        """Drop the batch's changes: they were rolled back."""
        self._new_accounts.clear()
        self._new_queues.clear()

    def _list(self, queue: Queue) -> None:
        self._queues[queue.id] = queue
        self._names.setdefault(queue.parent, {})[queue.name] = queue.id

    def _unlist(self, number: int) -> None:
        old = self._queues.pop(number, None)
        if old is not None:
            names = self._names[old.parent]
            del names[old.name]
            if not names:
                del self._names[old.parent]

    # On the trio thread, and only when nothing is under way ---------------------------------------------------------

    def committed(self, queue: QueueId) -> Account | None:
        """Return a queue's counters as they were committed."""
        return self._accounts.get(queue)

    def find(self, parent: QueueId, name: str) -> Queue | None:
        """Return the child of that name."""
        number = self._names.get(parent, {}).get(name)
        return None if number is None else self._queues[number]

    def get(self, queue: QueueId) -> Queue | None:
        """Return a queue by its number."""
        return self._queues.get(queue)

    def children(self, parent: QueueId) -> list[Queue]:
        """Return the queues directly below one, by name."""
        # UTF-8 keeps the order of code points, so this is SQLite's order too.
        return [self._queues[number] for _name, number in sorted(self._names.get(parent, {}).items())]


def queue_of(row: Sequence[Any]) -> Queue:
    """Return the queue of a row of its columns."""
    qid, parent, name, uid, gid, mode, created_at, config, files = row
    return Queue(
        id=QueueId(qid),
        parent=QueueId(parent),
        name=name,
        owner=Owner(uid=uid, gid=gid, mode=mode),
        created_at=created_at,
        config=config,
        files={name: Owner(uid=uid, gid=gid, mode=mode) for name, (uid, gid, mode) in json.loads(files).items()},
    )


def files_text(files: Mapping[str, Owner]) -> str:
    """Return the owners of single files as the column has them."""
    return json.dumps({name: [owner.uid, owner.gid, owner.mode] for name, owner in files.items()})


def _unacked(account: Account | None) -> int:
    return 0 if account is None else account.pending + account.processing
