"""Which mounts of QueueFS there are, and what a path in one of them names."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import NamedTuple

from queuefs.names import ABOUT, STATE_DIRECTORIES

#: The type under which the kernel lists our mounts (mount.fuse3(8): fuse.SUBTYPE).
FSTYPE = "fuse.queuefs"

#: Directories in a queue that are no queues.
_NO_QUEUES = frozenset((*STATE_DIRECTORIES, ABOUT))


class Mounted(NamedTuple):
    """One line of mountinfo (proc(5))."""

    #: As in `os.stat_result.st_dev`.
    device: int
    path: str
    fstype: str
    #: Which of its directories is to be seen there; not ``/`` where somebody has bound a queue elsewhere.
    root: str


class Place(NamedTuple):
    """A directory in a mount: its root, or a queue."""

    #: Absolute, without symbolic links.
    path: str
    mount: Mounted
    #: The path from the root of the mount; empty for the root itself.
    name: str


class NotInAMount(Exception):
    """The path is in no mount of QueueFS, or is no directory of queues there."""


def mountinfo() -> list[Mounted]:
    """Return everything that is mounted, in the order in which it was."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        major, minor = fields[2].split(":")
        device = os.makedev(int(major), int(minor))
        found.append(Mounted(device, _unescaped(fields[4]), after.split(" ")[0], _unescaped(fields[3])))
    return found


def mounts() -> list[Mounted]:
    """Return the mounts of QueueFS."""
    return [mounted for mounted in mountinfo() if mounted.fstype == FSTYPE]


def place_of(path: str) -> Place:
    """Return what *path* names in a mount.

    Raises:
        NotInAMount: it is no root and no queue of a mount; the sentence says which.
        OSError: it can't be looked at: there is nothing of that name, or the daemon is gone.
    """
    real = os.path.realpath(path, strict=True)
    found = Path(real).stat()
    ours = [one for one in mounts() if one.device == found.st_dev and is_below(real, one.path)]
    if not ours:
        raise NotInAMount("is not in a mount of QueueFS")
    mount = max(ours, key=lambda one: len(one.path))
    name = os.path.relpath(real, mount.path)
    if not stat.S_ISDIR(found.st_mode):
        raise NotInAMount("is a file of a queue, and not a queue")
    if not _NO_QUEUES.isdisjoint(name.split("/")):
        raise NotInAMount("shows messages, and is not a queue")
    if mount.root != "/":
        name = os.path.normpath(f"{mount.root[1:]}/{name}")
    return Place(real, mount, "" if name == "." else name)


def is_queue_name(name: str) -> bool:
    """Tell whether a directory of that name in a mount is a queue, and not one that shows messages."""
    return name not in _NO_QUEUES


def is_below(path: str, directory: str) -> bool:
    """Tell whether the absolute *path* is *directory* or below it."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def _unescaped(field: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), field)
