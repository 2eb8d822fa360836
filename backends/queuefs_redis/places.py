"""Where a daemon runs, so that another one on the same machine sees at once that it has been killed."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

#: In /proc/PID/stat, counted from what follows the command's closing parenthesis: when the process started.
_START_FIELD = 22 - 3


def this_place() -> str:
    """Return boot, namespace of process ids, id and start of this process; '-' where it can't be told."""
    return _place_of(os.getpid())


@cache
def _place_of(pid: int) -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        namespace = os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116 - one call among others of the kind
        return f"{boot} {namespace} {pid} {_start_of(pid)}"
    except (OSError, ValueError, IndexError):
        return "-"


def has_ended(place: str) -> bool:
    """Return whether the process at *place* is known to be gone: it was on this boot and in our namespace."""
    here, there = this_place().split(), place.split()
    if len(there) != len(here) or there[:2] != here[:2] or len(here) == 1:
        return False
    pid = int(there[2])
    try:
        os.kill(pid, 0)  # /proc may hide the processes of others
    except ProcessLookupError:
        return True
    except OSError:
        pass
    try:
        return _start_of(pid) != int(there[3])
    except (OSError, ValueError, IndexError):
        return False


def _start_of(pid: int) -> int:
    text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    return int(text.rpartition(")")[2].split()[_START_FIELD])
