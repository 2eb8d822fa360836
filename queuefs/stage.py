"""One message while it is written."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import trio

from queuefs.errors import MessageTooBig, QueueFSError

if TYPE_CHECKING:
    from queuefs.backend import Backend
    from queuefs.clock import Clock
    from queuefs.handover import Handover
    from queuefs.message import MessageId, QueueId

#: Up to this size every write is stored before it is confirmed, bytes. A shell's `echo` ignores the result of close, so
#: what it writes must be safe before; storing each piece of a big message at once would cost a commit per piece.
STORED_AT_WRITE = 64 * 1024


class Stage:
    """All the bytes written between an open and its last close.

    A write that fails spoils the message: what follows fails the same way, and the last close stores nothing. Half a
    message is no message.
    """

    __slots__ = (
        "_backend",
        "_clock",
        "_error",
        "_handover",
        "_limit",
        "_lock",
        "_partial",
        "_queue",
        "_size",
        "_stored",
        "_tail",
        "id",
        "writes",
    )

    def __init__(self, backend: Backend, handover: Handover, queue: QueueId, *, limit: int, clock: Clock) -> None:
        """Begin a message for *queue* of at most *limit* bytes; nothing is stored before the first write."""
        self._backend = backend
        self._handover = handover
        self._queue = queue
        self._limit = limit
        self._clock = clock
        #: Given by the first stored write.
        self.id: MessageId | None = None
        #: How many writes have been confirmed.
        self.writes = 0
        self._size = 0
        self._stored = 0
        self._tail: list[bytes] = []
        self._partial = False
        self._error: QueueFSError | None = None
        # A process that shares the file may close its copy (FLUSH) while another writes. Where answers are instant
        # nothing can come in between.
        self._lock = nullcontext() if backend.traits.instant else trio.Lock()

    async def write(self, data: bytes) -> None:
        """Add *data*; when this returns, all of the message's first 64 KiB are stored.

        Raises:
            MessageTooBig: the message would be over the limit.
            QueueFSError: the back end's error, or that of an earlier write.
        """
        async with self._lock:
            if self._error is not None:
                raise self._error
            try:
                await self._write(data)
            except QueueFSError as error:
                self._error = error
                raise

    async def _write(self, data: bytes) -> None:
        size = self._size + len(data)
        if size > self._limit:
            raise MessageTooBig(f"{size} bytes or more; the limit is {self._limit}")
        if size <= STORED_AT_WRITE:
            await self._store(data, partial=False)
        else:
            if not self._partial:
                await self._store(b"", partial=True)
            self._tail.append(data)
        self._size = size
        self.writes += 1

    async def _store(self, data: bytes, *, partial: bool) -> None:
        if self.id is None:
            self.id = await self._backend.stage(self._queue, data, partial=partial, priority=0, now=self._clock.now())
        else:
            await self._backend.append(self._queue, self.id, data, offset=self._stored, partial=partial)
        self._stored += len(data)
        self._partial = partial

    async def flush(self) -> None:
        """Store what is not stored yet, so that a program which checks its close learns of a failure.

        Raises:
            QueueFSError: it can't be stored, or an earlier write could not.
        """
        async with self._lock:
            if self._error is not None:
                raise self._error
            if not self._tail:
                return
            data = b"".join(self._tail)
            self._tail.clear()
            try:
                await self._store(data, partial=False)
            except QueueFSError as error:
                self._error = error
                raise

    def spoil(self, error: QueueFSError) -> None:
        """Let the message come to nothing: every later write fails with *error*."""
        self._error = error

    @property
    def is_begun(self) -> bool:
        """Whether anything has been stored."""
        return self.id is not None

    async def close(self) -> None:
        """Publish the message if it is whole, else drop it; never suspends (see `queuefs.handover`)."""
        message = self.id
        if message is None:
            return
        if self._error is None and not self._tail:
            await self._handover.until_done(self._queue, lambda: self._backend.publish(self._queue, message))
        else:
            await self._handover.until_done(self._queue, lambda: self._backend.discard(self._queue, message))
