"""Reads payloads, whole and checked, or a piece."""

from __future__ import annotations

import zlib
from sqlite3 import DatabaseError
from typing import TYPE_CHECKING

import structlog

from queuefs.errors import StoreDamaged
from queuefs_sqlite.faults import is_damage, loses_connection

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from queuefs_sqlite.rows import Row
    from queuefs_sqlite.statements import Statements

log = structlog.get_logger(__name__)

#: The most bytes in one row of payload. A piece is read by walking there from the row's beginning: 128 KiB take 0.1 ms
#: from a row of 256 KiB, 0.4 ms from one of 1 MiB, and 70 ms from one of 64 MiB.
PART_BYTES = 256 << 10


def parts(data: bytes | memoryview, *, after: int = 0) -> Iterator[tuple[int, memoryview]]:
    """Divide what begins at byte *after* of a payload into rows: where each begins, and its bytes."""
    view = memoryview(data)
    for at in range(0, len(data), PART_BYTES):
        yield after + at, view[at : at + PART_BYTES]


class Payloads:
    """The payloads of a store, and which of them are known to be spoilt."""

    def __init__(self, statements: Statements) -> None:
        """Read them by *statements*."""
        self._statements = statements
        #: Messages whose payload was found damaged; each is logged once.
        self._damaged: set[int] = set()
        #: Messages whose payload the disk does not give; they are not tried again by this daemon.
        self._unreadable: set[int] = set()

    def remember(self, before: Payloads) -> None:
        """Take over what was found out on a connection that was lost."""
        self._damaged |= before._damaged
        self._unreadable |= before._unreadable

    def forgive(self, message: int) -> None:
        """Forget that a payload was damaged: there is another one now."""
        self._damaged.discard(message)
        self._unreadable.discard(message)

    @property
    def damaged(self) -> int:
        """How many messages are known whose payload can't be read."""
        return len(self._damaged)

    def readable(self, rows: Iterable[Row], count: int, *, inline: int | None) -> list[tuple[Row, bytes | None]]:
        """Return the first *count* of *rows* whose payloads can be read, or are longer than *inline*, in order."""
        found: list[tuple[Row, bytes | None]] = []
        for row in rows:
            is_long = inline is not None and row.size > inline
            data = None if is_long else self.whole(row)
            if is_long or data is not None:
                found.append((row, data))
                if len(found) == count:
                    break
        return found

    def whole(self, row: Row) -> bytes | None:
        """Return a message's payload, None if it is missing or not what was put in."""
        data = None if row.id in self._unreadable else self._read(row)
        if data is not None and len(data) == row.size and zlib.crc32(data) == row.crc:
            return data
        if row.id not in self._damaged:
            self._damaged.add(row.id)
            log.error("payload damaged; the message is skipped and stays where it is", message=row.id, size=row.size)
        return None

    def _read(self, row: Row) -> bytes | None:
        try:
            body = self._statements.first("body", row.id)
            if body is None or not row.chunks:
                return body and body[0]  # type: ignore[no-any-return]  # the column is a BLOB
            return b"".join([body[0], *(data for (data,) in self._statements.run("chunks", row.id))])
        except DatabaseError as error:
            if is_damage(error):
                return None
            if loses_connection(error):
                # SQLite has rolled back the transaction; when the batch is played again, this one is passed over.
                self._unreadable.add(row.id)
            raise

    def piece(self, row: Row, *, offset: int, size: int) -> bytes:
        """Return a part of a message's payload, at whose end there may be less.

        Raises:
            StoreDamaged: it is missing.
        """
        end = min(offset + size, row.size)
        if offset >= end:
            return b""
        try:
            found = self._piece(row.id, offset, end)
        except DatabaseError as error:
            if not is_damage(error):
                raise
            found = b""
        if len(found) < end - offset:
            raise StoreDamaged(f"a part of the payload of message {row.id} is missing")
        return found

    def _piece(self, message: int, offset: int, end: int) -> bytes:
        """Return the bytes from *offset* on and before *end*, or those before the first that is missing."""
        found: list[bytes] = []
        at = offset
        body = self._statements.first("body_piece", message, offset, end - offset, PART_BYTES)
        if body is not None and body[0] > offset:
            length, data = body
            found.append(self._walk("body", message, offset, end) if data is None else data)
            at = min(length, end)
        if at < end:
            for rowid, position, length, data in self._statements.run("chunk_pieces", message, at, end, PART_BYTES):
                if position > at or position + length <= at:
                    break
                found.append(self._walk("chunk", rowid, at - position, end - position) if data is None else data)
                at = min(position + length, end)
        return b"".join(found)

    def _walk(self, table: str, rowid: int, offset: int, end: int) -> bytes:
        """Read from a row that is longer than new ones are, without taking all of it to memory."""
        with self._statements.db.blobopen(table, "data", rowid, readonly=True) as blob:
            blob.seek(offset)
            return blob.read(end - offset)
