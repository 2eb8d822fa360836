"""The queues of a store as a tree, with the records that every look-up needs at hand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import trio

from queuefs.errors import QueueNotFound
from queuefs.message import ROOT, Owner, Queue, QueueId

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from queuefs.backend import Backend
    from queuefs.clock import Clock

T = TypeVar("T")

#: How long a record of a store that others share may be out of date, seconds.
SHARED_RECORD_SECONDS = 1.0


class Tree:
    """Finds, makes, moves and removes queues.

    A record is kept after its first use: opening any control file needs its queue's owner, and a trip to the back end
    for it would cost as much as the operation itself. Where other daemons may change the store a record is good for
    `SHARED_RECORD_SECONDS`; elsewhere every change comes through here.

    Answers of the back end that came at one time are dealt with in any order. So what was asked for before a change may
    be looked at after it, and is asked for again then.
    """

    def __init__(self, backend: Backend, clock: Clock, root: Owner) -> None:
        """Look at the queues of *backend*; *root* is the owner of the mount itself."""
        self._backend = backend
        self._clock = clock
        self._root = Queue(id=ROOT, parent=ROOT, name="", owner=root, created_at=clock.now(), config=b"")
        self._records: dict[QueueId, tuple[Queue, float]] = {}
        #: How many changes of records there were.
        self._changes = 0

    async def get(self, queue: QueueId, *, fresh: bool = False) -> Queue:
        """Return the record of *queue*; *fresh* asks the back end for it.

        Raises:
            QueueNotFound: it has been removed.
        """
        if queue == ROOT:
            return self._root
        known = self._records.get(queue)
        if known is not None and not fresh and (not self._backend.traits.shared or trio.current_time() < known[1]):
            return known[0]
        self._records.pop(queue, None)
        return self._keep(await self._ask(lambda: self._backend.get_queue(queue)))

    def known(self, queue: QueueId) -> Queue | None:
        """Return the record of *queue* as it was at its last use, out of date or not; None if there was none."""
        known = self._records.get(queue)
        return None if known is None else known[0]

    async def find(self, parent: QueueId, name: str) -> Queue:
        """Return the child *name* of *parent*.

        Raises:
            QueueNotFound: there is none.
        """
        found = await self._ask(lambda: self._backend.find_queue(parent, name))
        if found is None:
            raise QueueNotFound
        return self._keep(found)

    async def children(self, parent: QueueId) -> Sequence[Queue]:
        """Return the queues directly below *parent*, by name."""
        return [self._keep(queue) for queue in await self._ask(lambda: self._backend.children(parent))]

    async def create(self, parent: QueueId, name: str, owner: Owner) -> Queue:
        """Make the queue *name* below *parent*; errors as of `Backend.create_queue`."""
        return self._keep(await self._backend.create_queue(parent, name, owner=owner, now=self._clock.now()))

    async def remove(self, queue: QueueId) -> None:
        """Remove a queue; errors as of `Backend.remove_queue`."""
        await self._backend.remove_queue(queue)
        self.forget(queue)

    async def rename(self, queue: QueueId, parent: QueueId, name: str) -> None:
        """Move a queue with all below it; errors as of `Backend.rename_queue`."""
        await self._backend.rename_queue(queue, parent=parent, name=name)
        self.forget(queue)

    async def set_owner(self, queue: QueueId, owner: Owner) -> Queue:
        """Change who owns a queue."""
        if queue == ROOT:
            self._root = replace(self._root, owner=owner)
            return self._root
        await self._backend.set_owner(queue, owner)
        self.forget(queue)
        return await self.get(queue)

    async def set_file_owner(self, queue: QueueId, file: str, owner: Owner) -> None:
        """Change who owns one control file or state directory of a queue."""
        await self._backend.set_file_owner(queue, file, owner)
        self.forget(queue)

    def forget(self, queue: QueueId | None) -> None:
        """Let the next use of a record, or of any, ask the back end: it has been changed."""
        self._changes += 1
        if queue is None:
            self._records.clear()
        else:
            self._records.pop(queue, None)

    async def _ask(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Return what *ask* brings, and nothing from before the last change."""
        while True:
            before = self._changes
            answer = await ask()
            if before == self._changes:
                return answer

    def _keep(self, queue: Queue) -> Queue:
        self._records[queue.id] = (queue, trio.current_time() + SHARED_RECORD_SECONDS)
        return queue
