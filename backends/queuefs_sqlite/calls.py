"""Hands operations over to the writer thread; what memory can answer at once is answered at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from queuefs.backend import Traits
from queuefs_sqlite.pieces import Piece

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

    from queuefs.groupcommit import GroupCommit
    from queuefs.message import QueueId
    from queuefs_sqlite.engine import Engine
    from queuefs_sqlite.ledger import Account
    from queuefs_sqlite.store import Store

#: What the operations that change the tree wait for, as those on a queue do for its number.
TREE = "tree"


class Calls:
    """The way to the writer thread."""

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
        if self._is_settled(queue) and self._is_settled(TREE):
            return self._engine.store.ledger.committed(queue)
        return None
