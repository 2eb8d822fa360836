"""The requests that write a message, and what is known of those being written.

None of them refers to itself, as by a method of its own for *decode*: its bytes would be kept until Python looks for
cycles (measured: 50 messages of 8 MiB left 400 MB).
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, TypeVar

from queuefs.message import MessageId
from queuefs_redis.encoding import NONE, encoded, microseconds, size_of
from queuefs_redis.replies import message_of, nothing
from queuefs_redis.request import Request
from queuefs_redis.scripts import PIECE_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from queuefs.message import Draft
    from queuefs_redis.request import Arg

T = TypeVar("T")

#: For each message being written whose writer was told its id: the checksum of its first n bytes, by n. Lua has no way
#: to compute one, and crc32 goes on from the last; an append whose outcome is unknown leaves two lengths that may be
#: the stored one. It is the worker thread's alone, so between two batches its ids are all that the writers know.
Checksums = dict[MessageId, dict[int, int]]


def _pieces(data: bytes, offset: int) -> Iterator[bytes]:
    """Cut what begins at *offset* of a payload where its pieces end; at least one, which may be empty."""
    first = PIECE_BYTES - offset % PIECE_BYTES
    yield data[:first]
    for at in range(first, len(data), PIECE_BYTES):
        yield data[at : at + PIECE_BYTES]


class Stage(Request[MessageId]):
    """The first bytes of a message."""

    __slots__ = ("_checksums", "_crc", "_data", "_draft", "_staged")

    def __init__(
        self,
        checksums: Checksums,
        data: bytes,
        start: Sequence[Arg],
        draft: Draft,
        staged: Callable[[MessageId], None],
    ) -> None:
        """Prepare; *start* are the script's arguments up to the checksum, *staged* is told the id."""
        super().__init__("stage", *start, decode=message_of)
        self._checksums = checksums
        self._data = data
        self._draft = draft
        self._staged = staged
        self._crc = 0

    def args(self) -> Sequence[Arg]:
        """Return the arguments: the checksum is computed here, on the worker thread."""
        self._crc = zlib.crc32(self._data)
        draft = self._draft
        key = None if draft.key is None else encoded(draft.key)
        return (
            *self._args,
            self._crc,
            draft.priority,
            microseconds(draft.delay),
            microseconds(draft.ttl),
            size_of(key),
            (key or b"") + draft.extra,
            *_pieces(self._data, 0),
        )

    def result(self, reply: Any) -> MessageId:
        """Return the message's id, which its writer knows from now on."""
        message = super().result(reply)
        self._checksums[message] = {len(self._data): self._crc}
        self._staged(message)
        return message


class Append(Request[None]):
    """More bytes of a message."""

    __slots__ = ("_checksums", "_crc", "_data", "_message", "_offset")

    def __init__(
        self, checksums: Checksums, message: MessageId, data: bytes, offset: int, start: Sequence[Arg]
    ) -> None:
        """Prepare to add *data* at *offset*; *start* are the script's arguments up to the checksum."""
        super().__init__("append", *start, decode=nothing)
        self._checksums = checksums
        self._message = message
        self._data = data
        self._offset = offset
        self._crc: int | None = None

    def args(self) -> Sequence[Arg]:
        """Return the arguments, the checksum going on from the one at the offset."""
        known = self._checksums.get(self._message, {})
        before = known.get(self._offset)
        if before is not None:
            self._crc = known[self._offset + len(self._data)] = zlib.crc32(self._data, before)
        return *self._args, NONE if self._crc is None else self._crc, *_pieces(self._data, self._offset)

    def result(self, reply: Any) -> None:
        """Return or raise as others do, and note what is stored now."""
        super().result(reply)
        if self._crc is not None:
            self._checksums[self._message] = {self._offset + len(self._data): self._crc}


class EndStage(Request[T]):
    """The publication of a message, or its end."""

    __slots__ = ("_checksums", "_message")

    def __init__(
        self, checksums: Checksums, message: MessageId, script: str, *args: Arg, decode: Callable[[bytes], T]
    ) -> None:
        """Prepare to publish or to discard *message* by *script*."""
        super().__init__(script, *args, decode=decode)
        self._checksums = checksums
        self._message = message

    def result(self, reply: Any) -> T:
        """Return or raise as others do, and forget the message, also where its queue is gone."""
        if not isinstance(reply, Exception):
            self._checksums.pop(self._message, None)
        return super().result(reply)
