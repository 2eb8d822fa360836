"""The kinds of directories: what their names mean, and what may be done to them."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Generic, NoReturn, TypeVar

from queuefs.errors import IdInUse, MessageNotFound, NameTooLong, NotPermitted, QueueFSError, QueueNotFound
from queuefs.fs.about import ABOUT_FILES, find_about
from queuefs.fs.control import CONTROLS, find_control
from queuefs.fs.listings import MessagesListing, NamesListing, RecordsListing
from queuefs.fs.nodes import AboutDirectory, MessageFile, QueueDirectory, StateDirectory
from queuefs.lifecycle import State
from queuefs.message import MAX_MESSAGE_ID, ROOT, MessageId
from queuefs.names import ABOUT, MAX_NAME_BYTES, RESERVED, STATE_DIRECTORIES, queue_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyfuse3 import EntryAttributes

    from queuefs.filing import Filing
    from queuefs.fs.entries import Entries
    from queuefs.fs.listings import Listing, Name
    from queuefs.fs.nodes import Directory
    from queuefs.message import Owner, Queue
    from queuefs.service import Service
    from queuefs.tree import Tree

D = TypeVar("D", QueueDirectory, StateDirectory, AboutDirectory)

_ID = re.compile(rb"[1-9][0-9]{0,18}")

_STATES = {name: State(name) for name in STATE_DIRECTORIES}


class DirectoryKind(Generic[D]):
    """What holds for directories of which nothing else is said: nothing is made, moved or removed in them."""

    async def lookup(self, node: D, name: bytes, pid: int) -> EntryAttributes:
        """Find *name*, for the thread *pid*.

        Raises:
            QueueFSError: there is none.
        """
        raise NotImplementedError

    def listing(self, node: D, pid: int) -> Listing:
        """Return what lists its entries to the thread *pid*."""
        raise NotImplementedError

    async def mkdir(self, node: D, name: bytes, owner: Owner) -> EntryAttributes:
        """Make a directory."""
        _refuse(node, name, owner)

    async def rmdir(self, node: D, name: bytes) -> None:
        """Remove a directory."""
        _refuse(node, name)

    async def unlink(self, node: D, name: bytes) -> None:
        """Remove a file."""
        _refuse(node, name)

    async def rename(self, node: D, name: bytes, target: Directory, new_name: bytes) -> None:
        """Move *name* to *target*; nothing is ever replaced."""
        _refuse(node, name, target, new_name)


class QueueDirectories(DirectoryKind[QueueDirectory]):
    """Queues, and the root, which is none: control files, messages by state, child queues."""

    def __init__(self, service: Service, tree: Tree, entries: Entries) -> None:
        """Show *tree* by *entries*."""
        self._service = service
        self._tree = tree
        self._entries = entries

    async def lookup(self, node: QueueDirectory, name: bytes, pid: int) -> EntryAttributes:
        """Find a control file, a state directory or a child queue; in the root, what is about the mount."""
        text = _text(name)
        if node.queue:
            if text in _STATES:
                return await self._entries.state(node.queue, _STATES[text])
            found = find_control(text)
            if found is not None:
                return await self._entries.verb(node.queue, *found, pid, fresh=True)
        elif text == ABOUT:
            return await self._entries.about()
        return self._entries.queue(await self._tree.find(node.queue, text))

    def listing(self, node: QueueDirectory, pid: int) -> Listing:
        """List the control files, the state directories and the child queues, as of the beginning of each pass."""
        return NamesListing(self._entries, partial(self._names, node, pid))

    async def _names(self, node: QueueDirectory, pid: int) -> Sequence[Name]:
        queue, entries = node.queue, self._entries
        names: list[Name] = []
        if queue:
            names += [
                (control.name, partial(entries.verb, queue, control, None, pid, fresh=False)) for control in CONTROLS
            ]
            names += [(name, partial(entries.state, queue, state)) for name, state in _STATES.items()]
        else:
            names.append((ABOUT, entries.about))

        async def child(queue: Queue) -> EntryAttributes:
            return entries.queue(queue)

        return names + [(one.name, partial(child, one)) for one in await self._tree.children(queue)]

    async def mkdir(self, node: QueueDirectory, name: bytes, owner: Owner) -> EntryAttributes:
        """Make a queue."""
        return self._entries.queue(await self._tree.create(node.queue, queue_name(name), owner))

    async def rmdir(self, node: QueueDirectory, name: bytes) -> None:
        """Remove a queue that has nothing in it."""
        queue = await self._own(node, name)
        await self._tree.remove(queue.id)
        self._service.removed(queue.id)

    async def rename(self, node: QueueDirectory, name: bytes, target: Directory, new_name: bytes) -> None:
        """Move a queue with all below it."""
        queue = await self._own(node, name)
        if not isinstance(target, QueueDirectory):
            raise NotPermitted
        await self._tree.rename(queue.id, target.queue, queue_name(new_name))

    async def _own(self, node: QueueDirectory, name: bytes) -> Queue:
        """Return the child queue *name*; what every queue has by itself stays where it is."""
        text = _text(name)
        if text in RESERVED or (node.queue and find_control(text) is not None):
            raise NotPermitted
        return await self._tree.find(node.queue, text)


class StateDirectories(DirectoryKind[StateDirectory]):
    """Messages of one state, one file each."""

    def __init__(self, entries: Entries, filing: Filing) -> None:
        """Show and move messages by *filing*."""
        self._entries = entries
        self._filing = filing

    async def lookup(self, node: StateDirectory, name: bytes, pid: int) -> EntryAttributes:  # noqa: ARG002
        """Find a message, or the record of one."""
        message = _message(name)
        if node.state is State.DONE:
            return await self._entries.record(node, await self._filing.record(node.queue, message))
        return await self._entries.message(node, await self._filing.find(node.queue, node.state, message))

    def listing(self, node: StateDirectory, pid: int) -> Listing:  # noqa: ARG002
        """List the messages, or the records."""
        return (RecordsListing if node.state is State.DONE else MessagesListing)(self._entries, node)

    async def unlink(self, node: StateDirectory, name: bytes) -> None:
        """Cancel, ack, drop or prune a message."""
        await self._filing.remove(node.queue, node.state, _message(name))

    async def rename(self, node: StateDirectory, name: bytes, target: Directory, new_name: bytes) -> None:
        """Move a message to another state, or a pending one to another queue."""
        message = _message(name)
        if not isinstance(target, StateDirectory):
            raise NotPermitted("a message goes to a state directory")
        if new_name != name:
            await self._refuse_name(target, new_name)
        await self._filing.move(node.queue, node.state, message, target=target.queue, to=target.state)
        file = self._entries.inodes.known(("message", message))
        if isinstance(file, MessageFile):
            file.queue = target.queue

    async def _refuse_name(self, target: StateDirectory, name: bytes) -> NoReturn:
        """A message keeps its id; say whether that name is another's."""
        try:
            await self._filing.find(target.queue, target.state, _message(name))
        except QueueFSError:
            raise NotPermitted("a message keeps its id") from None
        raise IdInUse


