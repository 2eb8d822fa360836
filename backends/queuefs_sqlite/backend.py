"""The contract as one class: what is about queues and the store itself, beside what is about messages."""

from __future__ import annotations

from contextlib import ExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import trio

from queuefs.groupcommit import GroupCommit
from queuefs.ticket import Answer
from queuefs_sqlite import checks, inspection, tree, upkeep
from queuefs_sqlite.calls import TREE
from queuefs_sqlite.location import Location
from queuefs_sqlite.looks import Looks
from queuefs_sqlite.opening import opened
from queuefs_sqlite.verbs import Verbs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from queuefs.backend import Backend, Tick, Transition
    from queuefs.clock import ClockMark
    from queuefs.message import MessageId, Owner, Queue, QueueId, Space


@asynccontextmanager
async def open_backend(url: str) -> AsyncIterator[Backend]:
    """Open the store at ``sqlite:///absolute/path.db``; made if missing.

    Raises:
        StoreUnusable: with one sentence; the database file, if there is one, is as it was.
        StoreInUse: another daemon has it open.
    """
    location = Location.parse(url)
    with ExitStack() as resources:
        engine = await trio.to_thread.run_sync(resources.enter_context, opened(location))
        line = GroupCommit(engine.run, name="queuefs-sqlite")
        try:
            async with line.open():
                yield SQLiteBackend(engine, line)
        finally:
            with trio.CancelScope(shield=True):  # it waits for the disk, which takes its time and then ends
                await trio.to_thread.run_sync(resources.close)


class SQLiteBackend(Verbs, Looks):
    """A store in one SQLite file."""

    # Queues -------------------------------------------------------------------------------------------------------

    def find_queue(self, parent: QueueId, name: str) -> Awaitable[Queue | None]:
        """See `Backend.find_queue`."""
        if self._is_settled(TREE):
            return Answer(self._engine.store.ledger.find(parent, name))
        return self._look(lambda store: tree.find_queue(store, parent, name))

    def get_queue(self, queue: QueueId) -> Awaitable[Queue]:
        """See `Backend.get_queue`."""
        found = self._engine.store.ledger.get(queue) if self._is_settled(TREE) else None
        if found is not None:
            return Answer(found)
        return self._look(lambda store: tree.get_queue(store, queue))

    def children(self, parent: QueueId) -> Awaitable[Sequence[Queue]]:
        """See `Backend.children`."""
        if self._is_settled(TREE):
            return Answer(self._engine.store.ledger.children(parent))
        return self._look(lambda store: tree.children(store, parent))

    def create_queue(self, parent: QueueId, name: str, *, owner: Owner, now: float) -> Awaitable[Queue]:
        """See `Backend.create_queue`."""
        return self._grow(TREE, lambda store: tree.create_queue(store, parent, name, owner=owner, now=now))

    def remove_queue(self, queue: QueueId) -> Awaitable[None]:
        """See `Backend.remove_queue`."""
        return self._write(TREE, lambda store: tree.remove_queue(store, queue))

    def rename_queue(self, queue: QueueId, *, parent: QueueId, name: str) -> Awaitable[None]:
        """See `Backend.rename_queue`."""
        return self._write(TREE, lambda store: tree.rename_queue(store, queue, parent=parent, name=name))

    def set_owner(self, queue: QueueId, owner: Owner) -> Awaitable[None]:
        """See `Backend.set_owner`."""
        return self._write(TREE, lambda store: tree.set_owner(store, queue, owner))

    def set_file_owner(self, queue: QueueId, file: str, owner: Owner) -> Awaitable[None]:
        """See `Backend.set_file_owner`."""
        return self._write(TREE, lambda store: tree.set_file_owner(store, queue, file, owner))

    def set_config(self, queue: QueueId, config: bytes, *, expected: bytes) -> Awaitable[bool]:
        """See `Backend.set_config`."""
        return self._write(TREE, lambda store: tree.set_config(store, queue, config, expected=expected))

    # Upkeep ---------------------------------------------------------------------------------------------------------

    def tick(self, *, now: float, limit: int) -> Awaitable[Tick]:
        """See `Backend.tick`."""
        return self._write(None, lambda store: upkeep.tick(store, now=now, limit=limit))

    def listen(self, heard: Callable[[Sequence[Transition]], None]) -> None:
        """See `Backend.listen`. There is nobody to hear."""

    def load_clock(self) -> Awaitable[ClockMark | None]:
        """See `Backend.load_clock`."""
        return self._look(upkeep.load_clock)

    def save_clock(self, mark: ClockMark) -> Awaitable[None]:
        """See `Backend.save_clock`."""
        return self._write(None, lambda store: upkeep.save_clock(store, mark))

    def space(self) -> Awaitable[Space]:
        """See `Backend.space`."""
        return self._look(lambda store: upkeep.space(store, self._engine.path))

    def last_id(self) -> Awaitable[MessageId | None]:
        """See `Backend.last_id`."""
        return self._look(upkeep.last_id)

    def audit(self) -> Awaitable[Sequence[str]]:
        """See `Backend.audit`."""
        return inspection.audit(self._engine, self._look(checks.memory))

    def repair(self) -> Awaitable[Sequence[str]]:
        """See `Backend.repair`."""
        return inspection.repair(self._engine, self._look(checks.memory), lambda step: self._write(None, step))
