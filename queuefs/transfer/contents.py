"""Writes messages with payloads: short ones many at a time, long ones in pieces, damaged ones as far as it goes."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from queuefs.errors import QueueNotFound, StoreDamaged
from queuefs.transfer.fields import PIECE_BYTES
from queuefs.transfer.lines import Header, Totals
from queuefs.transfer.messages import GoneLine, MessageLine, PieceLine
from queuefs.transfer.seen import Seen

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Sequence

    from queuefs.backend import Backend
    from queuefs.message import Message, MessageId, QueueId

#: How much is read of a payload at a time; less where not all of it comes.
_SIZES = (PIECE_BYTES, 64 * 1024, 4096)

#: As many ids of damaged messages are named.
NAMED = 1000


@dataclass(kw_only=True)
class Progress:
    """How far an export is; it can be watched."""

    #: What there was when it began; None before that is known.
    header: Header | None = None
    totals: Totals = field(default_factory=Totals)
    #: The first of the messages that are damaged.
    damaged: list[MessageId] = field(default_factory=list)


class Contents:
    """Turns messages, as a page has them, into lines."""

    def __init__(self, backend: Backend, progress: Progress, *, ahead: float) -> None:
        """Read from *backend*; *ahead* is by how much the wall clock is, of the store's time."""
        self._backend = backend
        self._progress = progress
        self._ahead = ahead
        #: The messages that have been written.
        self.seen = Seen()
        #: Those that were not there any more; one of them may turn up in another queue.
        self._gone = Seen()

    async def lines(self, queue: QueueId, messages: Sequence[Message]) -> AsyncGenerator[bytes, None]:
        """Yield the lines of *messages*, all of *queue*."""
        for batch in _batches(messages):
            if batch[0].size > PIECE_BYTES:
                async with aclosing(self._long(queue, batch[0])) as lines:
                    async for line in lines:
                        yield line
                continue
            payloads = await self._payloads(queue, [message.id for message in batch])
            for message, payload in zip(batch, payloads, strict=True):
                if payload is None:
                    salvaged = await self._salvaged(queue, message)
                    if salvaged is not None:
                        yield salvaged
                else:
                    yield self._line(message, payload, size=len(payload), damaged=False)

    async def _payloads(self, queue: QueueId, messages: Sequence[MessageId]) -> Sequence[bytes | None]:
        try:
            return await self._backend.payloads(queue, messages)
        except (StoreDamaged, QueueNotFound):  # the look at each of them tells which
            return [None] * len(messages)

    async def _salvaged(self, queue: QueueId, message: Message) -> bytes | None:
        """Return the line of a message whose payload did not come, with what can be read; None if it is gone."""
        if await self._is_gone(queue, message):
            return None
        data = b""
        while len(data) < message.size:
            try:
                piece = await self._piece(queue, message, len(data))
            except StoreDamaged:
                break
            if piece is None:
                return None
            if not piece:
                break
            data += piece
        return self._line(message, data, size=len(data), damaged=True)

    async def _long(self, queue: QueueId, message: Message) -> AsyncGenerator[bytes, None]:
        """Yield the pieces of a payload, and then the message."""
        at = 0
        while at < message.size:
            try:
                piece = await self._piece(queue, message, at)
            except StoreDamaged:
                break
            if piece is None:
                if at:
                    yield GoneLine(id=str(message.id), gone=True).encoded()
                return
            if not piece:
                break
            yield PieceLine(id=str(message.id), at=at, data_base64=piece).encoded()
            at += len(piece)
        yield self._line(message, None, size=at, damaged=at != message.size)

    async def _piece(self, queue: QueueId, message: Message, at: int) -> bytes | None:
        """Return the next piece of a payload, a shorter one where one behind it is missing; None if it is gone.

        Raises:
            StoreDamaged: the very next bytes are missing.
        """
        for size in _SIZES:
            try:
                piece = await self._backend.read(queue, message.id, offset=at, size=size)
            except StoreDamaged:
                if size == _SIZES[-1]:
                    raise
            except QueueNotFound:
                break
            else:
                if piece is None:
                    break
                return piece
        self._note_gone(message)
        return None

    async def _is_gone(self, queue: QueueId, message: Message) -> bool:
        try:
            (found,) = await self._backend.find(queue, [message.id])
        except QueueNotFound:
            found = None
        if found is None:
            self._note_gone(message)
        return found is None

    def _line(self, message: Message, data: bytes | None, *, size: int, damaged: bool) -> bytes:
        totals = self._progress.totals
        line = MessageLine.of(message, data, ahead=self._ahead, size=size, damaged=damaged)
        self.seen.add(message.id)
        totals.gone -= self._gone.discard(message.id)
        totals.messages += 1
        totals.bytes += size
        if line.damaged:
            totals.damaged += 1
            if len(self._progress.damaged) < NAMED:
                self._progress.damaged.append(message.id)
        return line.encoded()

    def _note_gone(self, message: Message) -> None:
        self._progress.totals.gone += self._gone.add(message.id)


def _batches(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """Yield *messages*, in order, in lists that have no more payload than a piece; a longer one is alone."""
    batch: list[Message] = []
    size = 0
    for message in messages:
        if batch and size + message.size > PIECE_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(message)
        size += message.size
    if batch:
        yield batch
