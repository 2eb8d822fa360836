"""Writes one message into a queue, and sees to it that half of it never becomes one."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Bytes that are read and written at a time.
PIECE = 1024 * 1024

#: More than an id and a newline have.
_ID_BYTES = 64


def send(queue: str, options: list[str], pieces: Iterator[bytes], size: int | None = None) -> str:
    """Enqueue *pieces* as one message, and return its id once it is stored and published.

    *size* is its length where that is known; of a message of one piece it always is. The mount is told, so that it
    takes nothing else: a message of which the rest did not come, because a signal ended us, is none.
    """
    first, second = next(pieces, b""), next(pieces, b"")
    if not second:
        size = len(first)
    if not first:
        return _send_nothing(queue, options)
    known = [] if size is None else [f"size={size}"]
    with _spoiled_by_errors(_name(queue, [*options, *known]), os.O_RDWR) as fd:
        # The daemon looks at who writes from the second write on (on the memory back end, where a look costs more than
        # the message): so that is made before anything has to be waited for.
        write_all(fd, first[:1])
        write_all(fd, first[1:])
        while second:
            write_all(fd, second)
            second = next(pieces, b"")
        return os.read(fd, _ID_BYTES).decode().rstrip("\n")


def send_lines(queue: str, options: list[str], pieces: Iterator[bytes]) -> None:
    """Enqueue each line of *pieces* as a message, many at a time."""
    with _spoiled_by_errors(_name(queue, ["lines", *options]), os.O_WRONLY) as fd:
        for piece in pieces:
            write_all(fd, piece)


def _send_nothing(queue: str, options: list[str]) -> str:
    """Enqueue an empty message: no write would reach the daemon, so the open itself says it."""
    with _spoiled_by_errors(_name(queue, ["empty", *options]), os.O_RDWR | os.O_TRUNC) as fd:
        return os.read(fd, _ID_BYTES).decode().rstrip("\n")


def write_all(fd: int, data: bytes) -> None:
    """Write all of *data*."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _name(queue: str, options: list[str]) -> str:
    return ",".join([f"{queue}/enqueue", *options])


@contextmanager
def _spoiled_by_errors(path: str, flags: int) -> Iterator[int]:
    """Open *path*; what goes wrong within the block lets the message come to nothing before the file is closed."""
    fd = os.open(path, flags | os.O_CLOEXEC)
    try:
        yield fd
    except BaseException:
        with suppress(OSError):
            os.pwrite(fd, b"x", os.lseek(fd, 0, os.SEEK_CUR) + 1)  # a hole is refused, and spoils what was before it
        with suppress(OSError):
            os.close(fd)
        raise
    os.close(fd)
