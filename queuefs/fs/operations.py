"""The handlers that pyfuse3 calls: inode to node, flags to call, and nothing else."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Any, NoReturn

import pyfuse3
import trio

import queuefs
from queuefs.errors import BadValue, NotPermitted
from queuefs.fs.directories import AboutDirectories, QueueDirectories, StateDirectories
from queuefs.fs.entries import Entries
from queuefs.fs.handles import Opening
from queuefs.fs.nodes import (
    AboutDirectory,
    MessageFile,
    QueueDirectory,
    RecordFile,
    StateDirectory,
    VerbFile,
)
from queuefs.fs.ownership import PERMISSIONS, Ownership
from queuefs.fs.payload import PayloadHandle
from queuefs.fs.reading import TextHandle
from queuefs.fs.seam import all_answered
from queuefs.fs.walkers import keep_out
from queuefs.message import Owner
from queuefs.names import MAX_NAME_BYTES
from queuefs.render import message_facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyfuse3 import (
        EntryAttributes,
        FileHandleT,
        FileInfo,
        FileNameT,
        FlagT,
        InodeT,
        ModeT,
        ReaddirToken,
        RequestContext,
        SetattrFields,
        StatvfsData,
        XAttrNameT,
    )

    from queuefs.filing import Filing
    from queuefs.fs.control import ControlFile
    from queuefs.fs.directories import DirectoryKind
    from queuefs.fs.handles import Handle
    from queuefs.fs.listings import Listing
    from queuefs.fs.nodes import Directory
    from queuefs.service import Service
    from queuefs.tree import Tree


#: The unit of sizes in statfs, bytes.
_BLOCK = 4096

#: How many more messages there could be, as far as a file system can tell: room ends by bytes.
MAX_FREE_MESSAGES = 1 << 40


@all_answered
class Operations(pyfuse3.Operations):
    """The tree of queues as the kernel sees it."""

    supports_dot_lookup = False
    enable_writeback_cache = False
    enable_acl = False

    def __init__(self, service: Service, tree: Tree, filing: Filing, *, shared: bool) -> None:
        """Show *tree* and let *service* and *filing* act; *shared* says that other daemons may change the tree."""
        super().__init__()
        self._service = service
        self._filing = filing
        self._entries = Entries(service, tree, filing, shared=shared)
        self._inodes = self._entries.inodes
        self._kinds: dict[type[Directory], DirectoryKind[Any]] = {
            QueueDirectory: QueueDirectories(service, tree, self._entries),
            StateDirectory: StateDirectories(self._entries, filing),
            AboutDirectory: AboutDirectories(self._entries),
        }
        self._ownership = Ownership(tree, self._inodes)
        self._last_handle = 0
        self._files: dict[FileHandleT, tuple[Handle, InodeT, int]] = {}
        self._directories: dict[FileHandleT, Listing] = {}
        #: Set at each last close, once somebody waits for that.
        self._closed: trio.Event | None = None

    # Names and attributes -------------------------------------------------------------------------------------------

    async def lookup(self, parent_inode: InodeT, name: FileNameT, ctx: RequestContext) -> EntryAttributes:
        """Find what *name* means in a directory."""
        kind, parent = self._directory(parent_inode)
        return await kind.lookup(parent, name, ctx.pid)

    def _directory(self, inode: InodeT) -> tuple[DirectoryKind[Any], Directory]:
        """Return a directory, and what holds for its kind."""
        node = self._inodes.directory(inode)
        return self._kinds[type(node)], node

    async def forget(self, inode_list: Sequence[tuple[InodeT, int]]) -> None:
        """Drop what the kernel no longer knows."""
        for inode, count in inode_list:
            self._inodes.forget(inode, count)

    async def getattr(self, inode: InodeT, ctx: RequestContext) -> EntryAttributes:  # noqa: ARG002 - pyfuse3's form
        """Return attributes; of a text, those of the one made at its look-up."""
        return await self._entries.attributes(inode)

    async def setattr(
        self,
        inode: InodeT,
        attr: EntryAttributes,
        fields: SetattrFields,
        fh: FileHandleT | None,
        ctx: RequestContext,
    ) -> EntryAttributes:
        """Change the owner and mode of a queue or of one file in it; the kernel has seen to it that the caller may.

        Times mean nothing and are accepted, and so is the mode of a control file while the caller has it open:
        `cp -p` sets it so.
        """
        node = self._inodes.node(inode)
        if fields.update_mode or fields.update_uid or fields.update_gid:
            await self._ownership.change(inode, attr, fields, ctx)
        if fields.update_size:
            if not isinstance(node, VerbFile):
                raise NotPermitted("a message does not change")
            if fh is not None:
                self._files[fh][0].truncate(attr.st_size)
            await node.control.truncate(self._service, node.queue)
        return await self._entries.attributes(inode)

    async def statfs(self, ctx: RequestContext) -> StatvfsData:  # noqa: ARG002 - pyfuse3's form
        """Answer df and its like: what the store takes up and what is free for it; each file is a message."""
        space = await self._service.about.space()
        data = pyfuse3.StatvfsData()
        data.f_bsize = data.f_frsize = _BLOCK
        data.f_blocks = -(-(space.used + space.free) // _BLOCK)
        data.f_bfree = data.f_bavail = space.free // _BLOCK
        data.f_files = space.messages + MAX_FREE_MESSAGES
        data.f_ffree = data.f_favail = MAX_FREE_MESSAGES
        data.f_namemax = MAX_NAME_BYTES
        return data

    # The tree -------------------------------------------------------------------------------------------------------

    async def mkdir(self, parent_inode: InodeT, name: FileNameT, mode: ModeT, ctx: RequestContext) -> EntryAttributes:
        """Make a queue; it is the caller's, and its group the parent's where that has the set-group-ID bit."""
        kind, parent = self._directory(parent_inode)
        await self._ownership.require(parent_inode, os.O_WRONLY, ctx)
        owner = Owner(uid=ctx.uid, gid=ctx.gid, mode=mode & PERMISSIONS)
        above = await self._entries.attributes(parent_inode)
        if above.st_mode & stat.S_ISGID:
            owner = Owner(uid=ctx.uid, gid=above.st_gid, mode=owner.mode | stat.S_ISGID)
        return await kind.mkdir(parent, name, owner)

    async def rmdir(self, parent_inode: InodeT, name: FileNameT, ctx: RequestContext) -> None:
        """Remove a queue that has nothing in it."""
        kind, parent = self._directory(parent_inode)
        await self._ownership.require(parent_inode, os.O_WRONLY, ctx)
        await kind.rmdir(parent, name)

    async def unlink(self, parent_inode: InodeT, name: FileNameT, ctx: RequestContext) -> None:
        """Remove a message's file."""
        kind, parent = self._directory(parent_inode)
        await self._ownership.require(parent_inode, os.O_WRONLY, ctx)
        await kind.unlink(parent, name)

    async def rename(
        self,
        parent_inode_old: InodeT,
        name_old: FileNameT,
        parent_inode_new: InodeT,
        name_new: FileNameT,
        flags: FlagT,
        ctx: RequestContext,
    ) -> None:
        """Move a queue, or a message; nothing is ever replaced, so RENAME_NOREPLACE changes nothing."""
        if flags & ~pyfuse3.RENAME_NOREPLACE:
            raise BadValue("nothing can be exchanged")
        kind, parent = self._directory(parent_inode_old)
        target = self._inodes.directory(parent_inode_new)
        for inode in (parent_inode_old, parent_inode_new):
            await self._ownership.require(inode, os.O_WRONLY, ctx)
        await kind.rename(parent, name_old, target, name_new)

    async def create(
        self, parent_inode: InodeT, name: FileNameT, mode: ModeT, flags: FlagT, ctx: RequestContext
    ) -> tuple[FileInfo, EntryAttributes]:
        """Refuse: no file but the control files."""
        _refuse(parent_inode, name, mode, flags, ctx)

    async def mknod(
        self, parent_inode: InodeT, name: FileNameT, mode: ModeT, rdev: int, ctx: RequestContext
    ) -> EntryAttributes:
        """Refuse."""
        _refuse(parent_inode, name, mode, rdev, ctx)

    async def symlink(
        self, parent_inode: InodeT, name: FileNameT, target: FileNameT, ctx: RequestContext
    ) -> EntryAttributes:
        """Refuse."""
        _refuse(parent_inode, name, target, ctx)

    async def link(
        self, inode: InodeT, new_parent_inode: InodeT, new_name: FileNameT, ctx: RequestContext
    ) -> EntryAttributes:
        """Refuse."""
        _refuse(inode, new_parent_inode, new_name, ctx)

    # Directories ----------------------------------------------------------------------------------------------------

    async def opendir(self, inode: InodeT, ctx: RequestContext) -> FileHandleT:
        """Open a directory."""
        kind, node = self._directory(inode)
        await self._ownership.require(inode, os.O_RDONLY, ctx)
        handle = self._next_handle()
        self._directories[handle] = kind.listing(node, ctx.pid)
        return handle

    async def readdir(self, fh: FileHandleT, start_id: int, token: ReaddirToken) -> None:
        """List entries."""
        await self._directories[fh].fill(start_id, token)

    async def releasedir(self, fh: FileHandleT) -> None:
        """Close a directory."""
        self._directories.pop(fh).close()

    # Files ----------------------------------------------------------------------------------------------------------

    async def open(self, inode: InodeT, flags: FlagT, ctx: RequestContext) -> FileInfo:
        """Open a file."""
        node = self._inodes.node(inode)
        if isinstance(node, VerbFile):
            return await self._open_verb(inode, node, flags, ctx)
        if flags & os.O_ACCMODE != os.O_RDONLY:
            raise pyfuse3.FUSEError(errno.EACCES)
        assert isinstance(node, MessageFile | RecordFile)  # directories are opened by `opendir`
        await self._ownership.require(inode, flags, ctx)
        handle = PayloadHandle(self._filing, node) if isinstance(node, MessageFile) else TextHandle(node.text)
        number = self._opened(handle, inode, ctx)
        # What the kernel has of it stays good: neither a payload nor a record ever changes.
        return pyfuse3.FileInfo(fh=number, direct_io=False, keep_cache=True)

    async def _open_verb(self, inode: InodeT, node: VerbFile, flags: FlagT, ctx: RequestContext) -> FileInfo:
        options = node.control.options.parse(node.options)
        _check_direction(node.control, flags)
        keep_out(node.control, flags)
        await self._ownership.require(inode, flags, ctx)
        text, node.text = node.text, None
        opening = Opening(
            service=self._service,
            queue=node.queue,
            text=text,
            pid=ctx.pid,
            inode=inode,
            may_wait=not flags & os.O_NONBLOCK,
            appends=bool(flags & os.O_APPEND),
            truncates=bool(flags & os.O_TRUNC),
        )
        handle = await node.control.open(opening, options)
        if flags & os.O_TRUNC:
            await node.control.truncate(self._service, node.queue)
        node.openers[ctx.pid] += 1
        return pyfuse3.FileInfo(fh=self._opened(handle, inode, ctx), direct_io=True, keep_cache=False)

    def _opened(self, handle: Handle, inode: InodeT, ctx: RequestContext) -> FileHandleT:
        number = self._next_handle()
        self._files[number] = (handle, inode, ctx.pid)
        return number

    async def read(self, fh: FileHandleT, off: int, size: int) -> bytes:
        """Read."""
        return await self._files[fh][0].read(off, size)

    async def write(self, fh: FileHandleT, off: int, buf: bytes) -> int:
        """Write; with O_APPEND the offset is the size the kernel believes in."""
        return await self._files[fh][0].write(buf, off)

    async def flush(self, fh: FileHandleT) -> None:
        """Answer one close."""
        await self._files[fh][0].flush()

    async def release(self, fh: FileHandleT) -> None:
        """Answer the last close; what it leaves to be done is handed over, so this never waits."""
        handle, inode, opener = self._files.pop(fh)
        node = self._inodes.node(inode)
        if isinstance(node, VerbFile):
            node.openers[opener] -= 1
            if not node.openers[opener]:
                del node.openers[opener]
            if node.caller is not None:
                self._inodes.retire(inode)
        if self._closed is not None:
            self._closed.set()
        await handle.release()

    async def fsync(self, fh: FileHandleT, datasync: bool) -> None:  # noqa: ARG002, FBT001 - pyfuse3's form
        """Store what a close would store."""
        await self._files[fh][0].flush()

    # Extended attributes --------------------------------------------------------------------------------------------

    async def getxattr(self, inode: InodeT, name: XAttrNameT, ctx: RequestContext) -> bytes:  # noqa: ARG002
        """Tell of a message; at the root, of the daemon: `queuefs umount` asks the mount itself whom to stop."""
        value = (await self._facts(inode)).get(name)
        if value is None:
            raise pyfuse3.FUSEError(errno.ENODATA)
        return value

    async def listxattr(self, inode: InodeT, ctx: RequestContext) -> Sequence[XAttrNameT]:  # noqa: ARG002
        """List them."""
        return list(await self._facts(inode))

    async def setxattr(self, inode: InodeT, name: XAttrNameT, value: bytes, ctx: RequestContext) -> None:
        """Refuse; not by ENOSYS, since the kernel would then ask for none any more."""
        del inode, name, value, ctx
        raise pyfuse3.FUSEError(errno.EOPNOTSUPP)

    async def removexattr(self, inode: InodeT, name: XAttrNameT, ctx: RequestContext) -> None:
        """Refuse likewise."""
        del inode, name, ctx
        raise pyfuse3.FUSEError(errno.EOPNOTSUPP)

    async def _facts(self, inode: InodeT) -> dict[XAttrNameT, bytes]:
        node = self._inodes.node(inode)
        if isinstance(node, MessageFile):  # as of the look-up of its name, which comes before
            facts = message_facts(node.message, self._service.clock)
        elif inode == pyfuse3.ROOT_INODE:
            facts = {"pid": str(os.getpid()), "version": queuefs.__version__}
        else:
            facts = {}
        return {f"user.queuefs.{name}".encode(): value.encode() for name, value in facts.items()}

    # ----------------------------------------------------------------------------------------------------------------

    @property
    def open_files(self) -> int:
        """How many control files are open."""
        return len(self._files)

    async def all_closed(self) -> None:
        """Return once no control file is open."""
        while self._files:
            self._closed = trio.Event()
            await self._closed.wait()

    def _next_handle(self) -> FileHandleT:
        self._last_handle += 1
        return self._last_handle


def _check_direction(control: ControlFile, flags: int) -> None:
    """Refuse a direction the verb does not have: root is not kept from it by the mode."""
    if flags & os.O_ACCMODE not in control.access:
        raise pyfuse3.FUSEError(errno.EACCES)


def _refuse(*_what: object) -> NoReturn:
    raise NotPermitted
