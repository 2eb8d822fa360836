"""Where a message goes: to stdout, or to a file that appears when it is whole."""

from __future__ import annotations

import errno
import os
import signal
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

from queuefs.cli.exits import Exit, UserError
from queuefs.cli.sending import write_all
from queuefs.cli.signals import Ended
from queuefs.view.text import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_STDOUT = 1


class Output:
    """stdout."""

    #: What may be left of it if we are ended.
    unfinished: str | None = None

    def check(self) -> None:
        """Fail if it is plain that nothing can be written; so nothing is claimed in vain.

        Raises:
            UserError: with the reason.
        """
        with _failures("stdout"):
            os.fstat(_STDOUT)

    def write(self, pieces: Iterable[bytes]) -> None:
        """Write all of *pieces*, as durably as it can be."""
        for piece in pieces:
            with _failures("stdout"):
                write_all(_STDOUT, piece)
        with _failures("stdout"):
            if stat.S_ISREG(os.fstat(_STDOUT).st_mode):
                os.fsync(_STDOUT)


class FileOutput(Output):
    """A file that is written under another name beside it, and takes its own when it is whole."""

    def __init__(self, file: str) -> None:
        """Write to *file*, or to where it points as a symbolic link."""
        self._called = shown(file)
        self._file = os.path.realpath(file)
        self._directory, name = os.path.split(self._file)
        beginning = name[:50]  # of what may be as long as a name can be
        self.unfinished = f"{self._directory}/.{beginning}.{os.getpid()}.part"

    def check(self) -> None:
        """Fail if the file can't be made or replaced."""
        with _failures(self._called):
            if not stat.S_ISDIR(os.stat(self._directory).st_mode):  # noqa: PTH116 - beside calls that have no Path
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            if not os.access(self._directory, os.W_OK | os.X_OK, effective_ids=True):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            if os.path.lexists(self._file) and not stat.S_ISREG(os.stat(self._file).st_mode):  # noqa: PTH116
                raise UserError(f"{self._called} is no regular file; it can only be written by `>`", Exit.FAILED)

    def write(self, pieces: Iterable[bytes]) -> None:
        """Write all of *pieces*, and let the file appear."""
        assert self.unfinished is not None  # by __init__
        with _failures(self._called):
            fd = os.open(self.unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            for piece in pieces:
                with _failures(self._called):
                    write_all(fd, piece)
            with _failures(self._called):
                os.fsync(fd)
        finally:
            os.close(fd)
        with _failures(self._called):
            os.rename(self.unfinished, self._file)  # noqa: PTH104
            _sync_directory(self._directory)


def _sync_directory(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextmanager
def _failures(called: str) -> Iterator[None]:
    """Tell of an OSError; a pipe that nobody reads ends us as it ends `cat`."""
    try:
        yield
    except BrokenPipeError:
        raise Ended(signal.SIGPIPE) from None
    except OSError as error:
        raise UserError(f"{called}: {os.strerror(error.errno or errno.EIO)}", Exit.FAILED) from error
