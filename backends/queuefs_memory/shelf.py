"""Keys in order, for whoever pages through what stands under them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Generic, TypeVar

from queuefs.message import Ended

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

#: What can be put in order here.
K = TypeVar("K", int, Ended)

#: As many news as there may be before `tidy` has to be called.
MAX_NEWS = 1024

#: Keys in a run: half as many at least when it is cut, and twice as many at most.
_RUN = 256

#: Keys that are looked at in one go.
_PIECE = 64

#: Of a run of which less than one in so many has gone, these are looked up one by one.
_SCATTERED = 8


class Shelf(Generic[K]):
    """Keys that come by an append and go without a word: nothing that is enqueued or settled pays for the listing.

    What came is put in order when somebody looks, or when there is much of it. What has gone is met once, and left out
    from then on; that it may be met at all costs as much as its coming did.
    """

    __slots__ = ("_alive", "_bound", "_runs", "_size", "news")

    def __init__(self, alive: Callable[[Iterable[K]], list[K]]) -> None:
        """Start empty; *alive* returns, of some keys, those under which something stands."""
        self._alive: Callable[[Iterable[K]], list[K]] = alive
        #: Each in order, none empty, and one behind the other.
        self._runs: list[list[K]] = []
        #: Keys in them.
        self._size = 0
        #: What came since somebody looked; a key may come again.
        self.news: list[K] = []
        #: As many keys as there may be before those that have gone are looked for.
        self._bound = MAX_NEWS

    def add(self, key: K) -> None:
        """Put *key* there, under which something stands already."""
        self.news.append(key)
        if len(self.news) > MAX_NEWS:
            self.tidy()

    def page(self, after: K | None, limit: int) -> list[K]:
        """Return up to *limit* keys above *after* (None: from the lowest), the lowest first."""
        self.tidy()
        found: list[K] = []
        runs = self._runs
        while len(found) < limit:
            place = 0 if after is None else bisect_right(runs, after, key=_last)
            if place == len(runs):
                break
            begin = 0 if after is None else bisect_right(runs[place], after)
            end = min(len(runs[place]), begin + max(_PIECE, limit - len(found)))
            after = runs[place][end - 1]
            found += self._look(place, begin, end)
        return found[:limit]

    def page_back(self, before: K | None, limit: int, *, down_to: K | None = None) -> list[K]:
        """Return up to *limit* keys below *before* (None: from the highest), the highest first.

        None of them is as low as *down_to*.
        """
        self.tidy()
        found: list[K] = []
        runs = self._runs
        while len(found) < limit:
            place = (len(runs) if before is None else bisect_left(runs, before, key=_first)) - 1
            if place < 0:
                break
            end = len(runs[place]) if before is None else bisect_left(runs[place], before)
            begin = max(0, end - max(_PIECE, limit - len(found)))
            before = runs[place][begin]
            found += reversed(self._look(place, begin, end))
            if down_to is not None and before <= down_to:
                break
        return [key for key in found[:limit] if down_to is None or key > down_to]

    def _look(self, place: int, begin: int, end: int) -> Sequence[K]:
        """Return what is alive of a piece of a run; the rest is forgotten."""
        run = self._runs[place]
        piece = run[begin:end]
        alive = self._alive(piece)
        if len(alive) < len(piece):
            run[begin:end] = alive
            self._size -= len(piece) - len(alive)
            if not run:
                del self._runs[place]
        return alive

    def forget(self, keys: Sequence[K]) -> None:
        """Leave those out that have gone of *keys*, so that no page has to pass over a long row of them."""
        runs = self._runs
        gone = sorted(set(keys).difference(self._alive(keys)))
        begin = 0
        while begin < len(gone) and (place := bisect_left(runs, gone[begin], key=_last)) < len(runs):
            end = bisect_right(gone, runs[place][-1], begin)
            if (end - begin) * _SCATTERED > len(runs[place]):
                self._look(place, 0, len(runs[place]))
            else:
                for key in gone[begin:end]:
                    at = bisect_left(runs[place], key)
                    self._look(place, at, at + 1)
            begin = end

    def clear(self) -> None:
        """Forget all, which have gone."""
        self._runs.clear()
        self.news.clear()
        self._size = 0

    def tidy(self) -> None:
        """Put in order what came; forget what has gone, if it may be as much as what is there."""
        if not self.news:
            return
        came = self._alive(sorted(self.news))
        self.news.clear()
        begin = 0
        while begin < len(came):
            begin = self._put(came, begin)
        if self._size > self._bound:
            alive = self._alive(key for run in self._runs for key in run)
            self._runs, self._size = _cut(alive), len(alive)
            self._bound = MAX_NEWS + 2 * len(alive)

    def _put(self, came: list[K], begin: int) -> int:
        """Put those from *begin* on that belong into one run there; return where the others begin."""
        runs = self._runs
        place = bisect_left(runs, came[begin], key=_last)
        end = len(came)
        if place < len(runs):
            end = bisect_right(came, runs[place][-1], begin)
        elif runs:
            place -= 1
        run = runs[place] if runs else []
        keys = list(dict.fromkeys(sorted(run + came[begin:end])))
        self._size += len(keys) - len(run)
        runs[place : place + 1] = _cut(keys)
        return end


def _cut(keys: list[K]) -> list[list[K]]:
    """Make runs of keys that are in order."""
    if len(keys) <= 2 * _RUN:
        return [keys] if keys else []
    step = -(-len(keys) // (len(keys) // _RUN))
    return [keys[begin : begin + step] for begin in range(0, len(keys), step)]


def _first(run: list[K]) -> K:
    return run[0]


def _last(run: list[K]) -> K:
    return run[-1]
