"""The files beside the database: the lock that keeps a second daemon out, and the reserve for a full disk."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import structlog

from queuefs.errors import BackendError, BackendUnavailable, StoreFull, StoreInUse, StoreUnusable
from queuefs.message import MAX_MESSAGE_ID

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

log = structlog.get_logger(__name__)

_OWN_FILE = 0o600
_OWN_DIRECTORY = 0o700
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT}

#: Bytes of a line in the lock file; they are overwritten in place, which needs no room.
_LINE = 20


def beside(path: Path, suffix: str) -> Path:
    """Return the file that belongs to the database *path*, such as its ``-wal``."""
    return path.with_name(path.name + suffix)


def _line(number: int) -> bytes:
    return b"%-19d\n" % number


def make_parents(path: Path) -> None:
    """Create the directories that *path* lies in, for their owner alone.

    Raises:
        StoreUnusable: that is not possible.
    """
    if path.is_dir():
        raise StoreUnusable(f"{path} is a directory, not a database file")
    missing = [directory for directory in path.parents if not directory.exists()]
    try:
        for directory in reversed(missing):
            directory.mkdir(_OWN_DIRECTORY, exist_ok=True)
    except OSError as error:
        raise StoreUnusable(f"the directory of {path} can't be made: {error.strerror}") from error


def make_file(path: Path) -> os.stat_result:
    """Create *path* if it is missing, for its owner alone, and see that it can be written; return what it is.

    Raises:
        StoreUnusable: it is no regular file, or can't be written.
    """
    existed = path.exists()
    try:
        # O_NONBLOCK: opening a FIFO would wait for its other end.
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, _OWN_FILE)
    except OSError as error:
        raise StoreUnusable(f"{path} can't be opened for writing: {error.strerror}") from error
    try:
        found = os.fstat(fd)
    finally:
        os.close(fd)
    if not stat.S_ISREG(found.st_mode):
        raise StoreUnusable(f"{path} is not a regular file")
    if found.st_nlink > 1:
        raise StoreUnusable(f"{path} has another name (a hard link), under which another daemon could have it open")
    if not existed:
        _sync_directory(path.parent)
    return found


def _sync_directory(directory: Path) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)  # a new file's name is durable only then
    finally:
        os.close(fd)


class IdMark:
    """A number beside the database up to which message ids may have been given: ids above it never were.

    The database counts the ids itself, but one that is put back from a backup counts from its own past. So blocks of
    ids are marked as used, before the first of a block is given, in a file that no backup's return touches. A clean
    close lowers the mark to the last id, and after a crash the rest of a block is skipped. Where the mark is lost or
    is put back together with the database, nothing can tell which ids were given meanwhile.
    """

    #: Ids in a block; one fdatasync for each.
    BLOCK = 1000

    def __init__(self, fd: int) -> None:
        """Keep the mark in the lock file *fd*, behind its first line."""
        self._fd = fd
        text = os.pread(fd, _LINE, _LINE).strip()
        self.mark = int(text) if text.isdigit() else 0

    def cover(self, message: int) -> None:
        """Make sure that the mark is not below *message*; must be called before it is given.

        Raises:
            StoreFull: the disk has no room for it.
            BackendUnavailable: it can't be written.
        """
        if message > self.mark:
            self._write(min(message + self.BLOCK, MAX_MESSAGE_ID))

    def settle(self, last: int) -> None:
        """Set the mark to the last id that was given, for no more will be."""
        if last < self.mark:
            try:
                self._write(last)
            except BackendError as error:  # then the next daemon skips a few ids
                log.warning("some message ids will be skipped", error=str(error))

    def _write(self, mark: int) -> None:
        try:
            os.pwrite(self._fd, _line(mark), _LINE)
            os.fdatasync(self._fd)
        except OSError as error:
            kind = StoreFull if error.errno in _NO_ROOM else BackendUnavailable
            raise kind(f"the lock file can't be written: {error.strerror}") from error
        self.mark = mark


class Lock:
    """An exclusive flock on ``<db>.lock``; the kernel drops it when the daemon dies, however it dies.

    The file stays for ever (removing it would let two daemons lock two files of one name). It holds two numbers, a line
    of fixed length each: the last daemon's process, which says that the database has been made, and the `IdMark`.
    """

    def __init__(self, fd: int) -> None:
        """Hold *fd*, which is locked."""
        self._fd = fd
        #: Whether an earlier daemon had its database here.
        self.was_used = os.fstat(fd).st_size > 0
        #: What is known of the ids that were given.
        self.ids = IdMark(fd)

    def sign(self) -> None:
        """Write down who we are, once the database is made."""
        with suppress(OSError):  # a full disk; what is lost is a comfort
            os.pwrite(self._fd, _line(os.getpid()), 0)

    @classmethod
    @contextmanager
    def taken(cls, path: Path) -> Iterator[Lock]:
        """Hold the lock of the database *path*.

        Raises:
            StoreInUse: another daemon has it.
            StoreUnusable: there can be no lock file.
        """
        name = beside(path, ".lock")
        try:
            fd = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, _OWN_FILE)
        except OSError as error:
            raise StoreUnusable(f"the lock {name} can't be opened: {error.strerror}") from error
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(fd, _LINE, 0).decode("ascii", "replace").strip()
            os.close(fd)
            if error.errno != errno.EWOULDBLOCK:
                raise StoreUnusable(f"the lock {name} can't be taken: {error.strerror}") from error
            who = f" (process {holder})" if holder else ""
            raise StoreInUse(f"{path} is in use by another daemon{who}") from None
        try:
            yield cls(fd)
        finally:
            os.close(fd)  # not LOCK_UN: a forked child may still hold the same open file


class Reserve:
    """Room on the disk that is given up when the disk is full, so that messages can still be claimed and settled.

    Settling needs room for the write-ahead log (measured: on a full disk neither a claim nor an ack nor a checkpoint
    succeeds). New messages are taken only while the reserve is whole, or where the database has free pages inside.
    """

    #: A write-ahead log of the usual length (1000 pages), and the same again in the database after a checkpoint.
    BYTES = 8 << 20

    def __init__(self, path: Path) -> None:
        """Look what an earlier daemon left as the reserve of the database *path*."""
        self._path = beside(path, ".reserve")
        self._held = 0
        self._is_told = False
        with suppress(OSError):
            self._held = self._path.stat().st_blocks * 512

    @property
    def is_whole(self) -> bool:
        """Whether new messages may take room on the disk."""
        return self._held >= self.BYTES

    @property
    def is_held(self) -> bool:
        """Whether there is anything to give up."""
        return self._held > 0

    def free(self) -> int:
        """Return how many bytes the disk has beside the reserve."""
        disk = os.statvfs(self._path.parent)
        return disk.f_bavail * disk.f_frsize

    def take(self) -> bool:
        """Hold the whole, if there is room for it and as much again; else the next message would want it back."""
        if not self.is_whole and self.free() >= 2 * self.BYTES:
            self._hold(self.BYTES)
        return self.is_whole

    def keep_some(self) -> None:
        """Hold half of what there is, so that nobody else can take all of it before it is needed once more."""
        size = min(self.BYTES, self.free() // 2)
        if size > self._held:
            self._hold(size)

    def release(self) -> None:
        """Give its room up."""
        if not self._is_told:
            self._is_told = True
            log.warning("disk full: the reserve is given up, new messages are refused", file=str(self._path))
        if self._held:
            with suppress(OSError):
                os.truncate(self._path, 0)
            self._held = 0

    def _hold(self, size: int) -> None:
        try:
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, _OWN_FILE)
        except OSError as error:
            log.warning("no reserve for a full disk", file=str(self._path), error=error.strerror)
            return
        try:
            os.posix_fallocate(fd, 0, size)
            self._held = size
            self._is_told = self._is_told and not self.is_whole
        except OSError as error:
            os.ftruncate(fd, 0)  # ext4 keeps what it could get
            self._held = 0
            if error.errno not in _NO_ROOM:
                log.warning("no reserve for a full disk", file=str(self._path), error=error.strerror)
        finally:
            os.close(fd)
