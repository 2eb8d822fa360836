"""What stat shows of directories, control files, messages and records."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pyfuse3

if TYPE_CHECKING:
    from pyfuse3 import EntryAttributes, InodeT

    from queuefs.clock import Clock
    from queuefs.fs.nodes import RecordFile, VerbFile
    from queuefs.message import Message, Owner, Queue

#: The unit of st_blocks, bytes (stat(2)).
_BLOCK = 512

_NANOSECONDS = 1_000_000_000


def directory_attributes(inode: InodeT, queue: Queue, owner: Owner, *, cached: float) -> EntryAttributes:
    """Return the attributes of a directory of *queue*, which the kernel may keep for *cached* seconds."""
    entry = _attributes(inode, stat.S_IFDIR, owner, cached)
    _set_times(entry, queue.created_at)
    return entry


def verb_attributes(inode: InodeT, queue: Queue, node: VerbFile, owner: Owner, *, cached: float) -> EntryAttributes:
    """Return the attributes of a control file, which the kernel may keep for *cached* seconds."""
    entry = _attributes(inode, stat.S_IFREG, owner, cached)
    _set_size(entry, node.size)
    _set_times(entry, queue.created_at)
    return entry


def message_attributes(inode: InodeT, message: Message, owner: Owner, clock: Clock) -> EntryAttributes:
    """Return the attributes of a message's file: its size, and when it was enqueued."""
    entry = _attributes(inode, stat.S_IFREG, owner, 0)
    _set_size(entry, message.size)
    _set_times(entry, clock.to_wall(message.enqueued_at))
    if message.claimed_at is not None:
        entry.st_ctime_ns = int(clock.to_wall(message.claimed_at) * _NANOSECONDS)
    return entry


def record_attributes(inode: InodeT, node: RecordFile, owner: Owner, clock: Clock) -> EntryAttributes:
    """Return the attributes of a record: the size of its text, and when the message was done."""
    entry = _attributes(inode, stat.S_IFREG, owner, 0)
    _set_size(entry, len(node.text))
    _set_times(entry, clock.to_wall(node.record.finished_at))
    return entry


def _attributes(inode: InodeT, kind: int, owner: Owner, cached: float) -> EntryAttributes:
    entry = pyfuse3.EntryAttributes()
    entry.st_ino = inode
    entry.entry_timeout = cached
    entry.attr_timeout = cached
    # No count of subdirectories: with 1, find(1) looks at every entry instead of counting down.
    entry.st_nlink = 1
    entry.st_mode = kind | owner.mode
    entry.st_uid = owner.uid
    entry.st_gid = owner.gid
    return entry


def _set_size(entry: EntryAttributes, size: int) -> None:
    entry.st_size = size
    # Few blocks for a large size would look like a file with holes, which cp skips.
    entry.st_blocks = -(-size // _BLOCK)


def _set_times(entry: EntryAttributes, at: float) -> None:
    entry.st_atime_ns = entry.st_mtime_ns = entry.st_ctime_ns = int(at * _NANOSECONDS)
