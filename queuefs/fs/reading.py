"""Open control files that are read."""

from __future__ import annotations

import errno
import tempfile
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import structlog
import trio

from queuefs.errors import MessageGone, QueueFSError, StoreDamaged, WouldBlock
from queuefs.events import Reader, event_line
from queuefs.fs.handles import Handle, Opening
from queuefs.listing import PAGE_BYTES
from queuefs.render import counts_line, listed_message
from queuefs.waiting import Wait

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from queuefs.delivery import Delivery
    from queuefs.listing import Listing
    from queuefs.longtext import Texts
    from queuefs.message import Message
    from queuefs.options import EventsOptions, WaitOptions

log = structlog.get_logger(__name__)

#: How much of a list of messages is kept in memory; the rest goes to a temporary file, bytes.
SPOOL_BYTES = 4 * 1024 * 1024

#: How far back a reader of `events` may seek, bytes: a shell's `read` takes 4 KiB and goes back to the end of a line.
WINDOW_BYTES = 1024 * 1024

#: Messages per piece of what `events,replay` begins with.
REPLAY_PIECE = 1000


class TextHandle(Handle):
    """Shows a text."""

    def __init__(self, text: bytes | None, make: Callable[[], Awaitable[bytes | Texts]] | None = None) -> None:
        """Show *text*; where it is None, what *make* returns at the first read."""
        self._text: bytes | Texts | None = text
        self._make = make

    async def read(self, offset: int, size: int) -> bytes:
        """Return a piece of the text."""
        if self._text is None:
            assert self._make is not None  # without it there is a text
            self._text = await self._make()
        text = self._text
        return text[offset : offset + size] if isinstance(text, bytes) else await text.read(offset, size)


class DequeueHandle(Handle):
    """Reads claimed messages."""

    def __init__(self, delivery: Delivery) -> None:
        """Read *delivery*."""
        self._delivery = delivery

    async def read(self, offset: int, size: int) -> bytes:
        """Return a piece of the messages' text."""
        return await self._delivery.read(offset, size)

    async def release(self) -> None:
        """Undo the claims of which not all was read."""
        await self._delivery.close()


class MessagesHandle(Handle):
    """Lists messages: the list is made while it is read, and kept aside so that every offset stays what it was."""

    def __init__(self, opening: Opening, *, dead: bool) -> None:
        """List the messages of a queue as of the first read; *dead*: the dead ones."""
        self._service = opening.service
        self._queue = opening.queue
        self._dead = dead
        self._listing: Listing | None = None
        self._spool = tempfile.SpooledTemporaryFile(max_size=SPOOL_BYTES)  # noqa: SIM115 - closed by release
        self._made = 0
        self._complete = False
        # Reads of one open can come side by side; where answers are instant nothing can come in between.
        self._lock = nullcontext() if opening.service.instant else trio.Lock()

    async def read(self, offset: int, size: int) -> bytes:
        """Return a piece of the list."""
        async with self._lock:
            while self._made < offset + size and not self._complete:
                await self._make_page()
            self._spool.seek(offset)
            return self._spool.read(max(0, min(size, self._made - offset)))

    async def _make_page(self) -> None:
        listing = self._listing
        if listing is None:
            listing = self._listing = await self._service.messages(self._queue, dead=self._dead)
        page = await listing.page()
        end = self._keep(b"[" if self._made == 0 else b",\n" if page else b"", self._made)
        if page and page[0].size > PAGE_BYTES:
            end = await self._keep_long(listing, page[0], end)
        else:
            end = self._keep(b",\n".join(listed_message(message, self._service.clock) for message in page), end)
        self._made = end if page else self._keep(b"]\n", end)
        self._complete = not page
        listing.turn()

    async def _keep_long(self, listing: Listing, message: Message, start: int) -> int:
        text = listing.long_text(message, listed_message(replace(message, data=b""), self._service.clock))
        end = start
        try:
            await text.measure()
            for number in range(text.count):
                end = self._keep(await text.piece(number), end)
        except (MessageGone, StoreDamaged) as error:
            log.info("listed without its payload", message=message.id, reason=str(error))
            return self._keep(listed_message(message, self._service.clock), start)
        return end

    def _keep(self, text: bytes, at: int) -> int:
        """Put *text* where it belongs, and return where it ends."""
        try:
            self._spool.seek(at)
            return at + self._spool.write(text)
        except OSError as error:
            raise NoTemporarySpace(f"the list can't be kept: {error.strerror}") from error

    async def release(self) -> None:
        """Drop the list."""
        self._spool.close()


class NoTemporarySpace(QueueFSError):
    """The temporary file of a long list can't be written."""

    errno = errno.EIO


class WaitHandle(Handle):
    """Blocks until the queue is complete, and then shows its status."""

    def __init__(self, opening: Opening, options: WaitOptions) -> None:
        """Wait as *options* say."""
        self._opening = opening
        self._options = options
        self._text: bytes | None = None
        self._lock = trio.Lock()

    async def read(self, offset: int, size: int) -> bytes:
        """Return a piece of the status, once it says that nothing is unacknowledged."""
        async with self._lock:
            if self._text is None:
                self._text = await self._wait()
        return self._text[offset : offset + size]

    async def _wait(self) -> bytes:
        opening = self._opening
        if not opening.may_wait:
            counts = await opening.service.counts(opening.queue)
            if counts.unacked:
                raise WouldBlock
            return counts_line(counts)
        return counts_line(await opening.service.wait_complete(opening.queue, opening.caller(), self._options.timeout))


class EventsHandle(Handle):
    """Shows what happens in a queue, a line each, and blocks while nothing does."""

    def __init__(self, opening: Opening, options: EventsOptions) -> None:
        """Listen from now on."""
        self._opening = opening
        self._replay = options.replay
        self._retained: Iterator[Message] | None = None
        self._wait = Wait(opening.caller())
        self._reader = Reader(self._wake)
        #: The last part of what was shown, and where in the whole it begins.
        self._window = b""
        self._begins = 0
        self._lock = trio.Lock()
        opening.service.events.listen(opening.queue, self._reader)

    async def read(self, offset: int, size: int) -> bytes:
        """Return lines; blocks until there is one at *offset*."""
        async with self._lock:
            while offset >= self._begins + len(self._window):
                self._wait.happened = trio.Event()
                text = await self._next()
                if text:
                    self._window += text
                    drop = max(0, len(self._window) - max(WINDOW_BYTES, len(text)))
                    self._window = self._window[drop:]
                    self._begins += drop
                elif not self._opening.may_wait:
                    raise WouldBlock
                else:
                    await self._opening.service.waiting.until(self._wait, float("inf"))
            start = max(0, offset - self._begins)
            return self._window[start : start + size]

    def _wake(self) -> None:
        self._wait.happened.set()

    async def _next(self) -> bytes:
        """Return what comes next without waiting; nothing if nothing has happened."""
        if self._replay:
            self._replay = False
            self._retained = await self._opening.service.retained(self._opening.queue)
        if self._retained is not None:
            lines = [
                event_line(
                    f"retained {message.state}",
                    message.id,
                    round(self._opening.service.clock.to_wall(message.enqueued_at), 6),
                )
                for _, message in zip(range(REPLAY_PIECE), self._retained, strict=False)
            ]
            if lines:
                return b"".join(lines)
            self._retained = None
        return self._reader.take()

    async def release(self) -> None:
        """Listen no more."""
        self._opening.service.events.leave(self._opening.queue, self._reader)
        self._wait.caller.close()
