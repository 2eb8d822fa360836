"""Messages while they are read: the claim at the first read, and what becomes of it at the last close."""

from __future__ import annotations

from bisect import bisect_right
from contextlib import nullcontext
from typing import TYPE_CHECKING, Protocol

import trio

from queuefs.longtext import Texts, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queuefs.longtext import LongText
    from queuefs.message import Message, Ref

#: The longest payload that is handed over with a claim, bytes; longer ones are read in pieces.
INLINE_BYTES = 1024 * 1024


class Claims(Protocol):
    """Where a delivery has its messages from, and what it does with them at the end."""

    async def claim(self) -> Sequence[Message]:
        """Claim messages; none if there are none."""

    async def undo(self, receipts: Sequence[Ref]) -> None:
        """Take claims back; never suspends."""

    async def ack(self, receipts: Sequence[Ref]) -> None:
        """Settle claims for good; never suspends."""

    async def bury(self, receipts: Sequence[Ref]) -> None:
        """Set messages aside whose payloads are damaged; never suspends."""


class Delivery:
    """One open of `dequeue`: one claim of one or more messages, the same bytes at every offset, then the end.

    The claim is made by the first read that begins at the beginning. A read further on makes none: `wc -c` looks at
    the end of a file, and a splice reader's read-ahead comes beside the first read.
    """

    __slots__ = ("_acks", "_begun", "_claims", "_ends", "_lock", "_receipts", "_sent", "_show", "_text")

    def __init__(
        self, claims: Claims, show: Callable[[Message], bytes | LongText], *, acks: bool, instant: bool
    ) -> None:
        """Prepare to claim; nothing is claimed yet.

        Args:
            claims: Claims once.
            show: Makes the text of one message.
            acks: What was read to its end is settled by the last close.
            instant: Whether a claim never suspends.
        """
        self._claims = claims
        self._show = show
        self._acks = acks
        self._begun = False
        self._text: bytes | Texts | None = None
        self._receipts: list[Ref] = []
        #: Where the text of each ends in the text of all, as far as that is known: it is of all that could be read.
        self._ends: Sequence[int] = ()
        #: Bytes replied without a gap from the beginning.
        self._sent = 0
        # Reads of one open can come side by side; where answers are instant nothing can come in between.
        self._lock = nullcontext() if instant else trio.Lock()

    async def read(self, offset: int, size: int) -> bytes:
        """Return the text from *offset* on, at most *size* bytes; none when there is no message.

        Raises:
            QueueFSError: nothing could be claimed, or a payload that is read in pieces can't be read.
        """
        if self._text is None:
            if offset > 0 and not self._begun:
                return b""
            self._begun = True
            async with self._lock:
                if self._text is None:
                    self._text = self._take(await self._claims.claim())
        text = self._text
        piece = text[offset : offset + size] if isinstance(text, bytes) else await text.read(offset, size)
        if offset <= self._sent:
            self._sent = max(self._sent, offset + len(piece))
        return piece

    def _take(self, messages: Sequence[Message]) -> bytes | Texts:
        self._receipts = [message.receipt for message in messages]
        text, self._ends = joined([*map(self._show, messages)], self._lock)
        return text

    async def close(self) -> None:
        """Take the claims back of which not all was replied, and set aside what can't be read; never suspends."""
        if not self._receipts:
            return
        read = bisect_right(self._ends, self._sent)
        damaged = self._text.damaged() if isinstance(self._text, Texts) else []
        unread = [self._receipts[place] for place in range(read, len(self._receipts)) if place not in damaged]
        lost = [self._receipts[place] for place in damaged if place >= read]
        if unread:
            await self._claims.undo(unread)
        if lost:  # undone, each would be the next one again, and in the way for ever
            await self._claims.bury(lost)
        if self._acks and read:
            await self._claims.ack(self._receipts[:read])
