"""What an open control file does with reads, writes and closes."""

from __future__ import annotations

import errno
import tempfile
from contextlib import nullcontext
from typing import TYPE_CHECKING, NoReturn

import trio

from queuefs.errors import BadValue, QueueFSError
from queuefs.fs.caller import is_being_killed, leader_of
from queuefs.message import Ref
from queuefs.render import listed_message
from queuefs.service import settled_error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from queuefs.delivery import Delivery
    from queuefs.lifecycle import Verb
    from queuefs.listing import Listing
    from queuefs.message import QueueId
    from queuefs.service import Service
    from queuefs.stage import Stage

#: The longest line that can be an id or a receipt, bytes: two numbers of 19 digits, a dot, some blanks.
LONGEST_REF = 64

#: The longest line at all, blanks included, bytes.
LONGEST_LINE = 4096

#: How much of a list of messages is kept in memory; the rest goes to a temporary file, bytes.
SPOOL_BYTES = 4 * 1024 * 1024


class Handle:
    """An open file; the kernel sends no read or write that its mode forbids."""

    async def read(self, offset: int, size: int) -> bytes:
        """Return at most *size* bytes from *offset* on."""
        raise NotImplementedError

    async def write(self, data: bytes, offset: int) -> None:
        """Take all of *data*; where it belongs, *offset*, matters to few."""
        raise NotImplementedError

    def truncate(self, size: int) -> None:
        """Answer ftruncate(2); most have nothing to do."""

    async def flush(self) -> None:
        """Answer the close of one descriptor; there may be more of this open."""

    async def release(self) -> None:
        """Answer the last close; must not suspend."""


class TextHandle(Handle):
    """Shows a text."""

    def __init__(self, text: bytes | None, make: Callable[[], Awaitable[bytes]]) -> None:
        """Show *text*; where it is None, what *make* returns at the first read."""
        self._text = text
        self._make = make

    async def read(self, offset: int, size: int) -> bytes:
        """Return a piece of the text."""
        if self._text is None:
            self._text = await self._make()
        return self._text[offset : offset + size]


class DequeueHandle(Handle):
    """Reads one claimed message."""

    def __init__(self, delivery: Delivery) -> None:
        """Read *delivery*."""
        self._delivery = delivery

    async def read(self, offset: int, size: int) -> bytes:
        """Return a piece of the message's line."""
        return await self._delivery.read(offset, size)

    async def release(self) -> None:
        """Undo the claim unless all was read."""
        await self._delivery.close()


class MessagesHandle(Handle):
    """Lists messages: the list is made while it is read, and kept aside so that every offset stays what it was."""

    def __init__(self, service: Service, queue: QueueId) -> None:
        """List the messages of *queue* as of the first read."""
        self._service = service
        self._queue = queue
        self._listing: Listing | None = None
        self._spool = tempfile.SpooledTemporaryFile(max_size=SPOOL_BYTES)  # noqa: SIM115 - closed by release
        self._made = 0
        self._complete = False
        # Reads of one open can come side by side; where answers are instant nothing can come in between.
        self._lock = nullcontext() if service.instant else trio.Lock()

    async def read(self, offset: int, size: int) -> bytes:
        """Return a piece of the list."""
        async with self._lock:
            while self._made < offset + size and not self._complete:
                await self._make_page()
            self._spool.seek(offset)
            return self._spool.read(size)

    async def _make_page(self) -> None:
        first = self._listing is None
        if self._listing is None:
            self._listing = await self._service.messages(self._queue)
        page = await self._listing.page()
        text = b",\n".join(listed_message(message, self._service.clock) for message in page)
        self._keep((b"[" if first else b",\n" if page else b"") + text + (b"" if page else b"]\n"))
        self._complete = not page

    def _keep(self, text: bytes) -> None:
        try:
            self._spool.seek(self._made)
            self._made += self._spool.write(text)
        except OSError as error:
            raise NoTemporarySpace(f"the list can't be kept: {error.strerror}") from error

    async def release(self) -> None:
        """Drop the list."""
        self._spool.close()


class NoTemporarySpace(QueueFSError):
    """The temporary file of a long list can't be written."""

    errno = errno.EIO


