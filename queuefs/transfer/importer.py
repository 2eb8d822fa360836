"""Reads the lines of an export, and does line by line what they say; a bad one ends it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import trio

from queuefs.errors import BadValue, IdInUse, IdsExhausted, QueueFSError
from queuefs.transfer import lines
from queuefs.transfer.fields import LONGEST_LINE
from queuefs.transfer.lines import Header, QueueLine, TotalsLine
from queuefs.transfer.messages import GoneLine, MessageLine, PieceLine, RecordLine
from queuefs.transfer.numbering import Numbering
from queuefs.transfer.places import Place, Places
from queuefs.transfer.restoring import Restoring
from queuefs.transfer.terms import Imported, Terms

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from queuefs.backend import Backend
    from queuefs.clock import Clock
    from queuefs.message import MessageId
    from queuefs.transfer.lines import Line

#: After so many lines others get their turn, also where no answer has to be waited for.
TURN = 64

_NO_TERMS = Terms()

#: What can be wrong with a line.
_OF_LINES = (BadValue, IdInUse, IdsExhausted)


class Importer:
    """Takes an export in, in pieces of any length.

    What a line says is checked before it is done. After a bad line nothing more is done, and what came before is. Where
    the store refuses a message, some hundred others are on their way, and each of them may be done or not.
    """

    def __init__(self, backend: Backend, clock: Clock, terms: Terms = _NO_TERMS) -> None:
        """Import into *backend*, whose time is that of *clock*."""
        self._backend = backend
        self._clock = clock
        self._terms = terms
        #: What has been done so far.
        self.imported = Imported()
        #: What the export says of itself; None before that is read.
        self.header: Header | None = None
        #: How many lines have been read.
        self.lines = 0
        ahead = clock.wall_ahead()
        self._places = Places(backend, terms, self.imported, ahead=ahead)
        self._restoring = Restoring(backend, clock, terms, self.imported, ahead=ahead)
        self._rest = b""
        self._numbering: Numbering | None = None
        self._place: Place | None = None
        self._messages = 0
        self._records = 0
        self._ended = False

    @property
    def is_whole(self) -> bool:
        """Whether the export's last line has come."""
        return self._ended

    async def feed(self, data: bytes) -> None:
        """Take the next bytes.

        Raises:
            BadValue: a line can't be used; the sentence has its number.
            QueueFSError: the store refused something.
        """
        async with self._whole():
            for line in self._split(data):
                await self._take(line)

    async def finish(self) -> Imported:
        """Take note that no more bytes come, and return what was done.

        Raises:
            BadValue: as of `feed`; or the end of the export is missing.
            QueueFSError: the store refused something.
        """
        async with self._whole():
            if self._rest:
                await self._take_last(self._rest)
            if not self._ended:
                raise BadValue(f"the export has lost its end: nothing comes after line {self.lines}")
            await self._restoring.finish()
        return self.imported

    async def abandon(self) -> None:
        """End in the middle: wait for what is under way, and take back a message of which only a part came."""
        with trio.CancelScope(shield=True):
            await self._restoring.abandon()

    @asynccontextmanager
    async def _whole(self) -> AsyncIterator[None]:
        """See to it that an error leaves no message in part, and a bad line nothing undone that came before it."""
        try:
            try:
                yield
            except _OF_LINES:
                await self._restoring.finish()
                raise
        except BaseException:
            await self.abandon()
            raise

    def _split(self, data: bytes) -> Iterator[bytes]:
        """Yield the lines that *data* ends."""
        *whole, rest = data.split(b"\n")
        for line in whole:
            begun, self._rest = self._rest, b""
            yield begun + line
        self._rest += rest
        if len(self._rest) > LONGEST_LINE:
            raise BadValue(f"line {self.lines + 1}: longer than {LONGEST_LINE} bytes")

    async def _take_last(self, line: bytes) -> None:
        """Take a line without its newline: either that alone is missing, or more."""
        try:
            lines.read(line)
        except BadValue:
            raise BadValue(f"the export has lost its end: line {self.lines + 1} is not whole") from None
        await self._take(line)

    async def _take(self, line: bytes) -> None:
        self.lines += 1
        if self.lines % TURN == 0:
            await trio.lowlevel.checkpoint()
        try:
            found = lines.read(line)
            self._check_place(found)
            number = self._number(found)
        except _OF_LINES as error:
            raise self._numbered(error) from None
        await self._do(found, number)

    def _numbered(self, error: QueueFSError) -> QueueFSError:
        """Return what is wrong with the line that was read last, with its number."""
        return type(error)(f"line {self.lines}: {error}")

    def _check_place(self, line: Line) -> None:
        """Refuse a line that can't stand here."""
        if self._ended:
            raise BadValue("it comes after the end")
        if isinstance(line, Header) != (self._numbering is None):
            raise BadValue("the first line of an export, and no other, has queuefs_export")
        if not isinstance(line, Header | QueueLine | TotalsLine) and self._place is None:
            raise BadValue("no queue came before")
        self._restoring.check_place(line)

    def _number(self, line: Line) -> MessageId | None:
        """Return the id that the line's message has here, if the line is about one."""
        if not isinstance(line, MessageLine | PieceLine | GoneLine | RecordLine):
            return None
        assert self._numbering is not None  # `_check_place` saw to it
        return self._restoring.open or self._numbering.of(line.id)

    async def _do(self, line: Line, number: MessageId | None) -> None:
        if number is None:
            await self._do_frame(line)
            return
        assert self._place is not None  # as above
        match line:
            case MessageLine():
                self._messages += 1
                await self._restoring.message(self._place, line, number)
            case PieceLine():
                await self._restoring.piece(self._place, line, number)
            case GoneLine():
                await self._restoring.gone(self._place)
            case RecordLine():
                self._records += 1
                await self._restoring.record(self._place, line, number)

    async def _do_frame(self, line: Line) -> None:
        """Do what a line says that is not about a message."""
        await self._restoring.flush()
        try:
            match line:
                case Header():
                    await self._begin(line)
                case QueueLine():
                    self._place = await self._places.enter(line)
                case TotalsLine():
                    self._ended = True
                    self._check_totals(line)
        except _OF_LINES as error:
            raise self._numbered(error) from None

    async def _begin(self, header: Header) -> None:
        numbering = Numbering(self._terms, await self._backend.last_id())
        numbering.begin(header)
        self._numbering = numbering
        self.header = header
        self.imported.shift = numbering.shift
        if not self._terms.dry_run:  # leases and delays are kept by this clock, which has to go on
            await self._backend.save_clock(self._clock.mark())

    def _check_totals(self, line: TotalsLine) -> None:
        for what, told, came in (
            ("queues", line.totals.queues, len(self._places)),
            ("messages", line.totals.messages, self._messages),
            ("records", line.totals.records, self._records),
        ):
            if told != came:
                raise BadValue(f"the export had {told} {what}, and {came} came")
