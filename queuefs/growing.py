"""A staged message as the store has it: how it grows, at once or in pieces, and waits for room."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from queuefs.errors import QueueFull
from queuefs.writers import RoomHeldByWriters

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from queuefs.message import Draft, MessageId, QueueId, Room
    from queuefs.parts import Parts
    from queuefs.writers import Patience

#: What is stored in pieces is stored in pieces of this size, bytes.
PIECE_BYTES = 1024 * 1024


class _Piece(NamedTuple):
    data: bytes
    #: More must follow.
    partial: bool


class Growing:
    """What of one message is stored, what is on its way, and what is kept for the next piece."""

    __slots__ = (
        "_draft",
        "_kept",
        "_parts",
        "_patience",
        "_piece",
        "_queue",
        "_stored",
        "id",
        "partial",
        "ticket",
    )

    def __init__(self, parts: Parts, queue: QueueId, draft: Draft, patience: Patience | None) -> None:
        """Begin; nothing is stored yet. Without *patience* the first answer of a full queue counts."""
        self._parts = parts
        self._queue = queue
        self._draft = draft
        self._patience = patience
        #: Given by the first call that stores something, be it nothing but the mark.
        self.id: MessageId | None = None
        #: Whether it is marked so in the store.
        self.partial = False
        #: Bytes of which the store has said that it has them; then come those of the piece, and those that are kept.
        self._stored = 0
        #: What has been handed over and is not known to be stored.
        self._piece: _Piece | None = None
        #: The answer to that, until it is looked at.
        self.ticket: Awaitable[None] | None = None
        self._kept = bytearray()

    async def store(self, data: bytes, *, partial: bool) -> None:
        """Return once *data* is stored.

        Raises:
            RoomHeldByWriters: it would wait for room for ever.
            QueueFSError: that of `Backend.stage` or `Backend.append`, or what ended the wait for room.
        """
        if self._patience is None:
            await self._try_to_store(data, partial=partial)
        else:
            try:
                await self._patience.with_room(lambda: self._try_to_store(data, partial=partial))
            finally:
                self._note(held_up=False)
        self._stored += len(data)
        self.partial = partial

    async def _try_to_store(self, data: bytes, *, partial: bool) -> None:
        backend = self._parts.backend
        # As it is now: who waits for room must not miss that there is more of it.
        room = (await self._parts.configs.get(self._queue)).room
        if self.id is None:
            self.id = await backend.stage(
                self._queue, data, draft=self._draft, room=room, partial=partial, now=self._parts.clock.now()
            )
            return
        try:
            await self._append(self.id, data, room, partial=partial)
        except QueueFull:
            await self._give_way()
            raise

    def _append(self, message: MessageId, data: bytes, room: Room, *, partial: bool) -> Awaitable[None]:
        backend = self._parts.backend
        return backend.append(self._queue, message, data, offset=self._stored, partial=partial, room=room)

    # In pieces ------------------------------------------------------------------------------------------------------

    async def collect(self, data: bytes) -> None:
        """Keep *data*; once there is enough for a piece, hand it over, as soon as the one before is stored.

        Raises:
            QueueFSError: as of `store`, for the piece before; nothing was taken of *data*.
        """
        if not self.partial:
            await self.store(b"", partial=True)
        if len(self._kept) + len(data) < PIECE_BYTES:
            self._kept += data
            return
        await self._settle()
        await self._hand_over(bytes(self._kept) + data, partial=True)

    async def store_rest(self) -> None:
        """Return once all is stored, and the mark is lifted.

        Raises:
            QueueFSError: as of `store`.
        """
        await self._settle()
        await self._hand_over(bytes(self._kept), partial=False)
        await self._settle()

    async def _hand_over(self, data: bytes, *, partial: bool) -> None:
        room = (await self._parts.configs.get(self._queue)).room
        assert self.id is not None  # it was staged with the mark at the latest
        self.ticket = self._append(self.id, data, room, partial=partial)
        self._piece = _Piece(data, partial=partial)
        self._kept.clear()

    async def _settle(self) -> None:
        """Return once the piece is stored: handed over again, when there is room, if there was none."""
        piece = self._piece
        if piece is None:
            return
        if self.ticket is not None and await self._is_stored(self.ticket):
            self._stored += len(piece.data)
            self.partial = piece.partial
            self._note(held_up=False)
        else:
            await self.store(piece.data, partial=piece.partial)
        self._piece = None

    async def _is_stored(self, ticket: Awaitable[None]) -> bool:
        """Return what became of what was handed over: True if it is stored, False if there was no room."""
        self.ticket = None
        try:
            await ticket
        except QueueFull:
            await self._give_way()
            return False
        return True

    # Others ---------------------------------------------------------------------------------------------------------

    async def _give_way(self) -> None:
        """Give up if this writer and others wait for the room that they hold themselves."""
        self._note(held_up=True)
        if not self._is_held_up() or await self._parts.backend.unacked_bytes(self._queue):
            return
        if self._is_held_up():  # still: another has not given way meanwhile
            self._note(held_up=False)
            raise RoomHeldByWriters

    def _is_held_up(self) -> bool:
        return self._patience is not None and self._patience.writers.hold_up_each_other(self._queue)

    def _note(self, *, held_up: bool) -> None:
        if self._patience is not None and self.partial and self._stored:
            self._patience.writers.note(self._queue, self, held_up=held_up)

    def end(self) -> None:
        """Hold up nobody any more."""
        if self._patience is not None:
            self._patience.writers.leave(self._queue, self)
