"""The owner and mode of directories and control files: changed, and looked at where the kernel may know old ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs.errors import NotPermitted
from queuefs.fs import access
from queuefs.fs.nodes import QueueDirectory, StateDirectory, VerbFile
from queuefs.message import Owner

if TYPE_CHECKING:
    from pyfuse3 import EntryAttributes, InodeT, RequestContext, SetattrFields

    from queuefs.fs.inodes import Inodes
    from queuefs.tree import Tree

#: The bits of a mode that chmod(2) sets.
PERMISSIONS = 0o7777


class Ownership:
    """Whose the files of a mount are."""

    def __init__(self, tree: Tree, inodes: Inodes) -> None:
        """Keep owners in *tree*; of what *inodes* stand for."""
        self._tree = tree
        self._inodes = inodes

    async def change(self, inode: InodeT, attr: EntryAttributes, fields: SetattrFields, caller: RequestContext) -> None:
        """Take over what *attr* has of owner, group and mode; the kernel has seen that *caller* may, by what it knows.

        Raises:
            NotPermitted: *inode* has no owner and mode of its own, or *caller* is not its owner any more.
        """
        node = self._inodes.node(inode)
        # fchmod(2) does not say through which file it comes.
        if isinstance(node, VerbFile) and caller.pid in node.openers:
            return
        # Fresh: what another daemon has changed a moment ago is not to be undone.
        old = access.owner_of_node(await self._tree.get(node.queue, fresh=True), node)
        if caller.uid not in (0, old.uid):
            raise NotPermitted("it belongs to somebody else by now")
        owner = Owner(
            uid=attr.st_uid if fields.update_uid else old.uid,
            gid=attr.st_gid if fields.update_gid else old.gid,
            mode=attr.st_mode & PERMISSIONS if fields.update_mode else old.mode,
        )
        if isinstance(node, QueueDirectory):
            await self._tree.set_owner(node.queue, owner)
        elif isinstance(node, StateDirectory):
            await self._tree.set_file_owner(node.queue, node.state, owner)
        elif isinstance(node, VerbFile) and node.queue:
            await self._tree.set_file_owner(node.queue, node.control.name, owner)
        else:
            raise NotPermitted("the owner and mode of this follow those of its directory")
        self._inodes.forget_attributes(node.queue)

    async def require(self, inode: InodeT, flags: int, caller: RequestContext) -> None:
        """Look whether the mode of *inode* lets *caller* in; what the kernel knows of it may be out of date.

        Raises:
            AccessDenied: it does not.
        """
        if caller.uid:
            node = self._inodes.node(inode)
            access.require(access.owner_of_node(await self._tree.get(node.queue), node), flags, caller)
