"""Looks at every part of a payload, whatever is left of it."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from queuefs_sqlite.payloads import PART_BYTES

if TYPE_CHECKING:
    from queuefs_sqlite.rows import Row
    from queuefs_sqlite.statements import Statements

#: A part that is missing.
_ZEROS = bytes(PART_BYTES)


@dataclass(slots=True)
class Examined:
    """What there is of a payload: its parts in order, with zeros where one is missing."""

    #: Bytes, and their checksum.
    size: int = 0
    crc: int = 0
    #: Parts beside the first, those included that are missing.
    chunks: int = 0
    #: The size of the first where it is missing; None where it is there.
    body: int | None = 0
    #: Others that are missing: where each begins, and how many bytes.
    gaps: list[tuple[int, int]] = field(default_factory=list)
    #: Parts that overlap others, or begin behind the end: their rows.
    extra: list[int] = field(default_factory=list)
    #: Whether it is what was put in.
    is_whole: bool = False

    def take(self, data: bytes) -> None:
        """Add a part."""
        self.size += len(data)
        self.crc = zlib.crc32(data, self.crc)

    def leave_out(self, until: int) -> None:
        """Add zeros for parts that are missing."""
        while self.size < until:
            part = min(PART_BYTES, until - self.size)
            if self.size == 0 and self.body is not None:
                self.body = part
            else:
                self.gaps.append((self.size, part))
                self.chunks += 1
            self.take(_ZEROS[:part])


def examine(statements: Statements, row: Row) -> Examined:
    """Read the payload of *row*, one part at a time."""
    found = Examined()
    body = statements.first("body", row.id)
    if body is not None:
        found.body = None
        found.take(body[0])
    for rowid, position, data in statements.run("audit_chunks", row.id):
        if position < found.size or position >= row.size:
            found.extra.append(rowid)
            continue
        found.leave_out(position)
        found.take(data)
        found.chunks += 1
    is_there = found.body is None and not found.gaps
    found.is_whole = is_there and (found.size, found.crc) == (row.size, row.crc)
    return found
