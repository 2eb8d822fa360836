"""A process that does what may have to wait for a mount, so that keys are always heard.

Not a thread: a call on a mount whose daemon hangs can't be ended by anything, and neither can a process one of whose
threads is in it.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import struct
import traceback
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_LENGTH = struct.Struct("=Q")


class WorkerGone(Exception):
    """The process that looks at the mount has ended."""


class Worker:
    """Does one thing after the other, and keeps what comes of each until it is taken."""

    def __init__(self, tasks: Mapping[str, Callable[..., object]]) -> None:
        """Start the process, in which each of *tasks* can be done by its name."""
        theirs, self._orders = os.pipe2(os.O_CLOEXEC)
        #: Can be read when there is a result.
        self.ready, answers = os.pipe2(os.O_CLOEXEC)
        self._child = os.fork()
        if self._child == 0:
            os.close(self._orders)
            os.close(self.ready)
            _work(tasks, theirs, answers)
        os.close(theirs)
        os.close(answers)

    def do(self, task: str, *arguments: object) -> None:
        """Have *task* done with *arguments*, after all that was asked for before."""
        _send(self._orders, (task, arguments))

    def results(self) -> Iterator[Any]:
        """Yield what has come of tasks that are done by now.

        Raises:
            Exception: whatever a task raised.
        """
        while select.select([self.ready], [], [], 0)[0]:
            try:
                result = _receive(self.ready)
            except EOFError:
                raise WorkerGone(WorkerGone.__doc__) from None
            if isinstance(result, Exception):
                raise result
            yield result

    def end(self) -> None:
        """End the process, as soon as the mount lets it; that is not waited for."""
        os.close(self._orders)
        os.close(self.ready)
        os.kill(self._child, signal.SIGKILL)


def _work(tasks: Mapping[str, Callable[..., object]], orders: int, answers: int) -> NoReturn:
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the other process, whose end ends this one
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):  # who waits for the end of these waits for the other process, not for this one
            os.dup2(nothing, standard)
        while True:
            task, arguments = _receive(orders)
            try:
                result = tasks[task](*arguments)
            except Exception as error:  # noqa: BLE001 - it is raised where the result is taken
                error.add_note(traceback.format_exc())
                result = error
            _send(answers, result)
    except (BrokenPipeError, EOFError):  # nobody asks any more
        pass
    finally:
        os._exit(0)


def _send(fd: int, what: object) -> None:
    data = pickle.dumps(what)
    rest = memoryview(_LENGTH.pack(len(data)) + data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _receive(fd: int) -> Any:
    (length,) = _LENGTH.unpack(_read(fd, _LENGTH.size))
    return pickle.loads(_read(fd, length))  # noqa: S301 - from ourselves


def _read(fd: int, size: int) -> bytes:
    pieces = []
    while size:
        piece = os.read(fd, size)
        if not piece:
            raise EOFError
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)
