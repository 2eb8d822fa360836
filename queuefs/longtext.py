"""Texts with payloads that are too long to be held: made in pieces while they are read, and again when they are again.

They are the same bytes as those of a payload at hand: alone, or within a JSON line, as text or in base64.
"""

from __future__ import annotations

import base64
import codecs
from bisect import bisect_right
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import msgspec

from queuefs.errors import MessageGone, StoreDamaged

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractAsyncContextManager

    from queuefs.backend import Backend
    from queuefs.message import Message, QueueId

#: A payload is read in pieces of this size, bytes: a multiple of three, so that one in base64 can follow another.
PIECE_BYTES = 768 * 1024

#: How many pieces of a text are kept: a reader goes on in the last, or goes back a little.
KEPT_PIECES = 2

#: Where a payload stands in a JSON line, and what stands before it there.
_NOWHERE = b'"data":""'
_AS_TEXT = b'"data":"'
_AS_BASE64 = b'"data_base64":"'

_encode = msgspec.json.Encoder().encode


class LongText:
    """The text of one message whose payload is not at hand."""

    __slots__ = (
        "_backend",
        "_cuts",
        "_encode",
        "_head",
        "_line",
        "_message",
        "_queue",
        "_tail",
        "is_damaged",
        "starts",
    )

    def __init__(self, backend: Backend, queue: QueueId, message: Message, line: bytes | None) -> None:
        """Prepare; nothing is read yet.

        Args:
            backend: Has the payload.
            queue: Whose message it is.
            message: The message.
            line: Its JSON line as if the payload were empty; None: the payload stands alone.
        """
        self._backend = backend
        self._queue = queue
        self._message = message
        self._line = line
        self._head = self._tail = b""
        #: Whether a part of the payload was found missing or changed.
        self.is_damaged = False
        self._encode: Callable[[bytes], bytes] = bytes
        #: Where the pieces begin in the payload, and its end.
        self._cuts: list[int] = []
        #: Where they begin in the text, and its end; empty until it is measured.
        self.starts: list[int] = []

    async def measure(self) -> int:
        """Find out where the pieces begin, and return the text's length; a line is read through for that once.

        Raises:
            MessageGone: the message is gone.
            StoreDamaged: its payload can't be read.
        """
        if self.starts:
            return self.starts[-1]
        cuts = [*range(0, self._message.size, PIECE_BYTES), self._message.size]
        if self._line is None:
            self._cuts, self.starts = cuts, cuts
            return self.starts[-1]
        head, _, tail = self._line.partition(_NOWHERE)
        try:
            self._cuts, lengths = await self._read_as_text(cuts)
            head += _AS_TEXT
            self._encode = _escaped
        except UnicodeDecodeError:
            self._cuts, lengths = cuts, [_base64_bytes(end - start) for start, end in pairwise(cuts)]
            head += _AS_BASE64
            self._encode = base64.b64encode
        self._head, self._tail = head, b'"' + tail
        lengths[0] += len(head)
        lengths[-1] += len(self._tail)
        self.starts = [0, *accumulate(lengths)]
        return self.starts[-1]

    async def _read_as_text(self, cuts: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return where to cut the payload so that no character is cut, and how long each piece is as JSON.

        Raises:
            UnicodeDecodeError: it is no UTF-8.
        """
        decoder = codecs.getincrementaldecoder("utf-8")()
        between, lengths = [0], []
        for start, end in pairwise(cuts):
            text = decoder.decode(await self._read(start, end), final=end == self._message.size)
            between.append(end - len(decoder.getstate()[0]))
            lengths.append(len(_encode(text)) - 2)
        return between, lengths

    async def piece(self, number: int) -> bytes:
        """Return a piece of the text, which has been measured.

        Raises:
            MessageGone: the message is gone.
            StoreDamaged: its payload can't be read, or is not what it was.
        """
        payload = await self._read(self._cuts[number], self._cuts[number + 1])
        try:
            text = self._encode(payload)
        except UnicodeDecodeError:
            text = b""
        text = (self._head if number == 0 else b"") + text + (self._tail if number == self.count - 1 else b"")
        if len(text) != self.starts[number + 1] - self.starts[number]:
            self.is_damaged = True
            raise StoreDamaged(f"the payload of message {self._message.id} is not what it was a moment ago")
        return text

    @property
    def count(self) -> int:
        """How many pieces it has, once it has been measured."""
        return len(self._cuts) - 1

    async def _read(self, start: int, end: int) -> bytes:
        message = self._message.id
        try:
            data = await self._backend.read(self._queue, message, offset=start, size=end - start)
        except StoreDamaged:
            self.is_damaged = True
            raise
        if data is None:
            raise MessageGone(f"message {message} has left the queue while it was read")
        if len(data) < end - start:
            self.is_damaged = True
            raise StoreDamaged(f"the payload of message {message} ends at byte {start + len(data)}")
        return data


class Texts:
    """The texts of several messages, one after the other, of which any offset can be read."""

    def __init__(self, texts: Sequence[bytes | LongText], lock: AbstractAsyncContextManager[object]) -> None:
        """Join *texts*; *lock* keeps calls that come side by side from reading the same payload twice."""
        self._texts = texts
        self._lock = lock
        #: Where each text ends, as far as that is known.
        self.ends: list[int] = []
        #: The pieces that were read last, by text and number.
        self._kept: dict[tuple[int, int], bytes] = {}

    async def read(self, offset: int, size: int) -> bytes:
        """Return *size* bytes from *offset* on, fewer only at the end.

        Raises:
            QueueFSError: as of `LongText.measure` and `LongText.piece`.
        """
        async with self._lock:
            await self._measure(offset + size)
            end = min(offset + size, len(self))
            pieces = []
            while offset < end:
                piece = await self._from(offset, end - offset)
                pieces.append(piece)
                offset += len(piece)
            return b"".join(pieces)

    async def measure(self) -> None:
        """Find out how long they are, for `len`."""
        async with self._lock:
            await self._measure(None)

    def damaged(self) -> list[int]:
        """Return which of them were found damaged, by their places."""
        return [place for place, text in enumerate(self._texts) if not isinstance(text, bytes) and text.is_damaged]

    def __len__(self) -> int:
        """Return how long they are, as far as they have been measured."""
        return self.ends[-1] if self.ends else 0

    async def _measure(self, end: int | None) -> None:
        while len(self.ends) < len(self._texts) and (end is None or len(self) < end):
            text = self._texts[len(self.ends)]
            self.ends.append(len(self) + (len(text) if isinstance(text, bytes) else await text.measure()))

    async def _from(self, offset: int, size: int) -> bytes:
        """Return at most *size* bytes, at least one, of those that begin at *offset* in one piece."""
        number = bisect_right(self.ends, offset)
        text = self._texts[number]
        begin = self.ends[number - 1] if number else 0
        at = offset - begin
        if not isinstance(text, bytes):
            piece = bisect_right(text.starts, at) - 1
            at -= text.starts[piece]
            text = await self._piece(number, text, piece)
        return text[at : at + size]

    async def _piece(self, number: int, text: LongText, piece: int) -> bytes:
        found = self._kept.get((number, piece))
        if found is None:
            while len(self._kept) >= KEPT_PIECES:
                del self._kept[next(iter(self._kept))]
            found = self._kept[number, piece] = await text.piece(piece)
        return found


def joined(
    texts: Sequence[bytes | LongText], lock: AbstractAsyncContextManager[object]
) -> tuple[bytes | Texts, Sequence[int]]:
    """Return *texts* as one, for which see `Texts`, and where each ends, as far as that is known yet."""
    short: list[bytes] = []
    for text in texts:
        if not isinstance(text, bytes):
            long = Texts(texts, lock)
            return long, long.ends
        short.append(text)
    return b"".join(short), [*accumulate(map(len, short))]


def _escaped(payload: bytes) -> bytes:
    return _encode(payload.decode())[1:-1]


def _base64_bytes(size: int) -> int:
    return (size + 2) // 3 * 4
