"""The records of one queue: what is kept of its messages that are done, and for how long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs.message import Retention
from queuefs_memory.shelf import MAX_NEWS, Shelf

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from queuefs.message import Ended, MessageId, Record


class Records:
    """Records by id and by time, no more than was said last, but for a few that are not looked at."""

    __slots__ = ("_by_id", "_ended", "_gone", "keep")

    def __init__(self) -> None:
        """Start with none, and keep none."""
        #: What was said last.
        self.keep = Retention(records=0, seconds=0.0)
        self._by_id: dict[MessageId, Record] = {}
        self._ended: Shelf[Ended] = Shelf(self._alive)
        #: Those whose records were dropped since the last tick.
        self._gone: list[MessageId] = []

    def __len__(self) -> int:
        return min(len(self._by_id), self.keep.records)

    def add(self, record: Record) -> None:
        """Keep *record*, which takes the place of one of its id."""
        if self.keep.records <= 0 or self.keep.seconds <= 0:
            return
        self._by_id[record.id] = record
        self._ended.add(record.ended)
        if len(self._by_id) > 2 * self.keep.records + MAX_NEWS:
            self._drop_more()

    def page(self, after: Ended | None, limit: int, now: float) -> Sequence[Record]:
        """Return those behind *after*, the latest first."""
        self._drop_more()
        found = [self._by_id[key.id] for key in self._ended.page_back(after, limit)]
        return [record for record in found if self._shown(record, now)]

    def find(self, message: MessageId, now: float) -> Record | None:
        """Return the record of *message*."""
        self._drop_more()
        found = self._by_id.get(message)
        return found if found is not None and self._shown(found, now) else None

    def prune(self, message: MessageId) -> bool:
        """Remove a record; say whether there was one."""
        self._drop_more()
        return self._by_id.pop(message, None) is not None

    def all(self) -> Sequence[MessageId]:
        """Return the ids of all records."""
        self._drop_more()
        return sorted(self._by_id)

    def drop(self, now: float, limit: int) -> Sequence[MessageId]:
        """Drop those whose time is over at *now*, and return up to *limit* that were dropped since they were last."""
        self._drop_more()
        while len(self._gone) < limit and (first := self._first()) is not None and not self._shown(first, now):
            self._drop(first)
        gone, self._gone = self._gone[:limit], self._gone[limit:]
        return gone

    def next_at(self) -> float | None:
        """Return the moment at which `drop` has something to do."""
        if self._gone:
            return float("-inf")
        return None if (first := self._first()) is None else first.finished_at + self.keep.seconds

    def disagreements(self) -> dict[str, bool]:
        """Say of each thing that has to be whether it is."""
        self._drop_more()
        return {
            "has a record under another id": all(record.id == message for message, record in self._by_id.items()),
            "has records that are not shown": {record.ended for record in self._by_id.values()}
            == set(self._ended.page(None, len(self._by_id) + 1)),
        }

    def _shown(self, record: Record, now: float) -> bool:
        return record.finished_at + self.keep.seconds > now

    def _drop_more(self) -> None:
        """Drop those that are more than was said."""
        for key in self._ended.page(None, len(self._by_id) - self.keep.records):
            self._drop(self._by_id[key.id])

    def _drop(self, record: Record) -> None:
        del self._by_id[record.id]
        self._gone.append(record.id)

    def _first(self) -> Record | None:
        keys = self._ended.page(None, 1)
        return self._by_id[keys[0].id] if keys else None

    def _alive(self, keys: Iterable[Ended]) -> list[Ended]:
        get = self._by_id.get
        return [key for key in keys if (record := get(key.id)) is not None and record.finished_at == key.finished_at]
