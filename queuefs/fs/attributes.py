"""What stat shows of queues and control files."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pyfuse3

if TYPE_CHECKING:
    from pyfuse3 import EntryAttributes, InodeT

    from queuefs.fs.nodes import VerbFile
    from queuefs.message import Queue

#: The unit of st_blocks, bytes (stat(2)).
_BLOCK = 512

_NANOSECONDS = 1_000_000_000


def queue_attributes(inode: InodeT, queue: Queue, *, cached: float) -> EntryAttributes:
    """Return the attributes of a queue's directory, which the kernel may keep for *cached* seconds."""
    entry = _attributes(inode, queue, cached)
    entry.st_mode = stat.S_IFDIR | queue.owner.mode
    return entry


def verb_attributes(inode: InodeT, queue: Queue, node: VerbFile, *, cached: float) -> EntryAttributes:
    """Return the attributes of a control file, which the kernel may keep for *cached* seconds."""
    entry = _attributes(inode, queue, cached)
    entry.st_mode = stat.S_IFREG | node.control.mode(queue.owner.mode)
    entry.st_size = node.size
    # Few blocks for a large size would look like a file with holes, which cp skips.
    entry.st_blocks = -(-node.size // _BLOCK)
    return entry


def _attributes(inode: InodeT, queue: Queue, cached: float) -> EntryAttributes:
    entry = pyfuse3.EntryAttributes()
    entry.st_ino = inode
    entry.entry_timeout = cached
    entry.attr_timeout = cached
    # No count of subdirectories: with 1, find(1) looks at every entry instead of counting down.
    entry.st_nlink = 1
    entry.st_uid = queue.owner.uid
    entry.st_gid = queue.owner.gid
    entry.st_atime_ns = entry.st_mtime_ns = entry.st_ctime_ns = int(queue.created_at * _NANOSECONDS)
    return entry
