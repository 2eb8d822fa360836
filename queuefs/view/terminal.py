"""The terminal while a full-screen command has it: keys come one by one, and whatever happens it is given back."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from queuefs.view.keys import Decoder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_STDIN, _STDOUT = 0, 1

#: The other screen, which leaves what was on this one as it was; no cursor.
_ENTER = b"\x1b[?1049h\x1b[?25l"
_LEAVE = b"\x1b[?25h\x1b[?1049l"

#: Seconds after which an escape character is the key of that name, and begins no other.
_ESCAPE_SECONDS = 0.05

#: Only wake the wait: the window has another size; the terminal is to be left for a while; it is ours again.
_WAKING = (signal.SIGWINCH, signal.SIGTSTP, signal.SIGCONT)


class Terminal:
    """The terminal at stdin and stdout."""

    def __init__(self, *, plain: bool) -> None:
        """Take it; *plain*: it can do nothing but print lines."""
        self._plain = plain
        self._keys = Decoder()
        #: None where stdin is no terminal: then there are no keys.
        self._modes = termios.tcgetattr(_STDIN) if os.isatty(_STDIN) else None
        self._woken, self._wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Have the terminal for the time of the block."""
        for number in _WAKING:
            signal.signal(number, _heed)
        before = signal.set_wakeup_fd(self._wake)
        try:
            self._enter()
            yield
        finally:
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            self._leave()
            signal.set_wakeup_fd(before)
            for number in _WAKING:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines."""
        try:
            return os.get_terminal_size(_STDOUT)
        except OSError:
            return 80, 24

    def show(self, lines: list[str]) -> None:
        """Show *lines*, as many as the screen has."""
        if self._plain:
            text = "".join(f"{line.rstrip()}\n" for line in lines if line.strip()) + "\n"
        else:  # what is left of a line is wiped first: behind its last column that would take a character away
            text = "\x1b[H" + "\n".join(f"\x1b[K{line}" for line in lines)
        encoding = sys.stdout.encoding or "ascii"
        rest = memoryview(text.encode(encoding, errors="replace"))
        while rest:
            rest = rest[os.write(_STDOUT, rest) :]

    def wait(self, ready: int, seconds: float) -> list[str]:
        """Return the keys that are pressed; none after *seconds*, when *ready* can be read, or the size is another."""
        files = [ready, self._woken, *([_STDIN] if self._modes else [])]
        readable, _, _ = select.select(files, [], [], _ESCAPE_SECONDS if self._keys.is_amid else max(0.0, seconds))
        if self._woken in readable:
            self._answer_signals()
        if _STDIN in readable:
            return self._keys.feed(os.read(_STDIN, 1024))
        return self._keys.give_up()

    def _answer_signals(self) -> None:
        numbers = os.read(self._woken, 1024)
        if signal.SIGTSTP in numbers:
            self._leave()
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTSTP)  # here we stop, and go on when somebody says so
            signal.signal(signal.SIGTSTP, _heed)
        if signal.SIGCONT in numbers or signal.SIGTSTP in numbers:
            self._enter()

    def _enter(self) -> None:
        if self._modes is not None:
            modes = [*self._modes]
            modes[3] &= ~(termios.ECHO | termios.ICANON)
            modes[6] = [*modes[6]]
            modes[6][termios.VMIN], modes[6][termios.VTIME] = 1, 0
            termios.tcsetattr(_STDIN, termios.TCSADRAIN, modes)
        if not self._plain:
            os.write(_STDOUT, _ENTER)

    def _leave(self) -> None:
        with suppress(OSError, termios.error):  # it may have gone
            if not self._plain:
                os.write(_STDOUT, _LEAVE)
            if self._modes is not None:
                termios.tcsetattr(_STDIN, termios.TCSANOW, self._modes)


def _heed(_number: int, _frame: FrameType | None) -> None:
    """Do nothing but wake the wait, by `signal.set_wakeup_fd`."""
