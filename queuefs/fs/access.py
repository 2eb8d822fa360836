"""Who may do what: the owner and mode of each file of a queue, and a look at them when it is opened.

The kernel checks modes by what it was told (`default_permissions`), and it may have been told a while ago; so opening
asks again, and so does what changes a directory. Reads and writes carry no caller: opening is their gate.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pyfuse3

from queuefs.errors import AccessDenied
from queuefs.fs.nodes import AboutDirectory, MessageFile, QueueDirectory, RecordFile, StateDirectory, VerbFile
from queuefs.lifecycle import State
from queuefs.message import Owner
from queuefs.names import ABOUT

if TYPE_CHECKING:
    from pyfuse3 import RequestContext

    from queuefs.fs.nodes import Node
    from queuefs.message import Queue

#: What each way of opening needs of the permission bits of a class: r is 4, w is 2.
_NEEDS = {os.O_RDONLY: 4, os.O_WRONLY: 2, os.O_RDWR: 6}

#: The permission bits for reading, for all.
READ = 0o444

#: Who may list what is about the mount.
_ABOUT_MODE = 0o555


def owner_of(queue: Queue, name: str, mode: int) -> Owner:
    """Return who owns the file *name* of *queue*: as it was set, else the queue's owner, and *mode*."""
    own = queue.files.get(name) if queue.files else None
    if own is not None:
        return own
    return Owner(uid=queue.owner.uid, gid=queue.owner.gid, mode=mode)


def directory_owner(queue: Queue, name: str) -> Owner:
    """Return who owns the state directory *name* of *queue*; it follows the queue until it is changed itself."""
    return owner_of(queue, name, queue.owner.mode)


def payload_owner(queue: Queue, name: str) -> Owner:
    """Return who owns a message's file in the state directory *name*: whoever may list that may read it."""
    directory = directory_owner(queue, name)
    return Owner(uid=directory.uid, gid=directory.gid, mode=directory.mode & READ)


def owner_of_node(queue: Queue, node: Node) -> Owner:
    """Return who owns what an inode of *queue* stands for."""
    match node:
        case QueueDirectory():
            return queue.owner
        case StateDirectory():
            return directory_owner(queue, node.state)
        case AboutDirectory():
            return owner_of(queue, ABOUT, _ABOUT_MODE)
        case VerbFile():
            return owner_of(queue, node.control.name, node.control.mode(queue.owner.mode))
        case MessageFile():
            return payload_owner(queue, node.message.state)
        case RecordFile():
            return payload_owner(queue, State.DONE)


def require(owner: Owner, flags: int, caller: RequestContext) -> None:
    """Refuse *caller* to open what is *owner*'s with *flags*, if its mode does; root may do anything.

    Raises:
        AccessDenied: it does.
    """
    if caller.uid == 0:
        return
    needs = _NEEDS[flags & os.O_ACCMODE]
    if needs & ~_class_bits(owner, caller):
        raise AccessDenied


def _class_bits(owner: Owner, caller: RequestContext) -> int:
    if caller.uid == owner.uid:
        return owner.mode >> 6 & 7
    group, others = owner.mode >> 3 & 7, owner.mode & 7
    if group == others:  # spares a look at /proc
        return others
    if caller.gid == owner.gid:
        return group
    groups = _other_groups(caller.pid)
    if groups is None:  # the kernel alone knows them, and it has let the caller in
        return group | others
    return group if owner.gid in groups else others


def _other_groups(pid: int) -> frozenset[int] | None:
    """Return the supplementary groups of a process; None if it can't be seen."""
    try:
        return frozenset(pyfuse3.get_sup_groups(pid))
    except (OSError, RuntimeError):  # it has ended, or is in another pid namespace (pyfuse3 raises either)
        return None
