"""The messages of one queue that can be handed out, in the order in which they will be."""

from __future__ import annotations

import heapq
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from queuefs_memory.rows import Row

#: Entries of messages that left the line stay until there are this many, and more than half of all.
_STALE = 64


class Line:
    """Messages that can be handed out, in the order of their places.

    Nearly all come in order: they stand in a deque, which is several times as quick as a heap. Whoever belongs between
    its two ends goes to a heap, and the first is the lower of both heads. A message that leaves otherwise than from the
    front (paused, cancelled...) leaves its entry behind, which is passed over, and good again if the message is back;
    one that has stood in another line meanwhile has a second entry, and whichever comes first is good.
    """

    __slots__ = ("_in_order", "_last", "_others", "_stale", "lifo")

    def __init__(self) -> None:
        """Start empty, first in first out."""
        self._in_order: deque[Row] = deque()
        #: The place of its last.
        self._last = 0
        self._others: list[tuple[int, Row]] = []
        self._stale = 0
        #: Among equal priorities the last is the first.
        self.lifo = False

    def add(self, row: Row) -> None:
        """Put *row* at its place."""
        row.ready = True
        if row.line is self:
            self._stale -= 1
            return
        row.line = self
        place = _rank_backwards(row) if self.lifo else row.rank
        line = self._in_order
        if not line or self._last < place:
            line.append(row)
            self._last = place
        elif place < self._place(line[0]):
            line.appendleft(row)
        else:
            heapq.heappush(self._others, (place, row))

    def pop(self) -> Row | None:
        """Take the first out; None if there is none."""
        line, others = self._in_order, self._others
        while line or others:
            if others and (not line or others[0][0] < self._place(line[0])):
                row = heapq.heappop(others)[1]
            else:
                row = line.popleft()
            if row.line is self:
                row.line = None
                if row.ready:
                    row.ready = False
                    return row
            self._stale -= 1
        return None

    def drop(self, row: Row) -> None:
        """Let *row*, wherever it stands, be handed out no more."""
        row.ready = False
        self._stale += 1
        if self._stale > _STALE and 2 * self._stale > len(self._in_order) + len(self._others):
            self._build()

    def turn(self, *, lifo: bool) -> None:
        """Hand out in this order from now on."""
        self.lifo = lifo
        self._build()

    def rows(self) -> set[Row]:
        """Return all, in no order."""
        return {row for row in (*self._in_order, *(row for _, row in self._others)) if row.line is self and row.ready}

    def _build(self) -> None:
        """Make the line anew, without what has left it."""
        rows = self.rows()
        for row in (*self._in_order, *(row for _, row in self._others)):
            if row.line is self:
                row.line = None
        self._in_order.clear()
        self._others.clear()
        self._stale = 0
        for row in sorted(rows, key=self._place):
            self.add(row)

    def _place(self, row: Row) -> int:
        """Return what is lower for whoever is handed out first."""
        return _rank_backwards(row) if self.lifo else row.rank


def _rank_backwards(row: Row) -> int:
    """Return a rank by which of equal priorities the last is the first."""
    return row.rank - 2 * row.id
