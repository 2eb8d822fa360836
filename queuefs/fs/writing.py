"""Open control files that are written."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from queuefs.errors import BadValue, QueueFSError
from queuefs.fs.caller import is_being_killed, leader_of
from queuefs.fs.handles import Handle
from queuefs.fs.reading import TextHandle
from queuefs.lifecycle import Verb
from queuefs.message import Ref

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from queuefs.fs.handles import Opening
    from queuefs.message import QueueId
    from queuefs.options import Options

#: The longest line that can be an id, a receipt or a command, bytes: two numbers of 19 digits, a word, some blanks.
LONGEST_WORDS = 96

#: The longest line at all, blanks included, bytes.
LONGEST_LINE = 4096


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
