"""Claims one message of a queue, and reads it piece by piece."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from queuefs.cli.exits import Exit, UserError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import ExitStack

    from queuefs.cli.guard import Guard

#: Bytes that are read at a time.
PIECE = 1024 * 1024

#: What is read to learn the id: the longest one with its newline; of a JSON line the beginning, and never all of it.
_HEAD = 32
_ID = re.compile(rb'(?:\{"id":")?([0-9]+)')


class Claim(NamedTuple):
    """A message in processing that is ours."""

    message: str
    #: Names this claim and no other.
    receipt: str
    #: Its payload, or `dequeue` with the rest of its JSON line, open.
    fd: int
    #: What has been read of it.
    head: bytes
    #: How long it is in all; None for a JSON line, which ends where it ends.
    size: int | None

    def pieces(self) -> Iterator[bytes]:
        """Yield all of it."""
        done = 0
        piece = self.head or os.read(self.fd, PIECE)
        while piece:
            done += len(piece)
            yield piece
            piece = os.read(self.fd, PIECE)
        if self.size not in (None, done):
            raise UserError(f"message {self.message} was settled by somebody else meanwhile", Exit.FAILED)


class Claims:
    """Claims and settles messages of one queue."""

    def __init__(self, directory: int, guard: Guard, files: ExitStack) -> None:
        """Work on the queue whose *directory* is open; *guard* holds what is ours, *files* closes what is opened."""
        self._directory = directory
        self._guard = guard
        self._files = files

    def claim(self, options: list[str], *, as_json: bool) -> Claim | None:
        """Claim the next message by *options* of `dequeue`; None if there is none."""
        fd = self._open(",".join(["dequeue", *([] if as_json else ["id"]), *options]), os.O_RDONLY)
        head = bytearray(_HEAD)
        found = None
        try:
            os.readv(fd, [head])
        finally:  # a signal that comes now raises here, and what has been read is in the buffer all the same
            found = _ID.match(head)
            if found and not as_json:  # a JSON line that is not read to its end undoes the claim by itself
                self._guard.hold(found[1].decode())
        if found is None:
            return None
        message = found[1].decode()
        payload = self._open(f"processing/{message}", os.O_RDONLY)
        receipt = os.getxattr(payload, "user.queuefs.receipt").decode()
        self._guard.hold(receipt)
        if as_json:
            return Claim(message, receipt, fd, bytes(head), None)
        return Claim(message, receipt, payload, b"", os.fstat(payload).st_size)

    def ack(self, claim: Claim) -> None:
        """Say that the message is done."""
        os.write(self._open("ack", os.O_WRONLY), f"{claim.receipt}\n".encode())

    def _open(self, name: str, flags: int) -> int:
        fd = os.open(name, flags | os.O_CLOEXEC, dir_fd=self._directory)
        self._files.callback(os.close, fd)
        return fd
