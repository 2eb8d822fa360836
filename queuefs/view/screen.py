"""Draws what `queuefs top` shows, with rich, for a terminal of any size."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console, Group
from rich.style import Style
from rich.table import Table
from rich.text import Text

from queuefs.view.sparks import spark
from queuefs.view.text import age, short, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rich.console import RenderableType

    from queuefs.view.board import Board, Row
    from queuefs.view.details import Details
    from queuefs.view.messages import Facts

HELP = """\
up, down, k, j      select a queue (also page up and down, home, end)
Enter               look at it: config, counts, its first messages
p                   pause it: nothing is handed out; again: resume it
r                   retry all its dead messages
c                   clear it: drop what is pending and in processing
s                   sort by the next column
q, Escape           back, and at last out

P before a name     the queue is paused
OLD                 for how long the oldest pending message is there
IN/S, OUT/S         messages that come, and that are done, a second
DEPTH, RATE         how many there were, and were done, until now
"""


class _Column(NamedTuple):
    title: str
    #: Columns of the terminal that it takes, without the one that parts it from the next.
    columns: int
    #: It is left out on terminals narrower than this.
    least: int
    text: Callable[[Row], str]


def _count(name: str) -> Callable[[Row], str]:
    return lambda row: "?" if row.sample is None else short(getattr(row.sample.look, name))


def _rate(rate: float | None) -> str:
    return "-" if rate is None else short(rate)


_NUMBERS = (
    _Column("PEND", 5, 24, _count("pending")),
    _Column("PROC", 5, 32, _count("processing")),
    _Column("DEAD", 5, 36, _count("dead")),
    _Column("OLD", 4, 40, lambda row: age(row.sample.look.oldest if row.sample else None)),
    _Column("IN/S", 5, 60, lambda row: _rate(row.rate_in)),
    _Column("OUT/S", 5, 60, lambda row: _rate(row.rate_out)),
)

#: Terminals from here on have sparklines, and from there on long ones.
_SPARKS, _LONG_SPARKS = 76, 120


class Screen:
    """Makes lines of text; where the terminal takes them, with colours in them."""

    def __init__(self) -> None:
        """Find out what the terminal can do."""
        self._console = Console(highlight=False, emoji=False, markup=False, soft_wrap=False)
        self._ascii = not self._console.encoding.startswith("utf")

    @property
    def is_dumb(self) -> bool:
        """Whether the terminal can do nothing but print lines."""
        return self._console.is_dumb_terminal

    def lines(self, size: tuple[int, int], body: RenderableType, title: str, status: str, *, alarm: bool) -> list[str]:
        """Return as many lines as the screen has: a title, *body*, and a status line."""
        columns, lines = size
        top = Text(title, style="bold", no_wrap=True, overflow="crop")
        bottom = Text(status, style="bold red" if alarm else "dim", no_wrap=True, overflow="crop")
        middle = self._drawn(body, columns)[: max(0, lines - 2)]
        middle += [""] * (lines - 2 - len(middle))
        return [*self._drawn(top, columns)[:1], *middle, *self._drawn(bottom, columns)[:1]][:lines]

    def _drawn(self, what: RenderableType, columns: int) -> list[str]:
        with self._console.capture() as captured:
            self._console.print(what, width=columns, end="")
        return captured.get().split("\n")

    def board(self, board: Board, columns: int, *, dim: bool) -> RenderableType:
        """Return the table of queues; *dim*: it is not what is there now."""
        table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, expand=True, header_style="bold")
        table.add_column("", width=2, no_wrap=True)
        table.add_column("QUEUE", ratio=1, no_wrap=True, overflow="crop" if self._ascii else "ellipsis")
        numbers = [column for column in _NUMBERS if columns >= column.least]
        for column in numbers:
            table.add_column(column.title, width=column.columns, justify="right", no_wrap=True, overflow="crop")
        length = 0 if columns < _SPARKS else 8 if columns < _LONG_SPARKS else 20
        for title in ("DEPTH", "RATE") if length else ():
            table.add_column(title, width=length, no_wrap=True, overflow="crop")
        for row in board.shown:
            cells = [Text(column.text(row), style=_colour(column, row)) for column in numbers]
            if length:
                cells += [Text(spark([*past], length, ascii_only=self._ascii)) for past in (row.depths, row.rates)]
            selected = row is board.selected
            mark = f"{'>' if selected else ' '}{'P' if row.paused else ' '}"
            style = Style(reverse=selected, dim=dim)
            table.add_row(Text(mark), Text(shown(row.name)), *cells, style=style)
        return table

    def details(self, found: Details, lines: int) -> RenderableType:
        """Return a queue looked at closely, in at most about *lines* lines."""
        if found.problem is not None or found.look is None:
            return Text(found.problem or "")
        stats = found.look.stats
        counts = {name: value for name, value in stats.items() if name not in {"oldest_pending_seconds", "totals"}}
        return Group(
            Text("CONFIG", style="bold"),
            _pairs(found.config),
            Text("STATS", style="bold"),
            _pairs({**counts, "oldest_pending": age(found.look.oldest)}),
            Text("TOTALS", style="bold"),
            _pairs(stats["totals"]),
            Text("FIRST MESSAGES", style="bold"),
            _messages(found.messages[:lines]),
        )

    def help(self) -> RenderableType:
        """Return what the keys do."""
        return Text(HELP)


def _colour(column: _Column, row: Row) -> str:
    return "red" if column.title == "DEAD" and row.sample and row.sample.look.dead else ""


def _pairs(values: Mapping[str, object]) -> Text:
    """Return names and values, as many as fit in a line."""
    return Text("  ".join(f"{name}={shown(str(value))}" for name, value in values.items()))


def _messages(messages: list[Facts]) -> RenderableType:
    if not messages:
        return Text("none")
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    for title in ("ID", "STATE", "SIZE", "PRIO", "TRIES", "AGE", "REASON"):
        table.add_column(title, justify="left" if title in {"STATE", "REASON"} else "right", no_wrap=True)
    now = time.time()
    for message in messages:
        numbers = [str(message["priority"]), str(message["attempt"]), age(now - message["enqueued_at"])]
        cells = [message["id"], message["state"], short(message["size"]), *numbers, shown(message.get("reason", ""))]
        table.add_row(*(Text(cell) for cell in cells))
    return table
