"""Looks at the messages of one queue, some hundred at a time, whether or not the store is in use meanwhile.

All that is said of one message was so at one moment. Of the sum of all sizes no short script can say what it should
be; it is taken in pieces, and counts if nothing has changed from the first to the last.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from queuefs.errors import StoreDamaged
from queuefs_redis.metas import Meta, joined
from queuefs_redis.portraits import FIELDS, Portrait
from queuefs_redis.request import Request
from queuefs_redis.scripts import PIECE_BYTES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence

#: How many messages one script looks at, and how many bytes of payloads it answers with at most.
IDS_AT_ONCE = 100
_BYTES_AT_ONCE = 4 * PIECE_BYTES

#: How many messages are weighed by one script, and how often all are, while they change.
_WEIGHED_AT_ONCE = 500
_ATTEMPTS = 3

#: The parts of a queue that have ids of messages.
_PARTS = (
    *("meta", "dead", "pending", "delayed", "paused", "over", "aside", "waiting", "processing", "held"),
    *("odd", "expiry", "body", "graves", "remains", "big"),
)

#: The parts of which each is kept in two ways.
_PAIRS = ("keys", "published", "windows", "done", "ends")

_SPOILT = "its payload is not what was put in"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that does not agree about one message."""

    sentence: str
    #: As it is stored.
    message: bytes
    #: What is wrong with its payload, where it had to be read to see that.
    wrong: str = ""


class Examination:
    """A look at one queue."""

    def __init__(self, submit: Callable[[Request[Any]], Awaitable[Any]], queue: bytes) -> None:
        """Prepare to look at *queue* by *submit*."""
        self._submit = submit
        self._queue = queue

    async def findings(self) -> AsyncIterator[Finding]:
        """Look at all messages."""
        async for ids in self._pages("audit_scan", (), _PARTS):
            for some in _chunks(dict.fromkeys(ids), IDS_AT_ONCE):
                for finding in await self.look_at(some):
                    yield finding

    async def unpaired(self, *, mends: bool) -> AsyncIterator[tuple[bytes, bytes]]:
        """Yield part and member of what is kept in one of two ways only; with *mends* it is put right."""
        async for found in self._pages("audit_pairs", (int(mends),), _PAIRS):
            for part_and_member in zip(found[::2], found[1::2], strict=True):
                yield part_and_member

    async def _pages(self, script: str, terms: Sequence[int], parts: Sequence[str]) -> AsyncIterator[list[bytes]]:
        """Go through *parts* side by side, and yield what the script found in each round."""
        cursors: dict[str, bytes] = dict.fromkeys(parts, b"0")
        while cursors:
            places = [text for part, cursor in cursors.items() for text in (part.encode(), cursor)]
            reply = await self._submit(Request(script, self._queue, *terms, *places, decode=list))
            yield reply[1 + len(cursors) :]
            cursors = {part: cursor for part, cursor in zip(cursors, reply[1:], strict=False) if cursor != b"0"}

    async def look_at(self, ids: Sequence[bytes]) -> list[Finding]:
        """Look at some messages, and read their payloads if all else is right with them."""
        reply = await self._submit(Request("portraits", self._queue, *ids, decode=list))
        findings, sizes = [], {}
        for number, id_ in enumerate(ids):
            portrait = Portrait(*reply[1 + number * FIELDS : 1 + (number + 1) * FIELDS])
            found = [Finding(sentence, id_) for sentence in portrait.sentences(id_, PIECE_BYTES)]
            findings += found
            if portrait.is_whole:
                sizes[id_] = int(portrait.length)
        for some in _portions(sizes):
            findings += await self._read(some)
        for id_, size in sizes.items():
            if size > PIECE_BYTES:
                findings += await self._read_pieces(id_)
        return findings

    async def _read(self, ids: Sequence[bytes]) -> list[Finding]:
        reply = await self._submit(Request("payloads", self._queue, *ids, decode=list))
        return [
            self._spoilt(id_)
            for id_, text, body in zip(ids, reply[1::2], reply[2::2], strict=True)
            if text and not Meta.read(text).fits(joined(body) or b"")
        ]

    async def _read_pieces(self, id_: bytes) -> list[Finding]:
        text = (await self._submit(Request("look", self._queue, id_, decode=list)))[1]
        crc = offset = 0
        while text:
            try:
                piece = await self._submit(Request("read", self._queue, id_, offset, _BYTES_AT_ONCE, decode=_piece))
            except StoreDamaged:  # since it was looked at
                return []
            if piece is None:
                return []
            if not piece:
                break
            offset, crc = offset + len(piece), zlib.crc32(piece, crc)
        known = Meta.read(text.split(b" ", 1)[1]).crc if text else b"-"
        return [] if known in (b"-", b"%d" % crc) else [self._spoilt(id_)]

    @staticmethod
    def _spoilt(id_: bytes) -> Finding:
        return Finding(f"message {int(id_)} has a payload that is not what was put in", id_, _SPOILT)

    async def weigh(self) -> tuple[int, int]:
        """Return the sum of the sizes of all messages, and what is counted; both 0 if they don't stay the same."""
        for _ in range(_ATTEMPTS):
            place: Sequence[bytes] = (b"", b"", b"")
            ledgers, sum_ = set(), 0
            while True:
                reply = await self._submit(Request("weigh", self._queue, _WEIGHED_AT_ONCE, *place, decode=list))
                ledger, counted, weighed, *place = reply
                ledgers.add(ledger)
                sum_ += int(weighed)
                if not place[0]:
                    break
            if len(ledgers) == 1:
                return sum_, int(counted)
        return 0, 0


def _piece(reply: Sequence[bytes]) -> bytes | None:
    if reply[0] == b"!":
        raise StoreDamaged
    return None if reply[0] == b"-" else b"".join(reply[1:])


def _chunks(ids: Iterable[bytes], size: int) -> Iterator[list[bytes]]:
    rest = iter(ids)
    while some := list(islice(rest, size)):
        yield some


def _portions(sizes: dict[bytes, int]) -> Iterator[list[bytes]]:
    """Put ids of messages that are not in pieces together, as many as one script may answer with."""
    some: list[bytes] = []
    left = _BYTES_AT_ONCE
    for id_, size in sizes.items():
        if size > PIECE_BYTES:
            continue
        if some and size > left:
            yield some
            some, left = [], _BYTES_AT_ONCE
        some.append(id_)
        left -= size
    if some:
        yield some
