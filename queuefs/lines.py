"""Many messages while they are written: each line is one."""

from __future__ import annotations

import itertools
import re
from collections import deque
from typing import TYPE_CHECKING

from queuefs.errors import QueueFSError, QueueFull
from queuefs.stage import NOTHING_TAKEN, STORED_AT_WRITE, Stage

if TYPE_CHECKING:
    from queuefs.message import MessageId, QueueId
    from queuefs.parts import Parts
    from queuefs.stage import Terms
    from queuefs.writers import Patience


#: A line with its newline, or the last one without.
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")


#: How many lines are handed over at a time; as many as a batch of the group commit takes.
TOGETHER = 256


class LineStage:
    """One open of ``enqueue,lines``: a line becomes a message when its newline comes, the last one at the last close.

    Blank lines are none.
    """

    def __init__(self, parts: Parts, queue: QueueId, terms: Terms, patience: Patience | None) -> None:
        """Begin; nothing is stored before the first write."""
        self._parts = parts
        self._patience = patience
        self._queue = queue
        self._terms = terms
        #: The line whose newline has not come.
        self._open: Stage | None = None
        #: Why nothing is taken any more.
        self._error: QueueFSError | None = None
        #: How many writes have been confirmed.
        self.writes = 0

    async def write(self, data: bytes) -> int:
        """Take the lines of *data*, and what there is of the last; return how many bytes were taken.

        Fewer than all are taken when a line fails that is not the first: what follows comes again with the next write,
        which then fails. After a failure with a piece of a line before or behind it nothing more is taken: the writer
        may go on with the rest of that line, which would make another message of it.

        Raises:
            QueueFSError: the first line could not be taken; as of `Stage.write`.
        """
        if self._error is not None:
            raise self._error
        goes_on = self._open is not None
        pieces = deque(_LINE.findall(data))
        taken = 0
        while pieces:
            try:
                taken += await self._take_together(pieces) or await self._take(pieces.popleft())
            except QueueFSError as error:
                if taken:
                    return taken
                if not isinstance(error, NOTHING_TAKEN) and (goes_on or not data.endswith(b"\n")):
                    self._error = error
                raise
        self.writes += 1
        return taken

    async def _take_together(self, pieces: deque[bytes]) -> int:
        """Take the first of *pieces*, as far as they are plain lines, off the deque; return how many bytes these are.

        They are handed over before the first answer is waited for, so that a back end which commits has one commit for
        all. What is not taken, by its kind or because of an error, is left for `_take`, which meets the error again.
        """
        batch = list(itertools.takewhile(self._is_plain, itertools.islice(pieces, TOGETHER)))
        if self._open is not None or len(batch) < 2:  # noqa: PLR2004 - one is no company
            return 0
        stages = [Stage(self._parts, self._queue, self._terms, self._patience) for _ in batch]
        tickets = [stage.store_whole(piece[:-1]) for stage, piece in zip(stages, batch, strict=True)]
        taken, failed = 0, False
        for stage, ticket in zip(stages, tickets, strict=True):
            try:
                stage.stored(await ticket)
            except QueueFSError:
                failed = True
                continue
            if failed:  # behind one that was not taken, none is
                stage.spoil(QueueFull())
            else:
                taken += len(pieces.popleft())
            await stage.close()
        return taken

    def _is_plain(self, piece: bytes) -> bool:
        terms = self._terms
        return (
            1 < len(piece) <= min(STORED_AT_WRITE, terms.limit)
            and piece.endswith(b"\n")
            and terms.size is None
            and terms.draft.key is None
        )

    async def _take(self, piece: bytes) -> int:
        line = piece.removesuffix(b"\n")
        stage = self._open
        if stage is None:
            if not line:
                return len(piece)
            stage = Stage(self._parts, self._queue, self._terms, self._patience)
        try:
            if line:
                await stage.write(line)
            if len(line) < len(piece):
                await self._end(stage)
        except NOTHING_TAKEN:
            raise
        except QueueFSError as error:
            stage.spoil(error)
            self._open = None
            await stage.close()
            raise
        self._open = stage if len(line) == len(piece) else None
        return len(piece)

    async def _end(self, stage: Stage) -> None:
        try:
            await stage.flush()
        except NOTHING_TAKEN as error:  # but pieces of it had been taken before
            raise QueueFull(str(error)) from error
        await stage.close()

    @property
    def is_begun(self) -> bool:
        """Whether there is a line whose newline has not come, or something to say of one that failed."""
        return self._open is not None or self._error is not None

    @property
    def told_id(self) -> MessageId | None:
        """The id of the line that is being written."""
        return self._open.told_id if self._open else None

    def spoil(self, error: QueueFSError) -> None:
        """Let the last line come to nothing."""
        if self._open is not None:
            self._open.spoil(error)

    async def flush(self) -> None:
        """Store what there is of the last line; errors as of `Stage.flush`, and what ended the writing."""
        if self._error is not None:
            raise self._error
        if self._open is not None:
            await self._open.flush()

    async def close(self) -> None:
        """Publish the last line if it had no newline; never suspends."""
        if self._open is not None:
            await self._open.close()