class AboutDirectories(DirectoryKind[AboutDirectory]):
    """What is about the mount."""

    def __init__(self, entries: Entries) -> None:
        """Show it by *entries*."""
        self._entries = entries

    async def lookup(self, node: AboutDirectory, name: bytes, pid: int) -> EntryAttributes:  # noqa: ARG002
        """Find a file."""
        found = find_about(_text(name))
        if found is None:
            raise QueueNotFound
        return await self._entries.verb(ROOT, *found, pid, fresh=True)

    def listing(self, node: AboutDirectory, pid: int) -> Listing:  # noqa: ARG002
        """List the files."""

        async def names() -> Sequence[Name]:
            return [
                (file.name, partial(self._entries.verb, ROOT, file, None, pid, fresh=False)) for file in ABOUT_FILES
            ]

        return NamesListing(self._entries, names)


def _text(name: bytes) -> str:
    """Return *name* for a look-up; no queue has a name that is not UTF-8."""
    if len(name) > MAX_NAME_BYTES:
        raise NameTooLong
    try:
        return name.decode()
    except UnicodeDecodeError:
        raise QueueNotFound from None


def _message(name: bytes) -> MessageId:
    """Return the message that a file is named after."""
    if not _ID.fullmatch(name) or int(name) > MAX_MESSAGE_ID:
        raise MessageNotFound("messages' files are named by their ids")
    return MessageId(int(name))


def _refuse(*_what: object) -> NoReturn:
    raise NotPermitted
