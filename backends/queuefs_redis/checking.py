"""The contract's look for disagreements in the store, and what puts them right."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from queuefs_redis.calls import Calls
from queuefs_redis.encoding import decoded
from queuefs_redis.examination import IDS_AT_ONCE, Examination
from queuefs_redis.replies import nothing
from queuefs_redis.request import Request
from queuefs_redis.views import Keys

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Sequence

    from queuefs_redis.examination import Finding

_NOT = "not repaired: "

#: What became of a message, by what `mend.lua` says.
_MENDED = {
    b"dead": "it is dead now",
    b"told": "its reason says so now",
    b"removed": "that is removed",
    b"put": "put right",
}

#: Of registry.
_REGISTRY = {
    b"unfound": "queue {number} is not found by its name {name!r}",
    b"stray": "the name {name!r} below queue {number} leads to no queue",
    b"kept": "something is kept for queue {number}, which there is not",
}

_STAGES = {
    b"half": "of the staged message {id} only a part is kept",
    b"size": "the staged message {id} is not what was put in",
    b"sum": "the stages have another number of bytes than is counted",
}

_BOUNDS = {
    b"leases": "a lease ends before anybody would look",
    b"delays": "a delay ends before anybody would look",
    b"lapses": "a time to live ends before anybody would look",
    b"windows": "a window ends before anybody would look",
    b"retention": "the time of a record is over before anybody would look",
}

_PAIRS = {
    b"keys": "the key {name!r} is not that of its messages",
    b"published": "of the window of the key {name!r} only a part is kept",
    b"windows": "of the window of the key {name!r} only a part is kept",
    b"done": "the record of message {name} is not shown where it should be",
    b"ends": "of the record of message {name} only the time is kept",
}

#: A key of one queue; the id is that of a message in pieces.
_KEY = re.compile(rb"q:([0-9]+):(?:pieces:([0-9]{19})$)?")


class Checking(Calls):
    """`audit` and `repair`."""

    def audit(self) -> Awaitable[Sequence[str]]:
        """Return one sentence for each disagreement within the store."""
        return self._check(mends=False)

    def repair(self) -> Awaitable[Sequence[str]]:
        """Put right what `audit` finds."""
        return self._check(mends=True)

    async def _check(self, *, mends: bool) -> Sequence[str]:
        sentences = []
        queues, said = await self._registry(mends=mends)
        sentences += said
        pieces: dict[bytes, list[bytes]] = {}
        sentences += await self._leftovers(set(queues), pieces, mends=mends)
        for queue in queues:
            look = Examination(self._submit, queue)
            said = [
                *await self._messages(look, queue, pieces.get(queue, []), mends=mends),
                *[sentence async for sentence in self._pairs(look, mends=mends)],
                *await self._bytes(look, queue, mends=mends),
                *await self._bounds(queue, mends=mends),
            ]
            sentences += [_within(queue, sentence) for sentence in said]
        sentences += await self._stages(mends=mends)
        sentences += await self._unacked(mends=mends)
        return list(dict.fromkeys(sentences))

    async def _registry(self, *, mends: bool) -> tuple[list[bytes], list[str]]:
        """Return the numbers of all queues, and what is wrong with their names."""
        reply = await self._submit(Request("audit_registry", int(mends), decode=list))
        end = 1 + int(reply[0][1:])
        return reply[1:end], [
            _said(_REGISTRY[kind].format(number=int(number), name=decoded(name)), mends, good=state == b"fixed")
            for kind, number, name, state in zip(*(reply[end + n :: 4] for n in range(4)), strict=True)
        ]

    async def _leftovers(self, queues: set[bytes], pieces: dict[bytes, list[bytes]], *, mends: bool) -> list[str]:
        """Look through all keys for those of queues that there are not, and note in *pieces* what is in pieces."""
        strays: dict[bytes, list[bytes]] = {}
        cursor = b"0"
        while True:
            cursor, keys = await self._submit(Keys(cursor))
            for key in keys:
                found = _KEY.match(key)
                if found and found[1] not in queues:
                    strays.setdefault(found[1], []).append(key[found.end(1) + 1 :])
                elif found and found[2]:
                    pieces.setdefault(found[1], []).append(found[2])
            if cursor == b"0":
                break
        sentences = []
        for queue, those in strays.items():
            dropped = await self._submit(Request("drop_strays", queue, int(mends), *those, decode=bytes))
            if dropped != b"2":
                said = _REGISTRY[b"kept"].format(number=int(queue))
                sentences.append(_said(said, mends, good=dropped == b"1"))
        return sentences

    async def _messages(self, look: Examination, queue: bytes, pieces: list[bytes], *, mends: bool) -> list[str]:
        """Look at all messages of a queue, and at those of *pieces*."""
        findings = [finding async for finding in look.findings()]
        for first in range(0, len(pieces), IDS_AT_ONCE):
            findings += await look.look_at(pieces[first : first + IDS_AT_ONCE])
        if not mends:
            return [finding.sentence for finding in findings]
        wrong: dict[bytes, list[Finding]] = {}
        for finding in findings:
            wrong.setdefault(finding.message, []).append(finding)
        return [sentence for id_, those in wrong.items() for sentence in await self._mend(look, queue, id_, those)]

    async def _mend(self, look: Examination, queue: bytes, id_: bytes, findings: list[Finding]) -> list[str]:
        wrong = next((finding.wrong for finding in findings if finding.wrong), "")
        mended = await self._submit(Request("mend", queue, id_, wrong, decode=bytes))
        left = {finding.sentence for finding in await look.look_at([id_])}
        return [
            f"{finding.sentence}; {_MENDED[mended]}" if finding.sentence not in left else _NOT + finding.sentence
            for finding in findings
        ]

    @staticmethod
    async def _pairs(look: Examination, *, mends: bool) -> AsyncIterator[str]:
        async for part, name in look.unpaired(mends=mends):
            is_record = part in (b"done", b"ends")
            yield _said(_PAIRS[part].format(name=int(name) if is_record else decoded(name)), mends)

    async def _bytes(self, look: Examination, queue: bytes, *, mends: bool) -> list[str]:
        size, counted = await look.weigh()
        if size == counted:
            return []
        if mends:
            await self._submit(Request("add_bytes", queue, size - counted, decode=nothing))
        return [_said(f"the payloads have {size} bytes, counted are {counted}", mends)]

    async def _bounds(self, queue: bytes, *, mends: bool) -> list[str]:
        reply = await self._submit(Request("audit_bounds", queue, int(mends), decode=list))
        return [_said(_BOUNDS[what], mends) for what in reply[1:]]

    async def _stages(self, *, mends: bool) -> list[str]:
        reply = await self._submit(Request("audit_stages", int(mends), decode=list))
        return [
            _within(queue, _said(_STAGES[what].format(id=int(id_ or 0)), mends, good=what != b"size"))
            for queue, id_, what in zip(reply[1::3], reply[2::3], reply[3::3], strict=True)
        ]

    async def _unacked(self, *, mends: bool) -> list[str]:
        number, counted = map(int, await self._submit(Request("audit_unacked", int(mends), decode=bytes.split)))
        if number == counted:
            return []
        return [_said(f"{number} messages are unacknowledged, counted are {counted}", mends)]


def _said(sentence: str, mends: bool, *, good: bool = True) -> str:  # noqa: FBT001 - each call names what it passes on
    if not mends:
        return sentence
    return f"{sentence}; put right" if good else _NOT + sentence


def _within(queue: bytes, sentence: str) -> str:
    """Return *sentence* about *queue*, with what begins it at the beginning."""
    rest = sentence.removeprefix(_NOT)
    return f"{_NOT if rest != sentence else ''}queue {int(queue)}: {rest}"