class EnqueueHandle(Handle):
    """Writes one message."""

    def __init__(self, stage: Stage, pid: int, *, appends: bool, instant: bool) -> None:
        """Write *stage* for the thread *pid*; *appends*: with O_APPEND the offsets of its writes mean nothing."""
        self._stage = stage
        self._pid = pid
        self._process: int | None = None
        self._appends = appends
        self._instant = instant
        #: Where the file's position is if it was only written and read in turn.
        self._position = 0
        self._id_at: int | None = None

    async def write(self, data: bytes, offset: int) -> None:
        """Add *data* to the message."""
        if not self._appends and offset != self._position:
            self._refuse_to_seek()
        if self._process is None and (self._stage.writes or not self._instant):
            self._process = leader_of(self._pid)  # while the thread is there
        await self._stage.write(data)
        self._position = offset + len(data)

    def truncate(self, size: int) -> None:
        """Refuse what would change the message: `cp` makes a file's last hole so."""
        if size not in (0, self._position):
            self._refuse_to_seek()

    def _refuse_to_seek(self) -> NoReturn:
        """A hole, or bytes before others, can't be kept; without them the message would be another one."""
        error = BadValue("a message is written from its beginning to its end, without holes")
        self._stage.spoil(error)
        raise error

    async def read(self, offset: int, size: int) -> bytes:
        """Return the message's id and a newline; the line begins where the first read did, and stays there."""
        if self._stage.id is None:
            return b""
        if self._id_at is None:
            self._id_at = offset
        start = offset - self._id_at
        piece = (b"%d\n" % self._stage.id)[start : start + size] if start >= 0 else b""
        self._position = offset + len(piece)
        return piece

    async def flush(self) -> None:
        """Store what is not stored yet, unless a signal is ending the writer: then there is no message.

        Where answers are instant and there was one write, the look at the process would cost more than the message
        (15 us), and what it wrote was whole more likely than not.
        """
        if not self._stage.is_begun:
            return
        if self._process is not None and is_being_killed(self._process):
            self._stage.spoil(WriterKilled())
            return
        await self._stage.flush()

    async def release(self) -> None:
        """Publish the message."""
        await self._stage.close()


class WriterKilled(QueueFSError):
    """A signal ended the writer, or one of its children, before it closed."""

    errno = errno.ECANCELED


class SettleHandle(Handle):
    """Takes ids or receipts, one a line."""

    def __init__(self, service: Service, queue: QueueId, verb: Verb, pid: int) -> None:
        """Settle messages of *queue* by *verb* for the thread *pid*."""
        self._pid = pid
        self._process: int | None = None
        self._service = service
        self._queue = queue
        self._verb = verb
        #: A line whose newline has not come; it may be a piece of a longer id.
        self._tail = b""
        #: What the last line names, once it has been checked.
        self._last: Ref | None = None
        #: Why nothing is taken any more.
        self._error: QueueFSError | None = None

    async def write(self, data: bytes, offset: int) -> None:  # noqa: ARG002 - lines come one after the other
        """Act on every line that is complete; all are tried, and the first failure is raised.

        After a failure with a piece of a line before or behind it, nothing more is taken. The writer may send all of
        it again or go on with what follows, which can't be told apart; one of the two would make another id of it.
        """
        if self._error is not None:
            raise self._error
        before = self._tail
        *lines, self._tail = (before + data).split(b"\n")
        self._last = None
        try:
            await self._settle(lines)
            if len(self._tail.strip()) > LONGEST_REF or len(self._tail) > LONGEST_LINE:
                raise BadValue(f"not a message id or receipt: {self._tail[:80]!r}")
        except QueueFSError as error:
            if before or self._tail:
                self._error = error
                self._tail = b""
            raise
        if self._tail and self._process is None:
            self._process = leader_of(self._pid)  # while the thread is there

    async def _settle(self, lines: list[bytes]) -> None:
        refs: list[Ref | QueueFSError] = [_parsed(line) for line in lines]
        good = [ref for ref in refs if isinstance(ref, Ref)]
        answers = iter(await self._service.settle(self._verb, self._queue, good) if good else ())
        for ref in refs:
            error = settled_error(ref, next(answers)) if isinstance(ref, Ref) else ref
            if error is not None:
                raise error

    async def flush(self) -> None:
        """Say whether the last line, without a newline, can be settled; it is settled by the last close."""
        if self._process is not None and is_being_killed(self._process):
            self._tail = b""  # it may be a piece of what should have been written
        if not self._tail:
            return
        ref = Ref.parse(self._tail.strip())
        self._last = ref
        error = settled_error(ref, (await self._service.check(self._queue, [ref]))[0])
        if error is not None:
            raise error

    async def release(self) -> None:
        """Settle the last line if it had no newline."""
        if self._last is not None:
            await self._service.settle_after_close(self._verb, self._queue, self._last)


def _parsed(line: bytes) -> Ref | QueueFSError:
    try:
        return Ref.parse(line.strip())
    except BadValue as error:
        return error


class ClearHandle(Handle):
    """Clears at every write."""

    def __init__(self, service: Service, queue: QueueId) -> None:
        """Clear *queue*."""
        self._service = service
        self._queue = queue

    async def write(self, data: bytes, offset: int) -> None:  # noqa: ARG002 - any write will do
        """Remove all unacknowledged messages."""
        await self._service.clear(self._queue)
