"""What is due when: the leases, delays and times to live of all queues."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuefs.message import MessageId
    from queuefs_memory.rows import Row

    _Entry = tuple[float, MessageId, Row]

#: Entries that are over stay in the heap until there are this many, and more than live ones.
_DEAD_ENTRIES = 64


class Deadlines:
    """The moments of one kind, one for a message.

    One that is over earlier than it said (acked, extended...) stays behind as a dead entry, known by not being its
    message's any more; when the dead outnumber the live ones they are swept out.
    """

    __slots__ = ("_ends", "_heap")

    def __init__(self) -> None:
        """Start with none."""
        self._heap: list[_Entry] = []
        self._ends: dict[MessageId, _Entry] = {}

    def __len__(self) -> int:
        return len(self._ends)

    def start(self, row: Row, at: float) -> None:
        """Note *at* for *row*, in place of what was noted."""
        ends, heap = self._ends, self._heap
        ends[row.id] = entry = (at, row.id, row)
        heapq.heappush(heap, entry)
        if len(heap) > _DEAD_ENTRIES + 2 * len(ends):
            self._heap = list(ends.values())
            heapq.heapify(self._heap)

    def end(self, row: Row) -> bool:
        """Forget what was noted for *row*; say whether there was anything."""
        return self._ends.pop(row.id, None) is not None

    def any_due(self, now: float) -> bool:
        """Say whether something may be due."""
        return bool(self._heap) and self._heap[0][0] <= now

    def pop(self, now: float) -> Row | None:
        """Take out the first that is due."""
        if (first := self._first()) is None or first[0] > now:
            return None
        heapq.heappop(self._heap)
        del self._ends[first[1]]
        return first[2]

    def next_at(self) -> float | None:
        """Return the moment that comes first."""
        return None if (first := self._first()) is None else first[0]

    def look(self, now: float, limit: int) -> tuple[Sequence[Row], float | None]:
        """Return up to *limit* rows that are due, earliest first, and the moment that follows them; they stay."""
        found: list[_Entry] = []
        while (first := self._first()) is not None and first[0] <= now and len(found) < limit:
            found.append(heapq.heappop(self._heap))
        for entry in found:
            heapq.heappush(self._heap, entry)
        return [row for _, _, row in found], None if first is None else first[0]

    def noted(self) -> set[tuple[float, Row]]:
        """Return all moments that will be noticed, with their rows."""
        return {(at, row) for at, _, row in (entry for entry in self._heap if self._ends.get(entry[1]) is entry)}

    def _first(self) -> _Entry | None:
        heap = self._heap
        while heap:
            if self._ends.get(heap[0][1]) is heap[0]:
                return heap[0]
            heapq.heappop(heap)
        return None
