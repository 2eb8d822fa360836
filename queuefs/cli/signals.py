"""How a command meets signals: as `cat` does, or by putting things in order first."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


class Ended(BaseException):
    """A signal ends the command."""

    def __init__(self, number: int) -> None:
        """Keep which."""
        super().__init__(number)
        self.number = number


def ending_signals() -> list[int]:
    """Return the signals that end the process; what the caller ignores stays ignored: `nohup` ignores SIGHUP."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]


def be_a_plain_tool() -> None:
    """Let SIGINT and SIGPIPE end the process as they end `cat`: at once, without a word."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


@contextmanager
def in_good_order() -> Iterator[None]:
    """Let signals that end the process raise `Ended` within the block, and end it once the block has been left."""

    def end(number: int, _frame: FrameType | None) -> NoReturn:
        raise Ended(number)

    for number in ending_signals():
        signal.signal(number, end)
    try:
        yield
    except Ended as error:
        signal.signal(error.number, signal.SIG_DFL)
        os.kill(os.getpid(), error.number)
        raise  # not reached, unless the signal is blocked
