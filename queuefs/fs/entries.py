"""The answers to look-ups: which inode a name gets, what is to be seen of it, and how long the kernel may keep it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from queuefs.config import OnFull
from queuefs.errors import BadValue, QueueNotFound
from queuefs.fs.attributes import queue_attributes, verb_attributes
from queuefs.fs.control import Enqueue
from queuefs.fs.inodes import Inodes, verb_key
from queuefs.fs.nodes import QueueDirectory, VerbFile

if TYPE_CHECKING:
    from pyfuse3 import EntryAttributes, InodeT

    from queuefs.fs.control import ControlFile
    from queuefs.message import Queue, QueueId
    from queuefs.service import Service
    from queuefs.tree import Tree

#: How long the kernel may keep what nobody else can change, and what another daemon can, seconds.
CACHED_SECONDS = 300.0
CACHED_SHARED_SECONDS = 1.0

#: A text longer than this is not kept from the look-up to the open, bytes; `ls -l` must not fill the memory.
KEPT_TEXT_BYTES = 1024 * 1024


class Entries:
    """What the kernel is told of names. Each entry of `verb` and `queue` is one look-up, to be forgotten once."""

    def __init__(self, service: Service, tree: Tree, *, shared: bool) -> None:
        """Tell of *tree*; *shared* says that other daemons may change it."""
        self._service = service
        self._tree = tree
        self._cached = CACHED_SHARED_SECONDS if shared else CACHED_SECONDS
        self.inodes = Inodes()
        service.when_configured = self.inodes.forget_names

    async def verb(
        self, queue: QueueId, control: ControlFile, options: str | None, pid: int, *, fresh: bool
    ) -> EntryAttributes:
        """Answer a look-up of a control file: by the caller's own inode, or by the one that all share.

        The kernel lets one writer at a time into an inode, and readers that splice share its page cache. One name may
        be kept by the kernel: `enqueue` where nothing waits. *fresh* makes its text, or its size, anew.
        """
        shared = self._service.instant and isinstance(control, Enqueue) and await self._never_blocks(queue)
        node = VerbFile(queue, control, options, None if shared else pid)
        # pid 0: the caller can't be told from others, so each look-up is somebody else's
        key = verb_key(node) if pid or shared else object()
        inode = self.inodes.look_up(key, lambda: node)
        try:
            return await self._verb(inode, fresh=fresh)
        except BaseException:
            self.inodes.forget(inode, 1)
            raise

    def queue(self, queue: Queue) -> EntryAttributes:
        """Answer a look-up of a queue."""
        inode = self.inodes.look_up(queue.id, lambda: QueueDirectory(queue.id))
        return queue_attributes(inode, queue, cached=self._cached)

    async def attributes(self, inode: InodeT) -> EntryAttributes:
        """Return what is to be seen of *inode*; of a text, that of the one made at its look-up."""
        node = self.inodes.node(inode)
        if isinstance(node, QueueDirectory):
            return queue_attributes(inode, await self._tree.get(node.queue), cached=self._cached)
        return await self._verb(inode, fresh=False)

    async def _never_blocks(self, queue: QueueId) -> bool:
        """Return whether no writer of *queue* waits for room: who waits would hold up all who share the inode."""
        return (await self._service.config(queue)).on_full is OnFull.ERROR

    async def _verb(self, inode: InodeT, *, fresh: bool) -> EntryAttributes:
        node = cast("VerbFile", self.inodes.node(inode))
        try:
            queue = node.record = await self._tree.get(node.queue)
        except QueueNotFound:
            if fresh or not node.openers or node.record is None:
                raise
            queue = node.record  # who has a file open may fstat it, as of a file that was unlinked
        if fresh:
            await self._measure(node)
        return verb_attributes(inode, queue, node, cached=self._cached if node.caller is None else 0)

    async def _measure(self, node: VerbFile) -> None:
        """Make a control file's text, or find a bound of its size."""
        try:
            options = node.control.options.parse(node.options)
        except BadValue:  # told by open: here it would look as if there were no such verb
            return
        if node.control.has_text:
            text = await node.control.text(self._service, node.queue, options)
            node.size = len(text)
            node.text = text if len(text) <= KEPT_TEXT_BYTES else None
        else:
            node.size = await node.control.size(self._service, node.queue, options)
