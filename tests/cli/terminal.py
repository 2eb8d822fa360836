"""A program in a terminal of its own: keys go in, and what is on the screen comes out."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyte

from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

#: What a program may ask the terminal, and what an xterm answers: fish waits for it.
_ANSWERS = {b"\x1b[c": b"\x1b[?62;c", b"\x1b[0c": b"\x1b[?62;c"}


class Terminal:
    """A screen of characters with a program behind it."""

    def __init__(self, pid: int, fd: int, columns: int, lines: int) -> None:
        """Show what comes from *fd*, the terminal of the process *pid*."""
        self.pid = pid
        self._fd = fd
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        #: All that was ever written to the terminal.
        self.written = b""
        #: As of waitpid(2), once the program has ended.
        self.status: int | None = None

    @property
    def lines(self) -> list[str]:
        """What is on the screen, without the blanks at the ends of lines."""
        return [line.rstrip() for line in self._screen.display]

    @property
    def text(self) -> str:
        """What is on the screen, in one piece."""
        return "\n".join(self.lines)

    @property
    def modes(self) -> list[object]:
        """The terminal's settings, as of tcgetattr(3)."""
        return termios.tcgetattr(self._fd)

    def type(self, keys: str) -> None:
        """Press *keys*."""
        os.write(self._fd, keys.encode())

    def resize(self, columns: int, lines: int) -> None:
        """Change the size of the window."""
        self._screen.resize(lines, columns)
        set_size(self._fd, columns, lines)

    def wait_for(self, is_so: Callable[[str], bool] | str) -> None:
        """Show what comes until the screen holds a text, or until it is as *is_so* says."""
        holds = (lambda text: is_so in text) if isinstance(is_so, str) else is_so
        deadline = time.monotonic() + PATIENCE
        while not holds(self.text):
            assert time.monotonic() < deadline, f"waited for {is_so!r} in vain:\n{self.text}"
            self._take(0.05)

    def wait_for_end(self) -> int:
        """Show what comes until the program ends; return its exit code, or minus the signal."""
        deadline = time.monotonic() + PATIENCE
        while self.status is None:
            assert time.monotonic() < deadline, f"it did not end:\n{self.text}"
            self._take(0.05)
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                self.status = status
        while self._take(0):
            pass
        return os.waitstatus_to_exitcode(self.status)

    def _take(self, seconds: float) -> bool:
        readable, _, _ = select.select([self._fd], [], [], seconds)
        if not readable:
            return False
        try:
            data = os.read(self._fd, 65536)
        except OSError:  # nobody has the terminal open any more
            return False
        for question, reply in _ANSWERS.items():
            if question in data:
                os.write(self._fd, reply)
        self.written += data
        self._stream.feed(data)
        return bool(data)


def set_size(fd: int, columns: int, lines: int) -> None:
    """Set the size of the window of a terminal."""
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))


@contextmanager
def terminal(
    command: Sequence[str | Path],
    *,
    environment: Mapping[str, str],
    columns: int = 80,
    lines: int = 24,
    cwd: Path | None = None,
) -> Iterator[Terminal]:
    """Run *command* in a new terminal; it is killed at the end if it has not ended."""
    ours, theirs = pty.openpty()
    set_size(theirs, columns, lines)
    pid = os.fork()
    if pid == 0:
        try:
            os.close(ours)
            os.login_tty(theirs)
            os.chdir(cwd or "/")
            os.execvpe(command[0], [str(word) for word in command], environment)
        finally:
            os._exit(127)
    os.close(theirs)
    shown = Terminal(pid, ours, columns, lines)
    try:
        yield shown
    finally:
        if shown.status is None:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os.close(ours)
