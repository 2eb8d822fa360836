"""What can be known of the process behind a request."""

from __future__ import annotations

import os

#: The bit of a task's flags that says a signal is ending it (PF_SIGNALED, include/linux/sched.h; proc(5), field 9).
_SIGNALED = 0x400


def is_being_killed(pid: int) -> bool:
    """Return whether a signal is ending the task *pid* right now.

    At the FLUSH that the kernel makes when it closes a dying process's files, the process is still there and waits for
    our answer. False where it can't be seen: *pid* is 0 (another pid namespace), or it has gone already.
    """
    if pid == 0:
        return False
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
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
