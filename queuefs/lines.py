"""Many messages while they are written: each line is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs.errors import QueueFSError
from queuefs.stage import Stage

if TYPE_CHECKING:
    from queuefs.message import MessageId, QueueId
    from queuefs.stage import Terms, Tools


class LineStage:
    """One open of ``enqueue,lines``: a line becomes a message when its newline comes, the last one at the last close.

    Blank lines are none.
    """

    def __init__(self, tools: Tools, queue: QueueId, terms: Terms) -> None:
        """Begin; nothing is stored before the first write."""
        self._tools = tools
        self._queue = queue
        self._terms = terms
        #: The line whose newline has not come.
        self._open: Stage | None = None
        #: How many writes have been confirmed.
        self.writes = 0

    async def write(self, data: bytes) -> int:
        """Take the lines of *data*, and what there is of the last; return how many bytes were taken.

        Fewer than all are taken when a line fails that is not the first: what follows comes again with the next write,
        which then fails.

        Raises:
            QueueFSError: the first line could not be taken; as of `Stage.write`.
        """
        *lines, rest = data.split(b"\n")
        taken = 0
        for line in lines:
            if not await self._take(line, is_first=taken == 0):
                return taken
            await self._end_line(is_first=taken == 0)
            taken += len(line) + 1
        if rest and not await self._take(rest, is_first=taken == 0):
            return taken
        self.writes += 1
        return len(data)

    async def _take(self, piece: bytes, *, is_first: bool) -> bool:
        if not piece:
            return True
        stage = self._open or Stage(self._tools, self._queue, self._terms)
        try:
            await stage.write(piece)
        except QueueFSError:
            if is_first:
                raise
            return False
        self._open = stage
        return True

    async def _end_line(self, *, is_first: bool) -> None:
        del is_first
        stage, self._open = self._open, None
        if stage is not None:
            await stage.flush()
            await stage.close()

    @property
    def is_begun(self) -> bool:
        """Whether there is a line whose newline has not come."""
        return self._open is not None

    @property
    def told_id(self) -> MessageId | None:
        """The id of the line that is being written."""
        return self._open.told_id if self._open else None

    def spoil(self, error: QueueFSError) -> None:
        """Let the last line come to nothing."""
        if self._open is not None:
            self._open.spoil(error)

    async def flush(self) -> None:
        """Store what there is of the last line; errors as of `Stage.flush`."""
        if self._open is not None:
            await self._open.flush()

    async def close(self) -> None:
        """Publish the last line if it had no newline; never suspends."""
        if self._open is not None:
            await self._open.close()
