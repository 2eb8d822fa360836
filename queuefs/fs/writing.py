"""Open control files that are written."""

from __future__ import annotations

import errno
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn, Protocol

from queuefs.errors import BadValue, QueueFSError
from queuefs.fs.caller import is_being_killed, leader_of
from queuefs.fs.handles import Handle
from queuefs.fs.reading import TextHandle
from queuefs.lifecycle import Verb
from queuefs.message import Ref

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from queuefs.fs.handles import Opening
    from queuefs.lines import LineStage
    from queuefs.message import MessageId, QueueId
    from queuefs.options import EnqueueOptions, Options
    from queuefs.stage import Stage

#: The longest line that can be an id, a receipt or a command, bytes: two numbers of 19 digits, a word, some blanks.
LONGEST_WORDS = 96

#: The longest line at all, blanks included, bytes.
LONGEST_LINE = 4096


async def open_enqueue(opening: Opening, options: EnqueueOptions) -> Handle:
    """Begin a message; or, where it shall be empty, enqueue it, if the open truncates."""
    stage = await opening.service.stage(opening.queue, options, opening.caller, may_wait=opening.may_wait)
    if not options.empty:
        return EnqueueHandle(stage, opening)
    if opening.truncates:
        try:
            await stage.write(b"")
            await stage.flush()
        except QueueFSError as error:
            stage.spoil(error)
            raise
        finally:
            await stage.close()
    return EmptyHandle(stage.told_id)


class _ToldId:
    """What reading back gives: a message's id and a newline; it begins where the first read did, and stays there."""

    def __init__(self) -> None:
        self._at: int | None = None

    def piece(self, message: MessageId | None, offset: int, size: int) -> bytes:
        if message is None:
            return b""
        if self._at is None:
            self._at = offset
        start = offset - self._at
        return (b"%d\n" % message)[start : start + size] if start >= 0 else b""


class EnqueueHandle(Handle):
    """Writes one message, or one a line."""

    def __init__(self, stage: Stage | LineStage, opening: Opening) -> None:
        """Write *stage*."""
        self._stage = stage
        self._pid = opening.pid
        self._process: int | None = None
        self._appends = opening.appends
        self._instant = opening.service.instant
        #: Where the file's position is if it was only written and read in turn.
        self._position = 0
        self._told_id = _ToldId()

    async def write(self, data: bytes, offset: int) -> int:
        """Add *data* to the message."""
        if not self._appends and offset != self._position:
            self._refuse_to_seek()
        if self._process is None and (self._stage.writes or not self._instant):
            self._process = leader_of(self._pid)  # while the thread is there
        taken = await self._stage.write(data)
        self._position = offset + taken
        return taken

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
        piece = self._told_id.piece(self._stage.told_id, offset, size)
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


class EmptyHandle(Handle):
    """Has enqueued an empty message when it was opened, or has not."""

    def __init__(self, message: MessageId | None) -> None:
        """Tell the id of *message*, if there is one."""
        self._message = message
        self._told_id = _ToldId()

    async def write(self, data: bytes, offset: int) -> int:  # noqa: ARG002 - as its base
        """Refuse."""
        raise BadValue("an empty message takes no bytes; it is enqueued when its file is opened to be truncated")

    async def read(self, offset: int, size: int) -> bytes:
        """Return the message's id and a newline, as `EnqueueHandle.read`."""
        return self._told_id.piece(self._message, offset, size)


class WriterKilled(QueueFSError):
    """A signal ended the writer, or one of its children, before it closed."""

    errno = errno.ECANCELED


class LineVerb(Protocol):
    """What is done with lines."""

    async def act(self, lines: list[bytes]) -> None:
        """Act on all of *lines*, and raise the first failure."""

    async def prepare(self, line: bytes) -> Callable[[], Awaitable[None]]:
        """Check a last line without a newline, and return what acts on it at the last close, without suspending."""


class LinesHandle(Handle):
    """Takes lines."""

    def __init__(self, verb: LineVerb, opening: Opening) -> None:
        """Do with lines what *verb* does."""
        self._verb = verb
        self._pid = opening.pid
        self._process: int | None = None
        #: A line whose newline has not come; it may be a piece of a longer id.
        self._tail = b""
        #: Acts on it at the last close, once it has been checked.
        self._act_on_tail: Callable[[], Awaitable[None]] | None = None
        #: Why nothing is taken any more.
        self._error: QueueFSError | None = None

    async def write(self, data: bytes, offset: int) -> int:  # noqa: ARG002 - lines come one after the other
        """Act on every line that is complete; all are tried, and the first failure is raised.

        After a failure with a piece of a line before or behind it, nothing more is taken. The writer may send all of
        it again or go on with what follows, which can't be told apart; one of the two would make another id of it.
        """
        if self._error is not None:
            raise self._error
        before = self._tail
        *lines, self._tail = (before + data).split(b"\n")
        self._act_on_tail = None
        try:
            if lines:
                await self._verb.act(lines)
            if len(self._tail.strip()) > LONGEST_WORDS or len(self._tail) > LONGEST_LINE:
                raise BadValue(f"the line is too long: {self._tail[:LONGEST_WORDS]!r}")
        except QueueFSError as error:
            if before or self._tail:
                self._error = error
                self._tail = b""
            raise
        if self._tail and self._process is None:
            self._process = leader_of(self._pid)  # while the thread is there
        return len(data)

    async def flush(self) -> None:
        """Say whether the last line, without a newline, can be acted on; it is acted on by the last close."""
        if self._process is not None and is_being_killed(self._process):
            self._tail = b""  # it may be a piece of what should have been written
            self._act_on_tail = None
        if self._tail:
            self._act_on_tail = await self._verb.prepare(self._tail)

    async def release(self) -> None:
        """Act on the last line if it had no newline."""
        if self._act_on_tail is not None:
            await self._act_on_tail()


