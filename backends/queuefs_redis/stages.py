"""The requests that write a message, and the checksums of what they have stored so far."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

from queuefs.message import MessageId
from queuefs_redis.records import encoded, message_of, microseconds
from queuefs_redis.request import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queuefs.message import Draft
    from queuefs_redis.request import Arg

#: Stands for a checksum that is not known, and for a key that there is not.
NONE = "-"

#: For each message being written: the checksum of its first n bytes, by n. Lua has no way to compute one, and crc32
#: goes on from the last; an append whose outcome is unknown leaves two lengths that may be the stored one.
Checksums = dict[MessageId, dict[int, int]]


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
        super().__init__("stage", *start, decode=self._done)
        self._checksums = checksums
        self._data = data
        self._draft = draft
        self._staged = staged
        self._crc = 0

    def args(self) -> Sequence[Arg]:
        """Return the arguments: the checksum is computed here, on the worker thread."""
        self._crc = zlib.crc32(self._data)
        draft = self._draft
        key = b"" if draft.key is None else encoded(draft.key)
        return (
            *self._args,
            self._crc,
            draft.priority,
            microseconds(draft.delay),
            microseconds(draft.ttl),
            NONE if draft.key is None else len(key),
            key + draft.extra,
            self._data,
        )

    def _done(self, reply: Any) -> MessageId:
        message = message_of(reply)
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
        super().__init__("append", *start, decode=self._appended)
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
        return *self._args, NONE if self._crc is None else self._crc, self._data

    def _appended(self, _reply: Any) -> None:
        if self._crc is not None:
            self._checksums[self._message] = {self._offset + len(self._data): self._crc}
