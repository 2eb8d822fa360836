"""What can be known of the process behind a request: it is all in /proc."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyfuse3 import InodeT

    from queuefs.waiting import Caller

#: The bit of a task's flags that says a signal is ending it (PF_SIGNALED, include/linux/sched.h; proc(5), field 9).
_SIGNALED = 0x400

#: SIGKILL in a set of signals. A signal that ends a process is turned into it for each of its threads
#: (kernel/signal.c, complete_signal), so a set of the thread's own shows it whichever signal it was.
_KILL = 1 << 8

#: SIGCHLD, SIGCONT, SIGURG and SIGWINCH: whoever handles these goes on with what it did.
_HARMLESS = sum(1 << (number - 1) for number in (17, 18, 23, 28))

#: Where the kernel has a process sleep while it waits for a FUSE daemon (fs/fuse/dev.c; proc(5), wchan), and where it
#: has one that splices wait for the page that a daemon shall fill.
_WAITS_FOR_FUSE = frozenset({b"request_wait_answer", b"folio_wait_bit_common"})


def leader_of(thread: int) -> int:
    """Return the process that *thread* belongs to: the thread that opened a file may end before its process does.

    0 where it can't be seen.
    """
    try:
        os.close(os.pidfd_open(thread))  # only of a leader (pidfd_open(2)), and 30 times as quick as reading /proc
    except OSError:
        pass
    else:
        return thread
    try:
        lines = Path(f"/proc/{thread}/status").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # it has ended, or is in another pid namespace
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Tgid:")), 0)


def is_being_killed(process: int) -> bool:
    """Return whether a signal is ending *process* right now, or one that it has started.

    At the FLUSH that the kernel makes when it closes a dying process's files, the process is still there and waits for
    our answer. Its parent counts as well because of ``timeout 1 producer > enqueue``: there the opener is timeout.
    False where it can't be seen: *process* is 0 (another pid namespace), or it has gone already.
    """
    if process == 0:
        return False
    return _is_signalled(process) or any(_is_signalled(child) for child in _children(process))


def _is_signalled(process: int) -> bool:
    try:
        fd = os.open(f"/proc/{process}/stat", os.O_RDONLY)
    except OSError:  # ended in order, earlier
        return False
    try:
        return bool(int(_stat(fd)[6]) & _SIGNALED)
    except OSError:  # as above, between open and read
        return False
    finally:
        os.close(fd)


def _children(process: int) -> list[int]:
    try:
        return [int(pid) for pid in Path(f"/proc/{process}/task/{process}/children").read_bytes().split()]
    except OSError:  # it has gone, or the kernel does not tell (CONFIG_PROC_CHILDREN)
        return []


class WaitingCaller:
    """The thread that opened a file and, most of the time, is the one which waits on it."""

    def __init__(self, pid: int, inode: InodeT) -> None:
        """Watch the thread *pid*, 0 if it can't be seen, which opened *inode*."""
        self.inode = inode
        self._pid = pid
        self._fd = -1
        if pid:
            with suppress(OSError):  # it has ended, and the file lives on in another process
                self._fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)

    def is_dying(self) -> bool:
        """Return whether a fatal signal has reached it."""
        if self._fd < 0:
            return False
        try:
            return bool(int(_stat(self._fd)[28]) & _KILL)
        except OSError:  # it has ended since; somebody else holds the file
            self.close()
            return False

    def has_signal(self) -> bool:
        """Return whether a signal has reached it that it does not ignore or block."""
        return self._fd >= 0 and _has_signal(self._pid)

    def is_elsewhere(self) -> bool:
        """Return whether it is not waiting for us."""
        if self._fd < 0:
            return True
        try:
            return Path(f"/proc/{self._pid}/wchan").read_bytes() not in _WAITS_FOR_FUSE
        except OSError:  # it has ended, or we may not look
            return True

    def close(self) -> None:
        """Let go of the file in /proc."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def held_by_signalled(callers: list[Caller]) -> list[Caller]:
    """Return those of *callers* whose inode is open in a process which a signal has reached."""
    signalled = {inode for pid in _processes() if _has_signal(pid) for inode in _open_inodes(pid)}
    return [caller for caller in callers if isinstance(caller, WaitingCaller) and caller.inode in signalled]


def _stat(fd: int) -> list[bytes]:
    """Return the fields of an open /proc/PID/stat from the third on (proc(5))."""
    text = os.pread(fd, 1024, 0)
    # The second field is the program's name in parentheses, and may hold anything.
    return text[text.rindex(b")") + 2 :].split()


def _has_signal(pid: int) -> bool:
    try:
        lines = Path(f"/proc/{pid}/status").read_bytes().splitlines()
    except OSError:  # it has ended
        return False
    sets = {name: int(value, 16) for name, _, value in (line.partition(b":\t") for line in lines) if name in _SETS}
    pending = sets[b"SigPnd"] | sets[b"ShdPnd"]
    return bool(pending & ~sets[b"SigBlk"] & ~sets[b"SigIgn"] & ~_HARMLESS)


_SETS = frozenset({b"SigPnd", b"ShdPnd", b"SigBlk", b"SigIgn"})


def _processes() -> Iterator[int]:
    return (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())


def _open_inodes(pid: int) -> Iterable[int]:
    """Yield the inode numbers of the files that *pid* has open, on whatever file system.

    From fdinfo: to stat the files themselves would be a request to this very mount.
    """
    try:
        files = list(Path(f"/proc/{pid}/fdinfo").iterdir())
    except OSError:  # it has ended, or we may not look
        return
    for file in files:
        try:
            text = file.read_bytes()
        except OSError:  # closed since
            continue
        for line in text.splitlines():
            if line.startswith(b"ino:"):
                yield int(line[4:])
