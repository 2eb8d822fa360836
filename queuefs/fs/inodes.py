"""Inode numbers: given at the first look-up, counted with the kernel, dropped when it forgets; never used twice."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, cast

import pyfuse3

from queuefs.fs.nodes import AboutDirectory, Directory, Node, QueueDirectory, StateDirectory, VerbFile
from queuefs.message import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from pyfuse3 import InodeT

    from queuefs.message import MessageId, QueueId


#: Far from the numbers of other file systems: what a process has open is recognised by its inode number.
FIRST_INODE = 1 << 33

#: A message's number, with this bit set, is the inode number of its file, in whatever state and queue it is: so a
#: directory tells numbers without a table of them. (An id has 63 bits.)
MESSAGE_BIT = 1 << 63


def message_inode(message: MessageId) -> InodeT:
    """Return the inode number of a message's file."""
    return MESSAGE_BIT | message


class Inodes:
    """The nodes the kernel knows."""

    def __init__(self) -> None:
        """Know the root alone."""
        self._nodes: dict[InodeT, Node] = {pyfuse3.ROOT_INODE: QueueDirectory(ROOT)}
        self._lookups: dict[InodeT, int] = {pyfuse3.ROOT_INODE: 1}
        self._keys: dict[InodeT, Hashable] = {}
        self._by_key: dict[Hashable, InodeT] = {ROOT: pyfuse3.ROOT_INODE}
        self._last = FIRST_INODE - 1

    def __len__(self) -> int:
        """Return how many inodes the kernel knows."""
        return len(self._nodes)

    def node(self, inode: InodeT) -> Node:
        """Return what *inode* stands for."""
        return self._nodes[inode]

    def known(self, key: Hashable) -> Node | None:
        """Return what the kernel knows as *key*, if it knows it."""
        inode = self._by_key.get(key)
        return None if inode is None else self._nodes[inode]

    def directory(self, inode: InodeT) -> Directory:
        """Return the directory *inode*; the kernel asks for entries of nothing else."""
        return cast("Directory", self._nodes[inode])

    def look_up(self, key: Hashable, make: Callable[[], Node], *, number: InodeT | None = None) -> InodeT:
        """Return the inode known as *key*, or a new one for what *make* returns, and count that the kernel is told.

        A new one has *number*, or the next.

        It is counted before the answer is made, since the kernel may forget an earlier look-up meanwhile. An answer
        that does not tell of the inode after all takes the count back by `forget`.
        """
        inode = self._by_key.get(key)
        if inode is None:
            if number is None:
                self._last += 1
                number = self._last
            inode = number
            self._by_key[key] = inode
            self._keys[inode] = key
            self._nodes[inode] = make()
            self._lookups[inode] = 0
        self._lookups[inode] += 1
        return inode

    def retire(self, inode: InodeT) -> None:
        """Give the next look-up of the same key another inode; this one lives until it is forgotten.

        A caller that reads through the page cache must not meet what an earlier open left there.
        """
        key = self._keys.get(inode)
        if self._by_key.get(key) == inode:
            del self._by_key[key]

    def forget_attributes(self, queue: QueueId) -> None:
        """Let the kernel ask again for the attributes of what it may keep of *queue*: some follow those of others."""
        for inode, node in self._nodes.items():
            follows = isinstance(node, StateDirectory | AboutDirectory)
            if (follows or (isinstance(node, VerbFile) and node.caller is None)) and node.queue == queue:
                with suppress(OSError):  # ENOENT: it has dropped them by itself
                    pyfuse3.invalidate_inode(inode, attr_only=True)

    def forget_names(self, queue: QueueId) -> None:
        """Let the kernel look the verbs that all callers of *queue* share up again: each may get its own now."""
        directory = self._by_key.get(queue)
        for node in self._nodes.values():
            if isinstance(node, VerbFile) and node.queue == queue and node.caller is None and directory is not None:
                name = node.control.name + ("" if node.options is None else f",{node.options}")
                pyfuse3.invalidate_entry_async(directory, name.encode(), ignore_enoent=True)

    def forget(self, inode: InodeT, count: int) -> None:
        """Take back *count* look-ups."""
        if inode == pyfuse3.ROOT_INODE:
            return
        left = self._lookups[inode] - count
        if left > 0:
            self._lookups[inode] = left
            return
        self.retire(inode)
        del self._lookups[inode], self._nodes[inode], self._keys[inode]


def verb_key(node: VerbFile) -> Hashable:
    """Return by what a verb's inode is known: all callers share one, or each has its own."""
    return (node.queue, node.control.name, node.options, node.caller)
