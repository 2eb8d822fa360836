"""The operations on queues. Each checks first and changes then, so that one that is refused has changed nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from queuefs.errors import BadValue, QueueBusy, QueueExists, QueueNotEmpty, QueueNotFound
from queuefs.message import ROOT, Counts, Owner, Queue, QueueId
from queuefs_sqlite.ledger import Account, files_text, queue_of

if TYPE_CHECKING:
    from queuefs_sqlite.store import Store


def find_queue(store: Store, parent: QueueId, name: str) -> Queue | None:
    """See `Backend.find_queue`."""
    row = store.first("find_queue", parent, name)
    return None if row is None else queue_of(row)


def get_queue(store: Store, queue: QueueId) -> Queue:
    """See `Backend.get_queue`."""
    row = store.first("get_queue", queue)
    if row is None:
        raise QueueNotFound
    return queue_of(row)


def children(store: Store, parent: QueueId) -> list[Queue]:
    """See `Backend.children`."""
    return [queue_of(row) for row in store.run("children", parent)]


def create_queue(store: Store, parent: QueueId, name: str, *, owner: Owner, now: float) -> Queue:
    """See `Backend.create_queue`."""
    if parent != ROOT:
        store.ledger.account(parent)
    if find_queue(store, parent, name) is not None:
        raise QueueExists
    account = Account(*(store.ledger.new_box() for _ in range(3)))
    boxes = (account.box, account.dead_box, account.done_box)
    number = store.run("create_queue", parent, name, owner.uid, owner.gid, owner.mode, now, *boxes).lastrowid
    assert number is not None  # it was an INSERT
    queue = Queue(id=QueueId(number), parent=parent, name=name, owner=owner, created_at=float(now), config=b"")
    store.ledger.set_queue(queue)
    store.ledger.set_account(queue.id, account)
    return queue


def remove_queue(store: Store, queue: QueueId) -> None:
    """See `Backend.remove_queue`."""
    account = store.ledger.account(queue)
    if account.pending or account.processing or account.dead or store.first("has_children", queue) is not None:
        raise QueueNotEmpty
    if account.staged:
        raise QueueBusy
    store.archive.write(queue)
    account = store.ledger.account(queue)
    if account.done:
        store.throw_away(account.done_box)
    store.run("remove_queue", queue)
    store.ledger.drop_queue(queue)


def rename_queue(store: Store, queue: QueueId, *, parent: QueueId, name: str) -> None:
    """See `Backend.rename_queue`."""
    old = get_queue(store, queue)
    above = parent
    while above != ROOT:
        if above == queue:
            raise BadValue("a queue can't be moved below itself")
        above = get_queue(store, above).parent
    there = find_queue(store, parent, name)
    if there is not None and there.id != queue:
        raise QueueExists
    store.run("rename_queue", parent, name, queue)
    store.ledger.set_queue(replace(old, parent=parent, name=name))


def set_owner(store: Store, queue: QueueId, owner: Owner) -> None:
    """See `Backend.set_owner`."""
    old = get_queue(store, queue)
    store.run("set_owner", owner.uid, owner.gid, owner.mode, queue)
    store.ledger.set_queue(replace(old, owner=owner))


def set_file_owner(store: Store, queue: QueueId, file: str, owner: Owner) -> None:
    """See `Backend.set_file_owner`."""
    old = get_queue(store, queue)
    files = {**old.files, file: owner}
    store.run("set_files", files_text(files), queue)
    store.ledger.set_queue(replace(old, files=files))


def set_config(store: Store, queue: QueueId, config: bytes, *, expected: bytes) -> bool:
    """See `Backend.set_config`."""
    old = get_queue(store, queue)
    if old.config != expected:
        return False
    store.run("set_config", config, queue)
    store.ledger.set_queue(replace(old, config=config))
    return True


def clear(store: Store, queue: QueueId) -> Counts:
    """See `Backend.clear`. One step whatever the number of messages: the queue gets an empty box."""
    old = store.ledger.account(queue)
    counts = Counts(pending=old.pending, processing=old.processing)
    if counts.unacked:
        box = store.ledger.new_box()
        store.run("set_box", box, queue)
        store.throw_away(old.box)
        account = store.ledger.change(queue)
        account.box = box
        account.pending = account.processing = account.delayed = account.paused = account.unacked_bytes = 0
    return counts


def counts(store: Store, queue: QueueId) -> Counts:
    """See `Backend.counts`."""
    account = store.ledger.account(queue)
    return Counts(pending=account.pending, processing=account.processing)


def unacked_bytes(store: Store, queue: QueueId) -> int:
    """See `Backend.unacked_bytes`."""
    return store.ledger.account(queue).unacked_bytes
