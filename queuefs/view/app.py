"""`queuefs top`: what the keys do, and what is on the screen."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from queuefs.view.board import Board
from queuefs.view.details import Details, Said, clear, details, pause_or_resume, retry_dead
from queuefs.view.keys import Key
from queuefs.view.text import age, shown
from queuefs.view.watcher import Round, Watcher
from queuefs.view.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rich.console import RenderableType

    from queuefs.view.board import Row
    from queuefs.view.mounts import Place
    from queuefs.view.screen import Screen
    from queuefs.view.terminal import Terminal

#: Lines that are not rows of the table: the title, the heads of the columns, the status line.
_FRAME = 3

#: Seconds for which the status line says what came of a key.
_SAID_SECONDS = 4.0

#: A mount that takes longer to answer is said to.
_SILENCE_SECONDS = 2.0

#: A row that was out of sight for so many rounds has its sparklines begin anew.
_PATIENCE_ROUNDS = 3


class App:
    """The board, and what lies over it."""

    def __init__(self, base: Place, interval: float, screen: Screen, terminal: Terminal) -> None:
        """Watch the queues below *base*, and look every *interval* seconds."""
        self._base = base
        self._interval = interval
        self._screen = screen
        self._terminal = terminal
        look = Watcher(base, interval=interval).round
        self._worker = Worker(
            {"look": look, "details": details, "pause": pause_or_resume, "retry": retry_dead, "clear": clear}
        )
        self._board = Board()
        self._last: Round | None = None
        self._away_since: str | None = None
        #: What lies over the board: help, or a queue that is looked at closely.
        self._helps = False
        self._inspected: Row | None = None
        self._details: Details | None = None
        #: What is done if the question in the status line is answered with y.
        self._asked: Callable[[], None] | None = None
        self._said = ""
        self._said_until = 0.0
        self._ends = False
        #: When to look again, and when that was done last; seconds on the monotonic clock.
        self._looks_at = 0.0
        self._looked_at = 0.0
        self._is_looking = False
        self._keys: Mapping[str, Callable[[], None]] = {
            Key.UP: partial(self._move, -1),
            "k": partial(self._move, -1),
            Key.DOWN: partial(self._move, 1),
            "j": partial(self._move, 1),
            Key.PAGE_UP: lambda: self._move(-self._board.room),
            Key.PAGE_DOWN: lambda: self._move(self._board.room),
            Key.HOME: lambda: self._move(-len(self._board.rows)),
            Key.END: lambda: self._move(len(self._board.rows)),
            Key.ENTER: self._inspect,
            "p": partial(self._act, "pause"),
            "r": partial(self._act, "retry"),
            "c": self._ask_to_clear,
            "s": self._board.next_order,
            "?": self._help,
            "q": self._back,
            Key.ESCAPE: self._back,
        }

    def run(self) -> None:
        """Show the board until somebody has seen enough."""
        try:
            self._show()
        finally:
            self._worker.end()

    def _show(self) -> None:
        while not self._ends:
            if time.monotonic() >= self._looks_at and not self._is_looking:
                self._look()
            self._draw()
            for key in self._terminal.wait(self._worker.ready, self._patience()):
                self._press(key)
            for result in self._worker.results():
                self._take(result)

    # Looking --------------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Have the worker look at what is shown."""
        self._is_looking = True
        self._looked_at = time.monotonic()
        self._looks_at = self._looked_at + self._interval
        if self._inspected is not None:
            self._worker.do("details", self._inspected.path, self._terminal.size[1])
        self._worker.do("look", [row.path for row in self._board.shown])

    def _patience(self) -> float:
        """Return the seconds until something is to be done by itself."""
        now = time.monotonic()
        until = [self._said_until] if self._said else []
        until += [] if self._is_looking else [self._looks_at]
        return min(until, default=now + self._interval) - now

    def _take(self, result: Round | Details | Said) -> None:
        if isinstance(result, Details):
            self._details = result
        elif isinstance(result, Said):
            self._say(result.text)
            self._looks_at = 0.0  # to show what has changed
        else:
            self._is_looking = False
            self._take_round(result)

    def _take_round(self, found: Round) -> None:
        was_first = self._last is None
        if found.away is None:
            if self._away_since is not None:
                self._say("the mount is back")
            self._away_since = None
        elif self._away_since is None:
            self._away_since = time.strftime("%H:%M:%S")
        self._last = found
        if found.names is not None:
            self._board.keep(found.names)
        self._board.take(found.samples, patience=_PATIENCE_ROUNDS * self._interval)
        self._board.sort()
        if was_first:
            self._looks_at = 0.0  # now it is known what is shown

    # Keys -----------------------------------------------------------------------------------------------------------

    def _press(self, key: str) -> None:
        self._said = ""
        if self._asked is not None:
            if key in {"y", "Y"}:
                self._asked()
            else:
                self._say("nothing was cleared")
            self._asked = None
            return
        act = self._keys.get(key)
        if act is not None:
            act()

    def _move(self, rows: int) -> None:
        if self._inspected is None:
            self._board.move(rows)
            if any(row.sample is None for row in self._board.shown):
                self._looks_at = 0.0

    def _act(self, action: str) -> None:
        row = self._inspected or self._board.selected
        if row is not None:
            self._worker.do(action, row.path, shown(row.name))

    def _ask_to_clear(self) -> None:
        row = self._inspected or self._board.selected
        if row is not None:
            look = row.sample.look if row.sample else None
            what = f"{look.pending} pending and {look.processing} in processing" if look else "all"
            self._asked = partial(self._worker.do, "clear", row.path, shown(row.name))
            self._say(f"Clear {shown(row.name)}: drop {what}? y/n")

    def _inspect(self) -> None:
        self._inspected = self._board.selected
        if self._inspected is not None:
            self._details = None
            self._looks_at = 0.0

    def _help(self) -> None:
        self._helps = True

    def _back(self) -> None:
        """Leave what lies over the board; where nothing does, end."""
        if self._helps:
            self._helps = False
        elif self._inspected is not None:
            self._inspected = None
        else:
            self._ends = True

    def _say(self, text: str) -> None:
        self._said = text
        self._said_until = time.monotonic() + _SAID_SECONDS

    # Drawing --------------------------------------------------------------------------------------------------------

    def _draw(self) -> None:
        columns, lines = self._terminal.size
        self._board.room = max(1, lines - _FRAME)
        self._board.scroll()
        if self._said and self._asked is None and time.monotonic() >= self._said_until:
            self._said = ""
        body = self._body(columns, lines)
        alarm = self._away_since is not None or self._asked is not None
        self._terminal.show(self._screen.lines((columns, lines), body, self._title(), self._status(), alarm=alarm))

    def _body(self, columns: int, lines: int) -> RenderableType:
        if self._helps:
            return self._screen.help()
        if self._inspected is None:
            return self._screen.board(self._board, columns, dim=self._away_since is not None)
        if self._details is None or self._details.path != self._inspected.path:
            return ""
        return self._screen.details(self._details, lines)

    def _title(self) -> str:
        if self._inspected is not None:
            return shown(self._inspected.name)
        pending, processing, dead = self._board.totals()
        queues = len(self._board.rows)
        counts = f"{queues} queues, {pending} pending, {processing} processing, {dead} dead"
        return f"{counts} in {shown(self._base.path)}"

    def _status(self) -> str:
        """Return what is most worth saying."""
        if self._said:
            return self._said
        silence = time.monotonic() - self._looked_at
        if self._is_looking and silence > _SILENCE_SECONDS + self._interval:
            return f"The mount has not answered for {age(silence)}"
        if self._last is None:
            return "looking..."
        if self._away_since is not None:
            return f"Away since {self._away_since}, and waited for: {self._last.away}"
        if self._helps or self._inspected is not None:
            return "q back  p pause  r retry dead  c clear"
        seen = "some not seen yet" if self._last.within is None else f"all seen within {age(self._last.within + 1)}"
        return f"? help  q quit  s sort: {self._board.order}  {seen}"
