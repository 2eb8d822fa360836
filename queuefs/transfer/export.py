"""Writes what a store holds as lines, queue by queue, a page at a time."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from queuefs import __version__
from queuefs.errors import QueueNotFound
from queuefs.message import ROOT
from queuefs.transfer.contents import Contents, Progress
from queuefs.transfer.lines import FORM, Header, QueueLine, TotalsLine
from queuefs.transfer.messages import STATES, RecordLine

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from queuefs.backend import Backend
    from queuefs.clock import Clock
    from queuefs.message import Ended, Message, MessageId, Place, Queue, QueueId, Record

    Path = tuple[str, ...]

#: Messages on a page.
PAGE = 1000

#: How often a store that others change is looked through again for messages that changed their state, so that no page
#: had them. Each time only those are left that did so all the while.
LAST_ROUND = 5


@dataclass(frozen=True)
class _Place:
    """A queue, and whether what is in it is wanted, or only itself, for what is below."""

    queue: Queue
    path: Path
    whole: bool


async def export(
    backend: Backend,
    clock: Clock,
    *,
    roots: Sequence[Sequence[str]] = (),
    alone: bool = False,
    progress: Progress | None = None,
) -> AsyncGenerator[bytes, None]:
    """Yield all that *backend* holds as lines, each with its newline.

    It changes nothing, and holds a page of messages and a piece of a payload at a time. A message that stays
    unacknowledged or dead all the while is in it once, unless it was enqueued after the export began. Who does not read
    it to its end has to close it (`contextlib.aclosing`).

    Args:
        backend: The store.
        clock: The store's time.
        roots: The paths of queues, as names from the root: these and what is below them; none: all.
        alone: Nobody else changes the store meanwhile, so that one look is enough.
        progress: Is kept up to date.

    Raises:
        QueueNotFound: one of *roots* is not there; the sentence names it.
    """
    places = await _places(backend, roots)
    exporter = _Exporter(backend, clock, progress or Progress(), await backend.last_id())
    async with aclosing(exporter.lines(places, alone=alone)) as lines:
        async for line in lines:
            yield line


async def _places(backend: Backend, roots: Sequence[Sequence[str]]) -> list[_Place]:
    """Return the queues in the order in which they are written: parents first, and by name."""
    found: dict[Path, _Place] = {}
    for path in sorted({tuple(root) for root in roots}) or [()]:
        if any(path[:length] in found and found[path[:length]].whole for length in range(1, len(path) + 1)):
            continue
        parent = ROOT
        for length in range(1, len(path) + 1):
            queue = await backend.find_queue(parent, path[length - 1])
            if queue is None:
                raise QueueNotFound(f"there is no queue {'/'.join(path)}")
            found.setdefault(path[:length], _Place(queue, path[:length], whole=length == len(path)))
            parent = queue.id
        below = [(parent, path)]
        while below:
            above, way = below.pop()
            children = [_Place(child, (*way, child.name), whole=True) for child in await backend.children(above)]
            found.update((child.path, child) for child in children)
            below += [(child.queue.id, child.path) for child in children]
    return [found[path] for path in sorted(found)]


class _Exporter:
    def __init__(self, backend: Backend, clock: Clock, progress: Progress, last: MessageId | None) -> None:
        self._backend = backend
        self._clock = clock
        self._ahead = clock.wall_ahead()
        self._progress = progress
        self._contents = Contents(backend, progress, ahead=self._ahead)
        #: What is enqueued later is left out, or a busy writer would keep the export from ending.
        self._last = last or 0

    async def lines(self, places: Sequence[_Place], *, alone: bool) -> AsyncGenerator[bytes, None]:
        """Yield all lines."""
        whole = [place for place in places if place.whole]
        header = self._progress.header = await self._header(whole, len(places))
        yield header.encoded()
        for place in places:
            self._progress.totals.queues += 1
            yield self._queue_line(place)
            if place.whole:
                async with aclosing(self._content(place)) as lines:
                    async for line in lines:
                        yield line
        if not alone:
            async with aclosing(self._missed(whole)) as lines:
                async for line in lines:
                    yield line
        damaged = [str(message) for message in self._progress.damaged]
        yield TotalsLine(totals=self._progress.totals, damaged=damaged).encoded()

    async def _header(self, places: Sequence[_Place], queues: int) -> Header:
        """Look through all there is, for the lowest id: who imports has to know it before anything is done."""
        lowest, messages = None, 0
        for place in places:
            pages = _Pages(self._backend, place.queue.id)
            while page := await pages.following():
                messages += len(page)
                lowest = min(lowest or page[0].id, *(message.id for message in page))
            records = _RecordPages(self._backend, place.queue.id, self._clock)
            while done := await records.following():
                lowest = min(lowest or done[0].id, *(record.id for record in done))
        return Header(
            queuefs_export=FORM,
            version=__version__,
            exported_at=round(self._clock.now() + self._ahead, 6),
            queues=queues,
            messages=messages,
            lowest_id=None if lowest is None else str(lowest),
        )

    def _queue_line(self, place: _Place) -> bytes:
        return QueueLine.of(place.queue, place.path, ahead=self._ahead).encoded()

    async def _content(self, place: _Place) -> AsyncGenerator[bytes, None]:
        """Yield what is in a queue."""
        pages = _Pages(self._backend, place.queue.id)
        while page := await pages.following():
            async with aclosing(self._contents.lines(place.queue.id, self._fresh(page))) as lines:
                async for line in lines:
                    yield line
        records = _RecordPages(self._backend, place.queue.id, self._clock)
        while done := await records.following():
            for record in done:
                # Of a message that was done while this went on, the export has what it was before.
                if record.id <= self._last and record.id not in self._contents.seen:
                    self._progress.totals.records += 1
                    yield RecordLine.of(record, ahead=self._ahead).encoded()

    async def _missed(self, places: Sequence[_Place]) -> AsyncGenerator[bytes, None]:
        """Yield what changed its state or its queue at such a moment that no page had it."""
        for _ in range(LAST_ROUND):
            missed = 0
            for place in places:
                begun = False
                pages = _Pages(self._backend, place.queue.id)
                while page := await pages.following():
                    fresh = self._fresh(page)
                    if fresh and not begun:
                        begun = True
                        yield self._queue_line(place)
                    missed += len(fresh)
                    async with aclosing(self._contents.lines(place.queue.id, fresh)) as lines:
                        async for line in lines:
                            yield line
            if not missed:
                return

    def _fresh(self, page: Sequence[Message]) -> list[Message]:
        return [each for each in page if each.id <= self._last and each.id not in self._contents.seen]


class _Pages:
    """The messages of a queue by state, page by page; none if it has been removed."""

    def __init__(self, backend: Backend, queue: QueueId) -> None:
        self._backend = backend
        self._queue = queue
        self._states = list(STATES)
        self._after: Place | None = None

    async def following(self) -> Sequence[Message]:
        """Return the next page, empty after the last."""
        try:
            while self._states:
                page = await self._backend.page(self._queue, self._states[0], after=self._after, limit=PAGE)
                if page:
                    self._after = page[-1].place
                    return page
                del self._states[0]
                self._after = None
        except QueueNotFound:
            self._states.clear()
        return ()


class _RecordPages:
    """Likewise its records."""

    def __init__(self, backend: Backend, queue: QueueId, clock: Clock) -> None:
        self._backend = backend
        self._queue = queue
        self._clock = clock
        self._after: Ended | None = None

    async def following(self) -> Sequence[Record]:
        """Return the next page, empty after the last."""
        now = self._clock.now()
        try:
            page = await self._backend.records(self._queue, after=self._after, limit=PAGE, now=now)
        except QueueNotFound:
            return ()
        if page:
            self._after = page[-1].ended
        return page
