"""One message while it is read: the claim at the first read, and what becomes of it at the last close."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import trio

from queuefs.render import message_line

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from queuefs.clock import Clock
    from queuefs.message import Message, Ref


class Delivery:
    """One open of `dequeue`: one claim, the same bytes at every offset, then the end.

    The claim is made by the first read that begins at the beginning. A read further on makes none: `wc -c` looks at
    the end of a file, and a splice reader's read-ahead comes beside the first read.
    """

    __slots__ = ("_begun", "_claim", "_clock", "_lock", "_receipt", "_sent", "_text", "_undo")

    def __init__(
        self,
        claim: Callable[[], Awaitable[Message | None]],
        undo: Callable[[Ref], Awaitable[None]],
        clock: Clock,
        *,
        instant: bool,
    ) -> None:
        """Prepare to claim a message; nothing is claimed yet.

        Args:
            claim: Claims the next message; called once.
            undo: Takes that claim back; it must not suspend.
            clock: Turns the message's times into Unix seconds.
            instant: Whether *claim* never suspends.
        """
        self._claim = claim
        self._undo = undo
        self._clock = clock
        self._begun = False
        self._text: bytes | None = None
        self._receipt: Ref | None = None
        #: Bytes replied without a gap from the beginning.
        self._sent = 0
        # Reads of one open can come side by side; where answers are instant nothing can come in between.
        self._lock = nullcontext() if instant else trio.Lock()

    async def read(self, offset: int, size: int) -> bytes:
        """Return the message's JSON line from *offset* on, at most *size* bytes; none when there is no message."""
        if self._text is None:
            if offset > 0 and not self._begun:
                return b""
            self._begun = True
            async with self._lock:
                if self._text is None:
                    self._text = await self._claimed_line()
        piece = self._text[offset : offset + size]
        if offset <= self._sent:
            self._sent = max(self._sent, offset + len(piece))
        return piece

    async def _claimed_line(self) -> bytes:
        message = await self._claim()
        if message is None:
            return b""
        self._receipt = message.receipt
        return message_line(message, self._clock)

    async def close(self) -> None:
        """Take the claim back unless all of the line was replied; never suspends (see `queuefs.handover`)."""
        if self._receipt is not None and self._text is not None and self._sent < len(self._text):
            await self._undo(self._receipt)
