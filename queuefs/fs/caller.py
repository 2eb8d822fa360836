"""What can be known of the process behind a request."""

from __future__ import annotations

import os
from pathlib import Path

#: The bit of a task's flags that says a signal is ending it (PF_SIGNALED, include/linux/sched.h; proc(5), field 9).
_SIGNALED = 0x400


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
        stat = os.read(fd, 1024)
    except OSError:  # as above, between open and read
        return False
    finally:
        os.close(fd)
    # The second field is the program's name in parentheses, and may hold anything.
    flags = stat[stat.rindex(b")") + 2 :].split(maxsplit=7)[6]
    return bool(int(flags) & _SIGNALED)


def _children(process: int) -> list[int]:
    try:
        return [int(pid) for pid in Path(f"/proc/{process}/task/{process}/children").read_bytes().split()]
    except OSError:  # it has gone, or the kernel does not tell (CONFIG_PROC_CHILDREN)
        return []
