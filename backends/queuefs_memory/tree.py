"""The tree of queues."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from queuefs.errors import BadValue, QueueBusy, QueueExists, QueueNotEmpty
from queuefs.message import ROOT, Owner, Queue, QueueId
from queuefs.ticket import at_once
from queuefs_memory.rows import QueueRow
from queuefs_memory.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence


class Tree(Store):
    """`find_queue` to `set_config`."""

    @at_once
    def find_queue(self, parent: QueueId, name: str) -> Queue | None:
        """Return the child *name* of *parent*."""
        found = self._children(parent).get(name)
        return None if found is None else found.queue

    @at_once
    def get_queue(self, queue: QueueId) -> Queue:
        """Return a queue by its number."""
        return self._queue(queue).queue

    @at_once
    def children(self, parent: QueueId) -> Sequence[Queue]:
        """Return the queues directly below *parent*; code point order is the order of the names' UTF-8 bytes."""
        return [row.queue for _, row in sorted(self._children(parent).items())]

    @at_once
    def create_queue(self, parent: QueueId, name: str, *, owner: Owner, now: float) -> Queue:
        """Create an empty queue."""
        siblings = self._place(parent)
        if name in siblings:
            raise QueueExists(f"there is a queue {name!r} already")
        self._last_queue += 1
        number = QueueId(self._last_queue)
        queue = Queue(id=number, parent=parent, name=name, owner=owner, created_at=now, config=b"")
        siblings[name] = self._queues[number] = QueueRow(queue)
        return queue

    @at_once
    def remove_queue(self, queue: QueueId) -> None:
        """Remove a queue that is empty."""
        row = self._queue(queue)
        if row.children or row.messages or row.dead:
            raise QueueNotEmpty
        if row.staged:
            raise QueueBusy
        del self._children(row.queue.parent)[row.queue.name]
        del self._queues[queue]
        self._ripe.pop(queue, None)

    @at_once
    def rename_queue(self, queue: QueueId, *, parent: QueueId, name: str) -> None:
        """Give a queue another place and name."""
        row = self._queue(queue)
        siblings = self._place(parent)
        above = parent
        while above != ROOT:
            if above == queue:
                raise BadValue("a queue can't be moved into itself")
            above = self._queues[above].queue.parent
        if siblings.get(name, row) is not row:
            raise QueueExists(f"there is a queue {name!r} already")
        del self._children(row.queue.parent)[row.queue.name]
        row.queue = replace(row.queue, parent=parent, name=name)
        siblings[name] = row

    @at_once
    def set_owner(self, queue: QueueId, owner: Owner) -> None:
        """Change who owns a queue."""
        row = self._queue(queue)
        row.queue = replace(row.queue, owner=owner)

    @at_once
    def set_file_owner(self, queue: QueueId, file: str, owner: Owner) -> None:
        """Change who owns one file of a queue."""
        row = self._queue(queue)
        row.queue = replace(row.queue, files={**row.queue.files, file: owner})

    @at_once
    def set_config(self, queue: QueueId, config: bytes, *, expected: bytes) -> bool:
        """Replace the config if it is still *expected*."""
        row = self._queue(queue)
        if row.queue.config != expected:
            return False
        row.queue = replace(row.queue, config=config)
        return True
