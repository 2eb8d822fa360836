"""The answers to look-ups: which inode a name gets, what is to be seen of it, and how long the kernel may keep it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from queuefs.config import OnFull
from queuefs.errors import BadValue, QueueNotFound
from queuefs.fs import access
from queuefs.fs.attributes import directory_attributes, message_attributes, record_attributes, verb_attributes
from queuefs.fs.control import Enqueue
from queuefs.fs.inodes import Inodes, message_inode, verb_key
from queuefs.fs.nodes import (
    AboutDirectory,
    MessageFile,
    QueueDirectory,
    RecordFile,
    StateDirectory,
    VerbFile,
)
from queuefs.names import ABOUT
from queuefs.render import record_text

if TYPE_CHECKING:
    from pyfuse3 import EntryAttributes, InodeT

    from queuefs.filing import Filing
    from queuefs.fs.control import ControlFile
    from queuefs.lifecycle import State
    from queuefs.message import Message, Queue, QueueId, Record
    from queuefs.service import Service
    from queuefs.tree import Tree

#: How long the kernel may keep what nobody else can change, and what another daemon can, seconds.
CACHED_SECONDS = 300.0
CACHED_SHARED_SECONDS = 1.0

#: A text longer than this is not kept from the look-up to the open, bytes; `ls -l` must not fill the memory.
KEPT_TEXT_BYTES = 1024 * 1024


class Entries:
    """What the kernel is told of names. Each answer but those of `attributes` is one look-up, to be forgotten once."""

    def __init__(self, service: Service, tree: Tree, filing: Filing, *, shared: bool) -> None:
        """Tell of *tree*, and of messages by *filing*; *shared* says that other daemons may change the tree."""
        self._service = service
        self._tree = tree
        self.filing = filing
        #: Whether an answer of the back end never has to be waited for.
        self.instant = service.instant
        self._cached = CACHED_SHARED_SECONDS if shared else CACHED_SECONDS
        self.inodes = Inodes()
        service.when_configured = self.inodes.forget_names

    # Directories ----------------------------------------------------------------------------------------------------

    def queue(self, queue: Queue) -> EntryAttributes:
        """Answer a look-up of a queue."""
        inode = self.inodes.look_up(queue.id, lambda: QueueDirectory(queue.id))
        return directory_attributes(inode, queue, queue.owner, cached=self._cached)

    async def state(self, queue: QueueId, state: State) -> EntryAttributes:
        """Answer a look-up of a state directory."""
        return await self._answer(self.inodes.look_up((queue, state), lambda: StateDirectory(queue, state)))

    async def about(self) -> EntryAttributes:
        """Answer a look-up of the directory about the mount."""
        return await self._answer(self.inodes.look_up(ABOUT, AboutDirectory))

    # Files ----------------------------------------------------------------------------------------------------------

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
        return await self._answer(self.inodes.look_up(key, lambda: node), fresh=fresh)

    async def message(self, directory: StateDirectory, message: Message) -> EntryAttributes:
        """Answer a look-up of a message's file; the next one asks anew, for it may be anywhere by then."""
        inode = self.inodes.look_up(
            ("message", message.id),
            lambda: MessageFile(directory.queue, message),
            number=message_inode(message.id),
        )
        node = cast("MessageFile", self.inodes.node(inode))
        node.queue, node.message = directory.queue, message
        return await self._answer(inode)

    async def record(self, directory: StateDirectory, record: Record) -> EntryAttributes:
        """Answer a look-up of a record."""
        text = record_text(record, self._service.clock)
        return await self._answer(
            self.inodes.look_up(("record", record.id), lambda: RecordFile(directory.queue, record, text))
        )

    async def _answer(self, inode: InodeT, *, fresh: bool = False) -> EntryAttributes:
        """Return what is to be seen of *inode*, whose look-up has been counted; without an answer it counts not."""
        try:
            return await self.attributes(inode, fresh=fresh)
        except BaseException:
            self.inodes.forget(inode, 1)
            raise

    # Attributes -----------------------------------------------------------------------------------------------------

    async def attributes(self, inode: InodeT, *, fresh: bool = False) -> EntryAttributes:
        """Return what is to be seen of *inode*; of a text, that of the one made at its look-up, or of a *fresh* one."""
        node = self.inodes.node(inode)
        if isinstance(node, VerbFile):
            return await self._verb(inode, node, fresh=fresh)
        queue = await self._tree.get(node.queue)
        owner = access.owner_of_node(queue, node)
        if isinstance(node, MessageFile):  # of an open file that has left the queue, those of the last look
            return message_attributes(inode, node.message, owner, self._service.clock)
        if isinstance(node, RecordFile):
            return record_attributes(inode, node, owner, self._service.clock)
        return directory_attributes(inode, queue, owner, cached=self._cached)

    async def _never_blocks(self, queue: QueueId) -> bool:
        """Return whether no writer of *queue* waits for room: who waits would hold up all who share the inode."""
        return (await self._service.config(queue)).on_full is OnFull.ERROR

    async def _verb(self, inode: InodeT, node: VerbFile, *, fresh: bool) -> EntryAttributes:
        try:
            queue = node.record = await self._tree.get(node.queue)
        except QueueNotFound:
            if fresh or not node.openers or node.record is None:
                raise
            queue = node.record  # who has a file open may fstat it, as of a file that was unlinked
        if fresh:
            await self._measure(node)
        owner = access.owner_of_node(queue, node)
        return verb_attributes(inode, queue, node, owner, cached=self._cached if node.caller is None else 0)

    async def _measure(self, node: VerbFile) -> None:
        """Make a control file's text, or find a bound of its size."""
        try:
            options = node.control.options.parse(node.options)
        except BadValue:  # told by open: here it would look as if there were no such verb
            return
        if node.control.has_text:
            text = await node.control.text(self._service, node.queue, options)
            node.size = len(text)
            node.text = text if isinstance(text, bytes) and len(text) <= KEPT_TEXT_BYTES else None
        else:
            node.size = await node.control.size(self._service, node.queue, options)
