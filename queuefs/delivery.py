"""Messages while they are read: the claim at the first read, and what becomes of it at the last close."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, NamedTuple, Protocol

import trio

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queuefs.message import Message, Ref


class Claims(Protocol):
    """Where a delivery has its messages from, and what it does with them at the end."""

    async def claim(self) -> Sequence[Message]:
        """Claim messages; none if there are none."""

    async def undo(self, receipts: Sequence[Ref]) -> None:
        """Take claims back; never suspends."""

    async def ack(self, receipts: Sequence[Ref]) -> None:
        """Settle claims for good; never suspends."""


class _Claimed(NamedTuple):
    receipt: Ref
    #: Where its text ends in the text of all.
    end: int


class Delivery:
    """One open of `dequeue`: one claim of one or more messages, the same bytes at every offset, then the end.

    The claim is made by the first read that begins at the beginning. A read further on makes none: `wc -c` looks at
    the end of a file, and a splice reader's read-ahead comes beside the first read.
    """

    __slots__ = ("_acks", "_begun", "_claimed", "_claims", "_lock", "_sent", "_show", "_text")

    def __init__(self, claims: Claims, show: Callable[[Message], bytes], *, acks: bool, instant: bool) -> None:
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
        self._text: bytes | None = None
        self._claimed: list[_Claimed] = []
        #: Bytes replied without a gap from the beginning.
        self._sent = 0
        # Reads of one open can come side by side; where answers are instant nothing can come in between.
        self._lock = nullcontext() if instant else trio.Lock()

    async def read(self, offset: int, size: int) -> bytes:
        """Return the text from *offset* on, at most *size* bytes; none when there is no message."""
        if self._text is None:
            if offset > 0 and not self._begun:
                return b""
            self._begun = True
            async with self._lock:
                if self._text is None:
                    self._text = self._take(await self._claims.claim())
        piece = self._text[offset : offset + size]
        if offset <= self._sent:
            self._sent = max(self._sent, offset + len(piece))
        return piece

    def _take(self, messages: Sequence[Message]) -> bytes:
        texts = []
        end = 0
        for message in messages:
            text = self._show(message)
            texts.append(text)
            end += len(text)
            self._claimed.append(_Claimed(message.receipt, end))
        return b"".join(texts)

    async def close(self) -> None:
        """Take the claims back of which not all was replied; never suspends (see `queuefs.handover`)."""
        if not self._claimed:
            return
        unread = [one.receipt for one in self._claimed if one.end > self._sent]
        if unread:
            await self._claims.undo(unread)
        if self._acks and len(unread) < len(self._claimed):
            await self._claims.ack([one.receipt for one in self._claimed if one.end <= self._sent])
