"""Open `enqueue` files: a message, many of them, or an empty one."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, NoReturn

from queuefs.errors import BadValue, QueueFSError
from queuefs.fs.caller import is_being_killed, leader_of
from queuefs.fs.handles import Handle

if TYPE_CHECKING:
    from queuefs.fs.handles import Opening
    from queuefs.lines import LineStage
    from queuefs.message import MessageId
    from queuefs.options import EnqueueOptions
    from queuefs.stage import Stage


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
