"""The contract, handed over to the writer thread; what memory can answer at once is answered at once."""

from __future__ import annotations

from contextlib import ExitStack, asynccontextmanager
from functools import partial as bind
from typing import TYPE_CHECKING, Any

import trio

from queuefs.backend import Traits
from queuefs.groupcommit import GroupCommit
from queuefs.message import Counts, Queue
from queuefs.ticket import Answer
from queuefs_sqlite import audit, naming, reading, settling, tree, upkeep, writing
from queuefs_sqlite.engine import Engine, Piece
from queuefs_sqlite.location import Location
from queuefs_sqlite.opening import opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence

    from queuefs.backend import Backend, Settled, Tick, Transition
    from queuefs.clock import ClockMark
    from queuefs.message import Draft, Message, MessageId, Owner, QueueId, Ref, Room, Stats, Verdict
    from queuefs_sqlite.ledger import Account
    from queuefs_sqlite.store import Store

#: What the operations that change the tree wait for, as those on a queue do for its number.
_TREE = "tree"


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


class SQLiteBackend:
    """A store in one SQLite file."""

    def __init__(self, engine: Engine, line: GroupCommit[Piece]) -> None:
        """Hand operations to *engine* through *line*."""
        self.traits = Traits(durable=True, shared=False, instant=False, server_time=False)
        self._engine = engine
        self._line = line
        self._submitted = 0
        #: For each queue, and the tree, how many pieces had been submitted with the last one that changes it.
        self._changed: dict[Hashable, int] = {}

    # Handing over -------------------------------------------------------------------------------------------------

    def _submit(self, piece: Piece, *, changes: Hashable = None) -> Awaitable[Any]:
        self._submitted += 1
        if piece.writes:
            self._changed[changes] = self._submitted
        return self._line.submit(piece)

    def _write(self, changes: Hashable, act: Callable[[Store], Any]) -> Awaitable[Any]:
        return self._submit(Piece(act, writes=True), changes=changes)

    def _grow(self, changes: Hashable, act: Callable[[Store], Any], *, weight: int = 0) -> Awaitable[Any]:
        return self._submit(Piece(act, writes=True, grows=True, weight=weight), changes=changes)

    def _look(self, act: Callable[[Store], Any]) -> Awaitable[Any]:
        return self._submit(Piece(act, writes=False))

    def _is_settled(self, what: Hashable) -> bool:
        """Whether memory is what the file is, and nothing that was called before could change it."""
        done = self._engine.done  # read first: what is done by then is in the ledger
        if not self._engine.is_well:
            return False
        if done == self._submitted:
            self._changed.clear()
            return True
        # None: changes that may touch any queue.
        return max(self._changed.get(what, 0), self._changed.get(None, 0)) <= done

    def _account(self, queue: QueueId) -> Account | None:
        """Return a queue's counters if memory has them for certain; else the writer thread has the answer or error."""
        if self._is_settled(queue) and self._is_settled(_TREE):
            return self._engine.store.ledger.committed(queue)
        return None

    # Queues -------------------------------------------------------------------------------------------------------

    def find_queue(self, parent: QueueId, name: str) -> Awaitable[Queue | None]:
        """See `Backend.find_queue`."""
        if self._is_settled(_TREE):
            return Answer(self._engine.store.ledger.find(parent, name))
        return self._look(lambda store: tree.find_queue(store, parent, name))

    def get_queue(self, queue: QueueId) -> Awaitable[Queue]:
        """See `Backend.get_queue`."""
        found = self._engine.store.ledger.get(queue) if self._is_settled(_TREE) else None
        if found is not None:
            return Answer(found)
        return self._look(lambda store: tree.get_queue(store, queue))

    def children(self, parent: QueueId) -> Awaitable[Sequence[Queue]]:
        """See `Backend.children`."""
        if self._is_settled(_TREE):
            return Answer(self._engine.store.ledger.children(parent))
        return self._look(lambda store: tree.children(store, parent))

    def create_queue(self, parent: QueueId, name: str, *, owner: Owner, now: float) -> Awaitable[Queue]:
        """See `Backend.create_queue`."""
        return self._grow(_TREE, lambda store: tree.create_queue(store, parent, name, owner=owner, now=now))

    def remove_queue(self, queue: QueueId) -> Awaitable[None]:
        """See `Backend.remove_queue`."""
        return self._write(_TREE, lambda store: tree.remove_queue(store, queue))

    def rename_queue(self, queue: QueueId, *, parent: QueueId, name: str) -> Awaitable[None]:
        """See `Backend.rename_queue`."""
        return self._write(_TREE, lambda store: tree.rename_queue(store, queue, parent=parent, name=name))

    def set_owner(self, queue: QueueId, owner: Owner) -> Awaitable[None]:
        """See `Backend.set_owner`."""
        return self._write(_TREE, lambda store: tree.set_owner(store, queue, owner))

    def set_config(self, queue: QueueId, config: bytes, *, expected: bytes) -> Awaitable[bool]:
        """See `Backend.set_config`."""
        return self._write(_TREE, lambda store: tree.set_config(store, queue, config, expected=expected))

    # Writing ------------------------------------------------------------------------------------------------------

    def stage(
        self, queue: QueueId, data: bytes, *, draft: Draft, room: Room, partial: bool, now: float
    ) -> Awaitable[MessageId]:
        """See `Backend.stage`."""
        act = bind(writing.stage, queue=queue, data=data, draft=draft, room=room, partial=partial, now=now)
        return self._grow(queue, act, weight=len(data) + len(draft.extra))

    def append(
        self, queue: QueueId, message: MessageId, data: bytes, *, offset: int, partial: bool, room: Room
    ) -> Awaitable[None]:
        """See `Backend.append`."""
        act = bind(writing.append, queue=queue, message=message, data=data, offset=offset, partial=partial, room=room)
        return self._grow(queue, act, weight=len(data)) if data else self._write(queue, act)

    def publish(self, queue: QueueId, message: MessageId, *, now: float, window: float) -> Awaitable[MessageId]:
        """See `Backend.publish`."""
        return self._write(queue, lambda store: writing.publish(store, queue, message, now=now, window=window))

    def find_key(self, queue: QueueId, key: str, *, now: float, window: float) -> Awaitable[MessageId | None]:
        """See `Backend.find_key`."""
        return self._look(lambda store: writing.find_key(store, queue, key, now=now, window=window))

    def discard(self, queue: QueueId, message: MessageId) -> Awaitable[None]:
        """See `Backend.discard`."""
        return self._write(queue, lambda store: writing.discard(store, queue, message))

    # Reading and settling -------------------------------------------------------------------------------------------

    def claim(
        self, queue: QueueId, *, count: int, lease: float, lifo: bool, now: float
    ) -> Awaitable[Sequence[Message]]:
        """See `Backend.claim`."""
        account = self._account(queue)
        if account is not None and account.pending == account.paused:
            return Answer(())  # what a polling consumer meets most of the time
        return self._write(queue, bind(reading.claim, queue=queue, count=count, lease=lease, lifo=lifo, now=now))

    def undo(self, queue: QueueId, refs: Sequence[Ref]) -> Awaitable[Sequence[Settled]]:
        """See `Backend.undo`."""
        return self._write(queue, lambda store: settling.undo(store, queue, refs))

    def ack(self, queue: QueueId, refs: Sequence[Ref]) -> Awaitable[Sequence[Settled]]:
        """See `Backend.ack`."""
        return self._write(queue, lambda store: settling.ack(store, queue, refs))

    def nack(self, queue: QueueId, verdicts: Sequence[Verdict], *, now: float) -> Awaitable[Sequence[Settled]]:
        """See `Backend.nack`."""
        return self._write(queue, lambda store: settling.nack(store, queue, verdicts, now=now))

    def expire(self, queue: QueueId, verdicts: Sequence[Verdict], *, now: float) -> Awaitable[Sequence[Settled]]:
        """See `Backend.expire`."""
        return self._write(queue, lambda store: settling.expire(store, queue, verdicts, now=now))

    def extend(self, queue: QueueId, refs: Sequence[Ref], *, lease: float, now: float) -> Awaitable[Sequence[Settled]]:
        """See `Backend.extend`."""
        return self._write(queue, lambda store: settling.extend(store, queue, refs, lease=lease, now=now))

    def check(self, queue: QueueId, refs: Sequence[Ref]) -> Awaitable[Sequence[Settled]]:
        """See `Backend.check`."""
        return self._look(lambda store: settling.check(store, queue, refs))

    def clear(self, queue: QueueId) -> Awaitable[Counts]:
        """See `Backend.clear`."""
        return self._write(queue, lambda store: tree.clear(store, queue))

    # By name --------------------------------------------------------------------------------------------------------

    def pause(self, queue: QueueId, messages: Sequence[MessageId]) -> Awaitable[Sequence[Settled]]:
        """See `Backend.pause`."""
        return self._write(queue, lambda store: naming.pause(store, queue, messages))

    def resume(self, queue: QueueId, messages: Sequence[MessageId]) -> Awaitable[Sequence[Settled]]:
        """See `Backend.resume`."""
        return self._write(queue, lambda store: naming.resume(store, queue, messages))

    def cancel(self, queue: QueueId, messages: Sequence[MessageId]) -> Awaitable[Sequence[Settled]]:
        """See `Backend.cancel`."""
        return self._write(queue, lambda store: naming.cancel(store, queue, messages))

    def retry(
        self,
        queue: QueueId,
        messages: Sequence[MessageId] | None,
        *,
        now: float,  # noqa: ARG002 - the contract's; nothing is due later
    ) -> Awaitable[Sequence[Settled]]:
        """See `Backend.retry`."""
        return self._write(queue, lambda store: naming.retry(store, queue, messages))

    def drop(self, queue: QueueId, messages: Sequence[MessageId] | None) -> Awaitable[Sequence[Settled]]:
        """See `Backend.drop`."""
        return self._write(queue, lambda store: naming.drop(store, queue, messages))

    # Looking --------------------------------------------------------------------------------------------------------

    def counts(self, queue: QueueId) -> Awaitable[Counts]:
        """See `Backend.counts`."""
        account = self._account(queue)
        if account is not None:
            return Answer(Counts(pending=account.pending, processing=account.processing))
        return self._look(lambda store: tree.counts(store, queue))

    def peek(self, queue: QueueId, *, count: int, lifo: bool, now: float) -> Awaitable[Sequence[Message]]:
        """See `Backend.peek`."""
        return self._look(lambda store: reading.peek(store, queue, count=count, lifo=lifo, now=now))

    def unacked_bytes(self, queue: QueueId) -> Awaitable[int]:
        """See `Backend.unacked_bytes`."""
        account = self._account(queue)
        if account is not None:
            return Answer(account.unacked_bytes)
        return self._look(lambda store: tree.unacked_bytes(store, queue))

    def snapshot(self, queue: QueueId) -> Awaitable[Sequence[Message]]:
        """See `Backend.snapshot`."""
        return self._look(lambda store: reading.snapshot(store, queue))

    def dead(self, queue: QueueId) -> Awaitable[Sequence[Message]]:
        """See `Backend.dead`."""
        return self._look(lambda store: reading.dead(store, queue))

    def find(self, queue: QueueId, messages: Sequence[MessageId]) -> Awaitable[Sequence[Message | None]]:
        """See `Backend.find`."""
        return self._look(lambda store: reading.find(store, queue, messages))

    def payloads(self, queue: QueueId, messages: Sequence[MessageId]) -> Awaitable[Sequence[bytes | None]]:
        """See `Backend.payloads`."""
        return self._look(lambda store: reading.payloads(store, queue, messages))

    def stats(self, queue: QueueId) -> Awaitable[Stats]:
        """See `Backend.stats`."""
        return self._look(lambda store: reading.stats(store, queue))

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

    def audit(self) -> Awaitable[Sequence[str]]:
        """See `Backend.audit`."""
        return self._look(audit.audit)