class SettleLines:
    """Settles by ids or receipts."""

    def __init__(self, opening: Opening, verb: Verb, options: Options) -> None:
        """Settle messages of a queue by *verb*."""
        self._settling = opening.service.settling
        self._queue = opening.queue
        self._verb = verb
        self._options = options

    async def act(self, lines: list[bytes]) -> None:
        """Settle what *lines* name."""
        refs = [_parsed(line) for line in lines]
        good = [ref for ref in refs if isinstance(ref, Ref)]
        answers = iter(await self._settling.settle(self._verb, self._queue, good, self._options) if good else ())
        for ref in refs:
            error = next(answers) if isinstance(ref, Ref) else ref
            if error is not None:
                raise error

    async def prepare(self, line: bytes) -> Callable[[], Awaitable[None]]:
        """Check the last line."""
        return await self._settling.after_close(self._verb, self._queue, Ref.parse(line.strip()), self._options)


def _parsed(line: bytes) -> Ref | QueueFSError:
    try:
        return Ref.parse(line.strip())
    except BadValue as error:
        return error


class CtlLines:
    """The rarer verbs: a word, and what it is for."""

    #: What is done to messages by id, and whether ``all`` can stand there.
    _BY_NAME = MappingProxyType(
        {
            b"pause": (Verb.PAUSE, False),
            b"resume": (Verb.RESUME, False),
            b"cancel": (Verb.CANCEL, False),
            b"retry": (Verb.RETRY, True),
            b"drop": (Verb.DROP, True),
            b"prune": (Verb.PRUNE, True),
        }
    )
    _QUEUE = MappingProxyType({b"pause": b"paused = true", b"resume": b"paused = false"})

    def __init__(self, opening: Opening) -> None:
        """Command a queue."""
        self._service = opening.service
        self._queue = opening.queue

    async def act(self, lines: list[bytes]) -> None:
        """Carry out all of *lines*."""
        failure: QueueFSError | None = None
        for line in lines:
            try:
                await self._command(line, self._service.settling.by_name)
            except QueueFSError as error:
                failure = failure or error
        if failure is not None:
            raise failure

    async def prepare(self, line: bytes) -> Callable[[], Awaitable[None]]:
        """Check the last line."""
        self._parse(line)
        by_name = self._service.settling.by_name_now
        return lambda: self._service.command_after_close(self._queue, lambda: self._command(line, by_name))

    def _parse(self, line: bytes) -> tuple[bytes, list[Ref | None]]:
        """Return the word, and what it is for: nothing for the queue, else a message, or None for all.

        Raises:
            BadValue: it is no command.
        """
        word, *rest = line.split() or [b""]
        if word in self._QUEUE and not rest:
            return word, []
        if word in self._BY_NAME and len(rest) == 1:
            _verb, may_be_all = self._BY_NAME[word]
            if rest == [b"all"] and may_be_all:
                return word, [None]
            return word, [Ref.parse(rest[0])]
        raise BadValue(f"not a command: {line[:LONGEST_WORDS]!r} (pause, resume, and by ID: {_words(self._BY_NAME)})")

    async def _command(self, line: bytes, by_name: Callable[[Verb, QueueId, Ref | None], Awaitable[None]]) -> None:
        word, messages = self._parse(line)
        if not messages:
            await self._service.configure(self._queue, self._QUEUE[word])
        for message in messages:
            await by_name(self._BY_NAME[word][0], self._queue, message)


def _words(words: Mapping[bytes, tuple[Verb, bool]]) -> str:
    return b", ".join(words).decode()


class ConfigHandle(TextHandle):
    """Shows the config; each write is merged into it, whole or not at all."""

    def __init__(self, opening: Opening, make: Callable[[], Awaitable[bytes]]) -> None:
        """Show and change the config of a queue."""
        super().__init__(opening.text, make)
        self._service = opening.service
        self._queue = opening.queue

    async def write(self, data: bytes, offset: int) -> int:  # noqa: ARG002 - each write is for itself
        """Merge *data*."""
        await self._service.configure(self._queue, data)
        self._text = None  # what is read from here on is what it has become
        return len(data)


class ClearHandle(Handle):
    """Clears at every write."""

    def __init__(self, opening: Opening) -> None:
        """Clear a queue."""
        self._service = opening.service
        self._queue = opening.queue

    async def write(self, data: bytes, offset: int) -> int:  # noqa: ARG002 - each write is for itself
        """Remove all unacknowledged messages; any write will do."""
        await self._service.clear(self._queue)
        return len(data)
