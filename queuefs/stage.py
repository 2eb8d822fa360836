"""One message while it is written."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

import trio

from queuefs.errors import BadValue, Interrupted, KeyInUse, MessageTooBig, QueueFSError, WouldBlock
from queuefs.growing import Growing
from queuefs.lifecycle import Verb

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from queuefs.message import Draft, MessageId, QueueId, Room
    from queuefs.parts import Parts
    from queuefs.writers import Patience

#: Up to this size every write is stored before it is confirmed, bytes. A shell's `echo` ignores the result of close, so
#: what it writes must be safe before; to store each write of a big message so would cost a commit for each.
STORED_AT_WRITE = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """On what terms a queue takes a message."""

    draft: Draft
    room: Room
    #: The most bytes it may have.
    limit: int
    #: The bytes it must have; None: any number.
    size: int | None
    #: Seconds for which its key keeps repetitions out.
    window: float
    #: A repetition is refused at its first write.
    strict: bool


#: Nothing was taken of a write that fails so, and programs make it again: Python by itself, at EINTR.
NOTHING_TAKEN = (Interrupted, WouldBlock)


class Stage:
    """All the bytes written between an open and its last close.

    A write that fails spoils the message: what follows fails the same way, and the last close stores nothing. Half a
    message is no message. Only a wait for room that was given up spoils nothing: that write can be made again.
    """

    __slots__ = ("_error", "_first", "_growing", "_lock", "_parts", "_queue", "_size", "_terms", "writes")

    def __init__(self, parts: Parts, queue: QueueId, terms: Terms, patience: Patience | None) -> None:
        """Begin a message for *queue*, whose writer has *patience* if it is full; nothing is stored yet."""
        self._parts = parts
        self._queue = queue
        self._terms = terms
        self._growing = Growing(parts, queue, terms.draft, patience)
        #: The message of the same key that was there first.
        self._first: MessageId | None = None
        #: How many writes have been confirmed.
        self.writes = 0
        self._size = 0
        self._error: QueueFSError | None = None
        # A process that shares the file may close its copy (FLUSH) while another writes. Where answers are instant
        # and nobody waits, nothing can come in between.
        self._lock = nullcontext() if parts.backend.traits.instant and patience is None else trio.Lock()

    async def write(self, data: bytes) -> int:
        """Add *data* and return its length; when this returns, a message of up to 64 KiB is stored.

        A longer one is stored in pieces. One is under way while the next is collected, and the write that fills the
        next waits for it, and fails if it did.

        Raises:
            MessageTooBig: the message would be over the limit.
            QueueFull: there is no room for it.
            KeyInUse: a message of its key is there.
            QueueFSError: the back end's error, or that of an earlier write.
        """
        async with self._lock:
            if self._error is not None:
                raise self._error
            try:
                await self._write(data)
            except NOTHING_TAKEN:
                raise
            except QueueFSError as error:
                self._error = error
                raise
        return len(data)

    async def _write(self, data: bytes) -> None:
        size = self._size + len(data)
        if size > self._terms.limit:
            raise MessageTooBig(f"{size} bytes or more; the limit is {self._terms.limit}")
        if self._terms.size is not None and size > self._terms.size:
            raise MessageTooBig(f"{size} bytes or more; size={self._terms.size} was asked for")
        if self._terms.room.bytes and size > self._terms.room.bytes:  # to wait for room would be in vain
            raise MessageTooBig(f"{size} bytes or more; the whole queue may hold {self._terms.room.bytes}")
        if self._growing.id is None:
            await self._look_for_key()
        if size <= STORED_AT_WRITE:
            await self._growing.store(data, partial=False)
        else:
            await self._growing.collect(data)
        self._size = size
        self.writes += 1

    def store_whole(self, data: bytes) -> Awaitable[MessageId]:
        """Make the call that stores all of a message, for who makes many at once; `stored` takes its answer."""
        self._size = len(data)
        return self._parts.backend.stage(
            self._queue,
            data,
            draft=self._terms.draft,
            room=self._terms.room,
            partial=False,
            now=self._parts.clock.now(),
        )

    def stored(self, message: MessageId) -> None:
        """Take the answer of `store_whole`."""
        self._growing.id = message
        self.writes = 1

    async def _look_for_key(self) -> None:
        key = self._terms.draft.key
        if key is None:
            return
        now = self._parts.clock.now()
        self._first = await self._parts.backend.find_key(self._queue, key, now=now, window=self._terms.window)
        if self._first is not None and self._terms.strict:
            raise KeyInUse(f"message {self._first} has the key {key!r}")

    async def flush(self) -> None:
        """Store what is not stored yet, so that a program which checks its close learns of a failure.

        Raises:
            BadValue: it has fewer bytes than were asked for (more may follow).
            QueueFSError: it can't be stored, or an earlier write could not.
        """
        async with self._lock:
            if self._error is not None:
                raise self._error
            if self._growing.partial:
                try:
                    await self._growing.store_rest()
                except QueueFSError as error:
                    self._error = error
                    raise
            if not self._has_its_size:
                raise BadValue(f"{self._size} bytes; size={self._terms.size} was asked for")
            if self._terms.strict and self.is_begun:  # one may have come since the first write
                try:
                    await self._look_for_key()
                except KeyInUse as error:
                    self._error = error
                    raise

    def spoil(self, error: QueueFSError) -> None:
        """Let the message come to nothing: every later write fails with *error*."""
        self._error = error

    @property
    def is_begun(self) -> bool:
        """Whether anything has been stored."""
        return self._growing.id is not None

    @property
    def told_id(self) -> MessageId | None:
        """The id that reading back gives: of the message that was there first, if it is a repetition."""
        return self._first or self._growing.id

    @property
    def _has_its_size(self) -> bool:
        return self._terms.size in (None, self._size)

    async def close(self) -> None:
        """Publish the message if it is whole, else drop it; never suspends (see `queuefs.handover`)."""
        parts, queue, growing = self._parts, self._queue, self._growing
        message = growing.id
        if message is None:
            return
        growing.end()
        if self._error is None and not growing.partial and self._has_its_size:
            window = self._terms.window
            await parts.handover.until_done(
                queue,
                lambda: parts.backend.publish(queue, message, now=parts.clock.now(), window=window),
                self._published,
            )
            return
        ticket = growing.ticket
        if ticket is not None:
            await parts.handover.once(queue, lambda: ticket, lambda _stored: None)
        await parts.handover.until_done(
            queue,
            lambda: parts.backend.discard(queue, message),
            lambda _done: parts.events.tell(queue, Verb.DISCARD, [message]),
        )

    def _published(self, as_what: MessageId) -> None:
        verb = Verb.PUBLISH if as_what == self._growing.id else Verb.REPEAT
        self._parts.events.tell(self._queue, verb, [self._growing.id])
        for seconds in (self._terms.draft.delay, self._terms.draft.ttl):
            if seconds:
                self._parts.upkeep.due_in(seconds)
