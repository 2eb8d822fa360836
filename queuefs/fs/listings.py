"""Open directories: their entries, from any offset on, as much as a reply holds."""

from __future__ import annotations

import stat
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import pyfuse3

from queuefs.errors import MessageNotFound
from queuefs.fs import unremembered
from queuefs.fs.inodes import message_inode
from queuefs.fs.positions import Positions
from queuefs.message import Ended, Place, Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyfuse3 import EntryAttributes, ReaddirToken

    from queuefs.fs.entries import Entries
    from queuefs.fs.nodes import StateDirectory
    from queuefs.message import MessageId

#: Entries in one reply, which may hold fewer than fit. The kernel asks for as much as the caller's buffer holds, some
#: 200 entries; while these are made nobody else is answered, and a listing makes one reply after the other.
REPLY = 16

#: Messages that are asked of the back end at a time: where its answer comes at once no more than a reply holds, for the
#: same reason.
PAGE = 64

P = TypeVar("P", bound=tuple[float, int])
T = TypeVar("T")

#: A name, and what makes its entry, which counts as a look-up.
Name = tuple[str, Callable[[], Awaitable[pyfuse3.EntryAttributes]]]


class Listing(Protocol):
    """An open directory."""

    async def fill(self, start: int, token: ReaddirToken) -> None:
        """Reply with the entries behind offset *start*, as many as fit."""

    def close(self) -> None:
        """Drop what is held for it."""


class NamesListing:
    """Entries that are few, as of the beginning of a pass: of a queue's directory, and of the one about the mount."""

    def __init__(self, entries: Entries, look: Callable[[], Awaitable[Sequence[Name]]]) -> None:
        """List what *look* returns."""
        self._entries = entries
        self._look = look
        self._names: Sequence[Name] = ()

    async def fill(self, start: int, token: ReaddirToken) -> None:
        """Reply with entries."""
        if start == 0:
            self._names = await self._look()
        for offset, (name, make) in enumerate(self._names[start:], start + 1):
            entry = await make()
            if not pyfuse3.readdir_reply(token, name.encode(), entry, offset):
                self._entries.inodes.forget(entry.st_ino, 1)
                return

    def close(self) -> None:
        """Drop nothing."""


class _LongListing(Generic[T, P]):
    """A list of any length that is read page by page; no more than a page is held."""

    def __init__(self, entries: Entries, node: StateDirectory, make_place: Callable[[float, MessageId], P]) -> None:
        self._entries = entries
        self._node = node
        self._positions = Positions(make_place)
        self._limit = REPLY if entries.instant else PAGE
        #: What was fetched and not listed yet, and the offset at which that begins.
        self._ahead: list[T] = []
        self._offset = 0

    async def fill(self, start: int, token: ReaddirToken) -> None:
        """Reply with entries."""
        if start != self._offset or start == 0:
            self._ahead = []
            self._offset = start
        if not self._ahead:
            self._ahead = list(await self._page(self._positions.before(start), self._limit))
        listed: list[P] = []
        for item in self._ahead[:REPLY]:
            if not await self._reply(token, item, start + len(listed) + 1):
                break
            listed.append(self._place(item))
        del self._ahead[: len(listed)]
        self._positions.note(start, listed)
        self._offset = start + len(listed)

    def close(self) -> None:
        """Forget the places."""
        self._positions.close()

    async def _remembered(self, token: ReaddirToken, entry: EntryAttributes, name: MessageId, offset: int) -> bool:
        """Reply with an entry that counts as a look-up."""
        fits = pyfuse3.readdir_reply(token, b"%d" % name, entry, offset)
        if not fits:
            self._entries.inodes.forget(entry.st_ino, 1)
        return fits

    async def _page(self, after: P | None, limit: int) -> Sequence[T]:
        raise NotImplementedError

    def _place(self, item: T) -> P:
        raise NotImplementedError

    async def _reply(self, token: ReaddirToken, item: T, offset: int) -> bool:
        raise NotImplementedError


class MessagesListing(_LongListing[Place, Place]):
    """The messages of a state, in the order in which they will be handed out."""

    def __init__(self, entries: Entries, node: StateDirectory) -> None:
        """List the messages of *node*."""
        super().__init__(entries, node, lambda first, message: Place(int(first), message))
        self._entry = unremembered.UnrememberedEntry(stat.S_IFREG) if unremembered.HAS_NODEID else None

    async def _page(self, after: Place | None, limit: int) -> Sequence[Place]:
        return await self._entries.filing.places(self._node.queue, self._node.state, after=after, limit=limit)

    def _place(self, item: Place) -> Place:
        return item

    async def _reply(self, token: ReaddirToken, item: Place, offset: int) -> bool:
        if self._entry is None:
            return await self._reply_whole(token, item, offset)
        return pyfuse3.readdir_reply(token, b"%d" % item.id, self._entry.numbered(message_inode(item.id)), offset)

    async def _reply_whole(self, token: ReaddirToken, item: Place, offset: int) -> bool:
        try:
            message = await self._entries.filing.find(self._node.queue, self._node.state, item.id)
        except MessageNotFound:  # it has left since the page was fetched
            return True
        return await self._remembered(token, await self._entries.message(self._node, message), item.id, offset)


class RecordsListing(_LongListing[Record, Ended]):
    """The records of messages that are done, the latest first."""

    def __init__(self, entries: Entries, node: StateDirectory) -> None:
        """List the records of *node*."""
        super().__init__(entries, node, Ended)

    async def _page(self, after: Ended | None, limit: int) -> Sequence[Record]:
        return await self._entries.filing.records(self._node.queue, after=after, limit=limit)

    def _place(self, item: Record) -> Ended:
        return item.ended

    async def _reply(self, token: ReaddirToken, item: Record, offset: int) -> bool:
        return await self._remembered(token, await self._entries.record(self._node, item), item.id, offset)
