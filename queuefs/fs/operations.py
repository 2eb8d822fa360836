"""The handlers that pyfuse3 calls: inode to node, flags to call, and nothing else."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, NoReturn, cast

import pyfuse3
import trio

import queuefs
from queuefs.errors import BadValue, NameTooLong, NotPermitted, QueueNotFound
from queuefs.fs.control import CONTROLS, find_control
from queuefs.fs.entries import Entries
from queuefs.fs.handles import Opening
from queuefs.fs.nodes import QueueDirectory, VerbFile
from queuefs.fs.seam import all_answered
from queuefs.message import Owner
from queuefs.names import MAX_NAME_BYTES, queue_name

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

    from queuefs.fs.control import ControlFile
    from queuefs.fs.handles import Handle
    from queuefs.message import Queue
    from queuefs.service import Service
    from queuefs.tree import Tree

_PERMISSIONS = 0o7777


class Directory:
    """An open directory and its entries as of its last rewind."""

    def __init__(self, node: QueueDirectory, caller: int) -> None:
        """List *node* for the thread *caller*."""
        self.node = node
        self.caller = caller
        self.queues: Sequence[Queue] = ()


@all_answered
class Operations(pyfuse3.Operations):
    """The tree of queues as the kernel sees it."""

    supports_dot_lookup = False
    enable_writeback_cache = False
    enable_acl = False

    def __init__(self, service: Service, tree: Tree, *, shared: bool) -> None:
        """Show *tree* and let *service* act; *shared* says that other daemons may change the tree."""
        super().__init__()
        self._service = service
        self._tree = tree
        self._entries = Entries(service, tree, shared=shared)
        self._inodes = self._entries.inodes
        self._last_handle = 0
        self._files: dict[FileHandleT, tuple[Handle, InodeT, int]] = {}
        self._directories: dict[FileHandleT, Directory] = {}
        #: Set at each last close, once somebody waits for that.
        self._closed: trio.Event | None = None

    # Names and attributes -------------------------------------------------------------------------------------------

    async def lookup(self, parent_inode: InodeT, name: FileNameT, ctx: RequestContext) -> EntryAttributes:
        """Find a control file or a child queue."""
        queue = self._inodes.directory(parent_inode).queue
        text = _text(name)
        found = find_control(text) if queue else None
        if found is None:
            return self._entries.queue(await self._tree.find(queue, text))
        control, options = found
        return await self._entries.verb(queue, control, options, ctx.pid, fresh=True)

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
        """Change a queue's owner and mode.

        On control files times mean nothing and are accepted, and so is a mode while the caller has the file open:
        `cp -p` sets it so.
        """
        node = self._inodes.node(inode)
        if fields.update_mode or fields.update_uid or fields.update_gid:
            if isinstance(node, QueueDirectory):
                old = (await self._tree.get(node.queue)).owner
                owner = Owner(
                    uid=attr.st_uid if fields.update_uid else old.uid,
                    gid=attr.st_gid if fields.update_gid else old.gid,
                    mode=attr.st_mode & _PERMISSIONS if fields.update_mode else old.mode,
                )
                await self._tree.set_owner(node.queue, owner)
                self._inodes.forget_attributes(node.queue)
            elif ctx.pid not in node.openers:  # fchmod(2) does not say through which file it comes
                raise NotPermitted("a control file's owner and mode follow its queue's")
        if fields.update_size and isinstance(node, VerbFile):
            if fh is not None:
                self._files[fh][0].truncate(attr.st_size)
            await node.control.truncate(self._service, node.queue)
        return await self._entries.attributes(inode)

    async def statfs(self, ctx: RequestContext) -> StatvfsData:  # noqa: ARG002 - pyfuse3's form
        """Answer df and its like; sizes mean nothing here."""
        data = pyfuse3.StatvfsData()
        data.f_bsize = data.f_frsize = 4096
        data.f_namemax = MAX_NAME_BYTES
        return data

    # The tree -------------------------------------------------------------------------------------------------------

    async def mkdir(self, parent_inode: InodeT, name: FileNameT, mode: ModeT, ctx: RequestContext) -> EntryAttributes:
        """Make a queue; it is the caller's."""
        owner = Owner(uid=ctx.uid, gid=ctx.gid, mode=mode & _PERMISSIONS)
        parent = self._inodes.directory(parent_inode).queue
        return self._entries.queue(await self._tree.create(parent, queue_name(name), owner))

    async def rmdir(self, parent_inode: InodeT, name: FileNameT, ctx: RequestContext) -> None:  # noqa: ARG002
        """Remove a queue that has nothing in it."""
        queue = await self._tree.find(self._inodes.directory(parent_inode).queue, _text(name))
        await self._tree.remove(queue.id)
        self._service.removed(queue.id)

    async def rename(
        self,
        parent_inode_old: InodeT,
        name_old: FileNameT,
        parent_inode_new: InodeT,
        name_new: FileNameT,
        flags: FlagT,
        ctx: RequestContext,  # noqa: ARG002 - pyfuse3's form
    ) -> None:
        """Move a queue with all below it; nothing is ever replaced, so RENAME_NOREPLACE changes nothing."""
        if flags & ~pyfuse3.RENAME_NOREPLACE:
            raise BadValue("queues can't be exchanged")
        parent = self._inodes.directory(parent_inode_old).queue
        if parent and find_control(_text(name_old)) is not None:
            raise NotPermitted
        queue = await self._tree.find(parent, _text(name_old))
        await self._tree.rename(queue.id, self._inodes.directory(parent_inode_new).queue, queue_name(name_new))

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

    async def unlink(self, parent_inode: InodeT, name: FileNameT, ctx: RequestContext) -> None:
        """Refuse."""
        _refuse(parent_inode, name, ctx)

    # Directories ----------------------------------------------------------------------------------------------------

    async def opendir(self, inode: InodeT, ctx: RequestContext) -> FileHandleT:
        """Open a directory."""
        handle = self._next_handle()
        self._directories[handle] = Directory(self._inodes.directory(inode), ctx.pid)
        return handle

    async def readdir(self, fh: FileHandleT, start_id: int, token: ReaddirToken) -> None:
        """List the control files and the child queues, as of the beginning of this pass."""
        directory = self._directories[fh]
        queue = directory.node.queue
        if start_id == 0:
            directory.queues = await self._tree.children(queue)
        controls = CONTROLS if queue else ()
        for position in range(start_id, len(controls) + len(directory.queues)):
            if position < len(controls):
                name = controls[position].name
                entry = await self._entries.verb(queue, controls[position], None, directory.caller, fresh=False)
            else:
                child = directory.queues[position - len(controls)]
                name = child.name
                entry = self._entries.queue(child)
            if not pyfuse3.readdir_reply(token, name.encode(), entry, position + 1):
                self._inodes.forget(entry.st_ino, 1)
                break

    async def releasedir(self, fh: FileHandleT) -> None:
        """Close a directory."""
        del self._directories[fh]

    # Files ----------------------------------------------------------------------------------------------------------

    async def open(self, inode: InodeT, flags: FlagT, ctx: RequestContext) -> FileInfo:
        """Open a control file."""
        node = cast("VerbFile", self._inodes.node(inode))
        options = node.control.options.parse(node.options)
        _check_access(node.control, flags)
        text, node.text = node.text, None
        opening = Opening(
            service=self._service,
            queue=node.queue,
            text=text,
            pid=ctx.pid,
            inode=inode,
            may_wait=not flags & os.O_NONBLOCK,
            appends=bool(flags & os.O_APPEND),
        )
        handle = await node.control.open(opening, options)
        if flags & os.O_TRUNC:
            await node.control.truncate(self._service, node.queue)
        node.openers[ctx.pid] += 1
        number = self._next_handle()
        self._files[number] = (handle, inode, ctx.pid)
        return pyfuse3.FileInfo(fh=number, direct_io=True, keep_cache=False)

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
        node = cast("VerbFile", self._inodes.node(inode))
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
        """Tell of the daemon at the root: `queuefs umount` asks the mount itself whom to stop."""
        value = self._about().get(name) if inode == pyfuse3.ROOT_INODE else None
        if value is None:
            raise pyfuse3.FUSEError(errno.ENODATA)
        return value

    async def listxattr(self, inode: InodeT, ctx: RequestContext) -> Sequence[XAttrNameT]:  # noqa: ARG002
        """List them."""
        return list(self._about()) if inode == pyfuse3.ROOT_INODE else []

    async def setxattr(self, inode: InodeT, name: XAttrNameT, value: bytes, ctx: RequestContext) -> None:
        """Refuse; not by ENOSYS, since the kernel would then ask for none any more."""
        del inode, name, value, ctx
        raise pyfuse3.FUSEError(errno.EOPNOTSUPP)

    async def removexattr(self, inode: InodeT, name: XAttrNameT, ctx: RequestContext) -> None:
        """Refuse likewise."""
        del inode, name, ctx
        raise pyfuse3.FUSEError(errno.EOPNOTSUPP)

    def _about(self) -> dict[XAttrNameT, bytes]:
        return {
            b"user.queuefs.pid": b"%d" % os.getpid(),
            b"user.queuefs.version": queuefs.__version__.encode(),
        }

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


def _text(name: bytes) -> str:
    """Return *name* for a look-up; no queue has a name that is not UTF-8."""
    if len(name) > MAX_NAME_BYTES:
        raise NameTooLong
    try:
        return name.decode()
    except UnicodeDecodeError:
        raise QueueNotFound from None


def _check_access(control: ControlFile, flags: int) -> None:
    """Refuse a direction the verb does not have: root is not kept from it by the mode."""
    if flags & os.O_ACCMODE not in control.access:
        raise pyfuse3.FUSEError(errno.EACCES)


def _refuse(*_what: object) -> NoReturn:
    raise NotPermitted
