"""Runs the daemon in the background, while the command waits for its first word.

The daemon is a forked child, not a program started anew: so the URL of the back end stands in no argument list.
The fork comes before trio starts and before any thread.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, NoReturn

import structlog

from queuefs.cli.exits import Exit, UserError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_STDERR = 2

#: What the daemon says on the pipe once the mount answers; otherwise it says an exit code and a line.
_READY = "0 ready"


def run_in_background(work: Callable[[Callable[[], None]], None], *, log_file: Path) -> None:
    """Run *work* in a child of its own session, and return once it has called its argument.

    Raises:
        UserError: what *work* raised, or that the child ended without a word.
    """
    _fill_standard_descriptors()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _be_the_daemon(work, writing)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8", errors="replace") as pipe:
        try:
            word = pipe.read()
        except KeyboardInterrupt:  # it has left the terminal, so that Ctrl-C does not reach it
            os.kill(child, signal.SIGTERM)
            raise
    if word == _READY:
        return
    _, status = os.waitpid(child, 0)
    code, _, line = word.partition(" ")
    if line:
        raise UserError(line, Exit(int(code)))
    if os.WIFSIGNALED(status):
        line = f"the daemon was ended by {signal.Signals(os.WTERMSIG(status)).name} before the mount answered"
    else:
        line = "the daemon ended before the mount answered"
    raise UserError(f"{line} (log: {log_file})", Exit.FAILED)


def _be_the_daemon(work: Callable[[Callable[[], None]], None], pipe: int) -> NoReturn:
    """Run *work* and end the process; nothing of the command's own stack may run a second time."""
    said = False

    def say(word: str) -> None:
        nonlocal said
        if not said:
            said = True
            os.write(pipe, word.encode())
            os.close(pipe)

    code = Exit.FAILED
    try:
        _detach(keep=pipe)
        work(lambda: say(_READY))
        code = Exit.OK
    except UserError as error:
        code = Exit(error.exit_code)
        structlog.get_logger(__name__).error(error.message, exit_code=code.value)
        say(f"{code.value} {error.message}")
    except BaseException as error:  # noqa: BLE001 - whatever it is, the command waits for a word
        code = Exit.BUG
        structlog.get_logger(__name__).critical("the daemon failed", exc_info=error)
        say(f"{code.value} {type(error).__name__}: {error}")
    finally:
        os._exit(code)


def _fill_standard_descriptors() -> None:
    """Put something at 0, 1 and 2 where the caller had them closed: a pipe that landed there would be lost."""
    fd = -1
    while fd <= _STDERR:
        fd = os.open(os.devnull, os.O_RDWR)
    os.close(fd)


def _detach(*, keep: int) -> None:
    """Leave the terminal, the session and the directory, and hold nothing open that was the caller's."""
    os.setsid()
    os.chdir("/")
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):  # stderr becomes the log file once that is open
        os.dup2(nothing, standard)
    os.closerange(3, keep)
    os.closerange(keep + 1, os.sysconf("SC_OPEN_MAX"))
