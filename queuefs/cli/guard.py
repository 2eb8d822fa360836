"""A child process that gives a claimed message back if the command that claimed it ends before it has said otherwise.

Nothing else hears of SIGKILL. It has a session of its own, so that neither Ctrl-C nor a signal to the whole group
reaches it; what kills it as well (the end of the machine, or of a cgroup) leaves the message to the lease.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn, Self

if TYPE_CHECKING:
    from types import TracebackType

#: The file that takes the message back; the reason is kept with it.
_NACK = "nack,reason=get ended before all of it was written"

_PIECE = 4096


class Guard:
    """Stands by while a message is held; leaving the block ends it, and the message is back by then."""

    def __init__(self, queue: int, leftover: str | None) -> None:
        """Start the child.

        Args:
            queue: The queue's directory, open.
            leftover: A file that is removed if it is there at the end.
        """
        reading, self._pipe = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            _stand_by(reading, queue, leftover)
        os.close(reading)

    def hold(self, ref: str) -> None:
        """From now on it is the message *ref*, an id or a receipt, that would be given back; empty: none."""
        os.write(self._pipe, f"{ref}\n".encode())

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let the child do what is left to do, and wait for its end."""
        os.close(self._pipe)
        os.waitpid(self._child, 0)


def _stand_by(pipe: int, queue: int, leftover: str | None) -> NoReturn:
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        _keep_only(pipe, queue)
        told = b""
        while piece := os.read(pipe, _PIECE):
            told += piece
        _finish(told.split(b"\n")[:-1], queue, leftover)
    finally:
        os._exit(0)


def _keep_only(*kept: int) -> None:
    """Let go of what is the caller's: a pipe that we held open would never end."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        if standard not in kept:
            os.dup2(nothing, standard)
    start = 3
    for fd in sorted(fd for fd in kept if fd >= start):
        os.closerange(start, fd)
        start = fd + 1
    os.closerange(start, os.sysconf("SC_OPEN_MAX"))


def _finish(told: list[bytes], queue: int, leftover: str | None) -> None:
    if leftover is not None:
        with suppress(FileNotFoundError):
            os.unlink(leftover)  # noqa: PTH108 - the child has not much to do, and nothing to load for it
    if not told or not told[-1]:
        return
    fd = os.open(_NACK, os.O_WRONLY, dir_fd=queue)
    with suppress(OSError):  # the claim is over by now: it was undone, or its lease has ended
        os.write(fd, told[-1] + b"\n")
    os.close(fd)
