"""The table of `queuefs top` as a value: rows that are looked at again and again, their order, the selection."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from queuefs.view.queues import Look

#: Moments of a row that are kept for its sparklines.
MOMENTS = 40

#: Between two looks for a rate lie at least so many seconds.
_LEAST_SECONDS = 0.05


class Order(StrEnum):
    """By what rows are sorted."""

    NAME = "name"
    PENDING = "pending"
    PROCESSING = "processing"
    DEAD = "dead"
    OLDEST = "oldest"
    IN = "in"
    OUT = "out"


class Sample(NamedTuple):
    """One look at a queue."""

    #: Seconds on the monotonic clock.
    at: float
    look: Look
    #: None where that was not looked at: the row is not shown.
    paused: bool | None


@dataclass(slots=True)
class Row:
    """A queue."""

    path: str
    name: str
    sample: Sample | None = None
    paused: bool = False
    #: Messages a second that came, and that were done; None as long as that is not known.
    rate_in: float | None = None
    rate_out: float | None = None
    depths: deque[float] = field(default_factory=lambda: deque(maxlen=MOMENTS))
    rates: deque[float] = field(default_factory=lambda: deque(maxlen=MOMENTS))

    def take(self, sample: Sample, *, patience: float) -> None:
        """Take a look; if the one before is more than *patience* seconds ago, the sparklines begin anew."""
        before, self.sample = self.sample, sample
        elapsed = sample.at - before.at if before else 0.0
        if before is None or elapsed >= _LEAST_SECONDS:
            self.rate_in, self.rate_out = _rates(before, sample, elapsed)
        if sample.paused is None:
            return
        self.paused = sample.paused
        if elapsed > patience:
            self.depths.clear()
            self.rates.clear()
        self.depths.append(sample.look.pending + sample.look.processing)
        self.rates.append(self.rate_out or 0.0)


def _rates(before: Sample | None, now: Sample, elapsed: float) -> tuple[float | None, float | None]:
    """Return what came and what was done a second; None if that can't be told, as when another store is mounted."""
    if before is None:
        return None, None
    came, done = now.look.enqueued - before.look.enqueued, now.look.acked - before.look.acked
    return (came / elapsed, done / elapsed) if came >= 0 and done >= 0 else (None, None)


_BY: Mapping[Order, Callable[[Row], float | None]] = {
    Order.PENDING: lambda row: row.sample and row.sample.look.pending,
    Order.PROCESSING: lambda row: row.sample and row.sample.look.processing,
    Order.DEAD: lambda row: row.sample and row.sample.look.dead,
    Order.OLDEST: lambda row: row.sample and row.sample.look.oldest,
    Order.IN: lambda row: row.rate_in,
    Order.OUT: lambda row: row.rate_out,
}


class Board:
    """All rows, in order, and the part of them that is shown."""

    def __init__(self) -> None:
        """Begin without rows."""
        self.order = Order.NAME
        #: Rows that have room on the screen.
        self.room = 1
        self.rows: list[Row] = []
        self._by_path: dict[str, Row] = {}
        self._selected: str | None = None
        self._cursor = 0
        self._first = 0

    def row(self, path: str) -> Row | None:
        """Return the row of a queue."""
        return self._by_path.get(path)

    @property
    def selected(self) -> Row | None:
        """The row that keys act on."""
        return self.rows[self._cursor] if self.rows else None

    @property
    def shown(self) -> list[Row]:
        """The rows that have room, the selected one among them."""
        return self.rows[self._first : self._first + self.room]

    def keep(self, names: Mapping[str, str]) -> None:
        """Have a row for each of *names*, by path, and no other."""
        for path in self._by_path.keys() - names.keys():
            del self._by_path[path]
        for path, name in names.items():
            if path not in self._by_path:
                self._by_path[path] = Row(path, name)

    def take(self, samples: Mapping[str, Sample], *, patience: float) -> None:
        """Take looks at queues, by path; those of queues without a row are of no use any more."""
        for path, sample in samples.items():
            row = self._by_path.get(path)
            if row is not None:
                row.take(sample, patience=patience)

    def sort(self) -> None:
        """Put the rows in order.

        What was selected stays so, wherever it goes; if it is gone, or nothing was selected yet, the place counts.
        """
        self.rows = sorted(self._by_path.values(), key=lambda row: row.name)
        if self.order is not Order.NAME:
            self.rows.sort(key=lambda row: _rank(_BY[self.order](row)), reverse=True)
        places = {row.path: place for place, row in enumerate(self.rows)}
        self._go_to(places.get(self._selected or "", self._cursor))

    def next_order(self) -> None:
        """Sort by the next column."""
        orders = list(Order)
        self.order = orders[(orders.index(self.order) + 1) % len(orders)]
        self.move(0)
        self.sort()

    def move(self, rows: int) -> None:
        """Select a row further down, or with a negative number up."""
        self._go_to(self._cursor + rows)
        selected = self.selected
        self._selected = selected.path if selected else None

    def _go_to(self, place: int) -> None:
        self._cursor = max(0, min(place, len(self.rows) - 1))
        self.scroll()

    def scroll(self) -> None:
        """Let the selected row be among those that are shown, and no room be wasted."""
        self._first = max(min(self._first, self._cursor), self._cursor - self.room + 1)
        self._first = max(0, min(self._first, len(self.rows) - self.room))

    def totals(self) -> tuple[int, int, int]:
        """Return how many are pending, in processing and dead in all rows that have been looked at."""
        looks: Collection[Look] = [row.sample.look for row in self.rows if row.sample]
        return (
            sum(look.pending for look in looks),
            sum(look.processing for look in looks),
            sum(look.dead for look in looks),
        )


def _rank(number: float | None) -> float:
    """Return what a row is sorted by; what is not known, or is not there, comes last."""
    return -1.0 if number is None else number
