"""What every open control file answers, and what it is opened with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from queuefs.fs.caller import WaitingCaller

if TYPE_CHECKING:
    from pyfuse3 import InodeT

    from queuefs.message import QueueId
    from queuefs.service import Service


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """One open(2) of a control file."""

    service: Service
    queue: QueueId
    #: What the look-up made of its text, if it has one.
    text: bytes | None
    #: The thread that opens it; 0 if it can't be seen.
    pid: int
    inode: InodeT
    #: It may be made to wait: O_NONBLOCK is not set.
    may_wait: bool
    #: Its writes have no place: O_APPEND is set.
    appends: bool
    #: It begins anew: O_TRUNC is set.
    truncates: bool

    def caller(self) -> WaitingCaller:
        """Return what can be seen of who opened it, for a wait."""
        return WaitingCaller(self.pid, self.inode)


class Handle:
    """An open file; the kernel sends no read or write that its mode forbids."""

    async def read(self, offset: int, size: int) -> bytes:
        """Return at most *size* bytes from *offset* on."""
        raise NotImplementedError

    async def write(self, data: bytes, offset: int) -> int:
        """Take *data* and return how many bytes of it were taken; where it belongs, *offset*, matters to few."""
        raise NotImplementedError

    def truncate(self, size: int) -> None:
        """Answer ftruncate(2); most have nothing to do."""

    async def flush(self) -> None:
        """Answer the close of one descriptor; there may be more of this open."""

    async def release(self) -> None:
        """Answer the last close; must not suspend."""
