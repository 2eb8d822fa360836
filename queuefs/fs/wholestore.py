"""Open files for the whole store: `export`, `import` and `check` in `.queuefs/`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from queuefs.errors import BadValue, QueueFSError
from queuefs.fs.handles import Handle
from queuefs.fs.reading import TextHandle
from queuefs.message import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuefs.service import Service
    from queuefs.transfer import Importer, Terms

#: How far back a reader of `export` may seek, bytes; kernels read a little ahead, and out of order.
WINDOW_BYTES = 4 * 1024 * 1024


class ExportHandle(Handle):
    """Makes an export while it is read, from its beginning to its end."""

    def __init__(self, service: Service, roots: Sequence[Sequence[str]]) -> None:
        """Export the queues at *roots* and below; none: all."""
        self._lines = service.whole.export(roots)
        #: The last part of what was made, and where in the whole it begins.
        self._window = bytearray()
        self._begins = 0
        self._ended = False
        self._lock = trio.Lock()

    async def read(self, offset: int, size: int) -> bytes:
        """Return a piece.

        Raises:
            BadValue: it is further back than is kept.
        """
        async with self._lock:
            while offset + size > self._begins + len(self._window) and not self._ended:
                try:
                    self._window += await anext(self._lines)
                except StopAsyncIteration:
                    self._ended = True
                drop = max(0, min(len(self._window) - WINDOW_BYTES, offset - self._begins))
                del self._window[:drop]
                self._begins += drop
            if offset < self._begins:
                raise BadValue("an export is read from its beginning to its end")
            start = offset - self._begins
            return bytes(self._window[start : start + size])

    async def release(self) -> None:
        """Make no more of it."""
        with trio.CancelScope(shield=True):
            await self._lines.aclose()


class ImportHandle(Handle):
    """Takes an export in as it is written."""

    def __init__(self, service: Service, terms: Terms) -> None:
        """Import on *terms*; it begins with the first write."""
        self._service = service
        self._terms = terms
        self._importer: Importer | None = None
        self._error: QueueFSError | None = None
        self._lock = trio.Lock()

    async def write(self, data: bytes, offset: int) -> int:  # noqa: ARG002 - it is a stream
        """Do what the lines say that *data* ends; after one that can't be done, nothing more is taken."""
        async with self._lock:
            if self._error is not None:
                raise self._error
            if self._importer is None:
                self._importer = self._service.whole.begin_import(self._terms)
            try:
                await self._importer.feed(data)
                if self._importer.is_whole:
                    await self._importer.finish()
            except QueueFSError as error:
                self._error = error
                raise
            finally:
                self._service.whole.imported_some()
        return len(data)

    async def flush(self) -> None:
        """Say whether the export was whole; more may follow, from a process that shares the file."""
        if self._error is not None:
            raise self._error
        if self._importer is not None and not self._importer.is_whole:
            raise BadValue(f"the export has lost its end: nothing comes after line {self._importer.lines}")

    async def release(self) -> None:
        """End it."""
        importer = self._importer
        if importer is not None:
            await self._service.command_after_close(ROOT, lambda: self._service.whole.end_import(importer))


class CheckHandle(TextHandle):
    """Checks the store when it is read; ``repair``, written, puts right what is wrong, and is then what is read."""

    def __init__(self, service: Service) -> None:
        """Check nothing yet."""
        super().__init__(None, service.whole.check)
        self._service = service
        #: Where what is read begins; None: at the next read, for a write has moved the position.
        self._starts: int | None = 0

    async def read(self, offset: int, size: int) -> bytes:
        """Return a piece of what was found, or done."""
        if self._starts is None:
            self._starts = offset
        return await super().read(max(0, offset - self._starts), size)

    async def write(self, data: bytes, offset: int) -> int:  # noqa: ARG002 - each write is for itself
        """Repair.

        Raises:
            BadValue: it is another word.
        """
        if data.strip() != b"repair":
            raise BadValue(f"not a command: {data[:80]!r} (repair)")
        self._text = await self._service.whole.repair()
        self._starts = None
        return len(data)
