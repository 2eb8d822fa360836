"""Stores of every kind of content, and how they are written and read whole."""

from __future__ import annotations

import json
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
from hypothesis import strategies as st

from queuefs.clock import Clock
from queuefs.errors import BadName
from queuefs.lifecycle import State
from queuefs.message import (
    MAX_PRIORITY,
    MIN_PRIORITY,
    ROOT,
    Draft,
    Message,
    MessageId,
    Owner,
    QueueId,
    Record,
    Retention,
    Room,
    Status,
)
from queuefs.names import VERBS, queue_name
from queuefs.testing import ManualMachine
from queuefs.transfer import Importer, Terms, export

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuefs.backend import Backend
    from queuefs.transfer import Imported

#: When all tests begin; so that records are kept for as long as a config can say, and are on a server's clock too.
START = 1_750_000_000.0

#: A config by which no record is too old.
CONFIG = b"retention = 300000000\nretain = 1000\n"
KEEP = Retention(records=1000, seconds=300_000_000)

PLAIN = Terms()

OWNER = Owner(uid=1000, gid=100, mode=0o750)


def new_clock(*, ahead: float = 0.0) -> Clock:
    """Return a clock that stands still, and whose wall clock is so far ahead of it."""
    machine = ManualMachine(wall=START)
    clock = Clock(None, machine)
    machine.set_wall(START + ahead)
    return clock


async def dump(backend: Backend, clock: Clock | None = None, **options: Any) -> bytes:
    """Return a store's export."""
    async with aclosing(export(backend, clock or new_clock(), **options)) as lines:
        return b"".join([line async for line in lines])


async def load(
    backend: Backend, text: bytes, clock: Clock | None = None, *, terms: Terms = PLAIN, step: int = 1 << 20
) -> Imported:
    """Import an export, so many bytes at a time."""
    importer = Importer(backend, clock or new_clock(), terms)
    for start in range(0, len(text), step):
        await importer.feed(text[start : start + step])
    return await importer.finish()


def lines_of(text: bytes) -> list[dict[str, Any]]:
    """Return what the lines of an export say."""
    return [json.loads(line) for line in text.splitlines()]


def body_of(text: bytes) -> bytes:
    """Return an export without its header, in which the time stands."""
    return text.partition(b"\n")[2]


@dataclass
class Content:
    """What shall be in one queue."""

    path: tuple[str, ...]
    owner: Owner = OWNER
    files: dict[str, Owner] = field(default_factory=dict)
    config: bytes = CONFIG
    messages: Sequence[tuple[Message, bytes]] = ()
    records: Sequence[Record] = ()


async def fill(backend: Backend, contents: Sequence[Content]) -> list[QueueId]:
    """Put all of it into a store."""
    made: dict[tuple[str, ...], QueueId] = {(): ROOT}
    for content in contents:
        parent, name = made[content.path[:-1]], content.path[-1]
        queue = (await backend.create_queue(parent, name, owner=content.owner, now=START)).id
        made[content.path] = queue
        for file, owner in content.files.items():
            await backend.set_file_owner(queue, file, owner)
        assert await backend.set_config(queue, content.config, expected=b"")
        for each, data in content.messages:
            await put(backend, queue, each, data)
        for done in content.records:
            await backend.restore_record(queue, done, keep=KEEP)
    return [made[content.path] for content in contents]


async def put(backend: Backend, queue: QueueId, message: Message, data: bytes) -> None:
    """Put a message into a queue."""
    await backend.stage(queue, data, draft=Draft(), room=Room(), partial=False, now=START, message=message.id)
    await backend.restore(queue, message)


def message(number: int, data: bytes = b"x", **attributes: Any) -> tuple[Message, bytes]:
    """Return a pending message, but for *attributes*, and its payload."""
    given = {
        "state": State.PENDING,
        "priority": 0,
        "enqueued_at": START,
        "attempt": 0,
        "claims": 0,
        "lease_until": None,
        "due": None,
        "expires_at": None,
        "paused": False,
        "cancelled": False,
        "key": None,
        "reason": None,
        "extra": b"",
        **attributes,
    }
    return Message(id=MessageId(number), data=None, size=len(data), **given), data


def record(number: int, **attributes: Any) -> Record:
    """Return the record of a message that succeeded, but for *attributes*."""
    given = {
        "status": Status.SUCCEEDED,
        "size": 1,
        "priority": 0,
        "attempt": 1,
        "enqueued_at": START,
        "claimed_at": START,
        "finished_at": START,
        "key": None,
        "reason": None,
        "extra": b"",
        "detail": b"",
        **attributes,
    }
    return Record(id=MessageId(number), **given)


def _is_a_name(text: str) -> bool:
    try:
        queue_name(text.encode())
    except BadName:
        return False
    return text not in {"", ".", ".."}


_words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
_names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1, max_size=12).filter(
    _is_a_name
)
_owners = st.builds(
    Owner,
    uid=st.integers(0, 2**32 - 2),
    gid=st.integers(0, 2**32 - 2),
    mode=st.integers(0, 0o777),
)
#: Microseconds are what every store keeps.
_moments = st.integers(-(10**9), 10**9).map(lambda micro: round(START + micro / 1e3, 6))
_objects = st.dictionaries(_words, st.integers(0, 9) | _words, max_size=2).map(
    lambda fields: msgspec.json.encode(fields) if fields else b""
)
_priorities = st.sampled_from([0, 0, 0, 1, -1, MIN_PRIORITY, MAX_PRIORITY])


@st.composite
def _messages(draw: st.DrawFn, number: int) -> tuple[Message, bytes]:
    state = draw(st.sampled_from([State.PENDING, State.PROCESSING, State.DEAD]))
    is_held, is_pending = state is State.PROCESSING, state is State.PENDING
    attempt = draw(st.integers(0, 5))
    return message(
        number,
        draw(st.binary(max_size=40) | _words.map(str.encode)),
        state=state,
        priority=draw(_priorities),
        enqueued_at=draw(_moments),
        attempt=attempt,
        claims=attempt + draw(st.integers(int(is_held), 3)),
        claimed_at=draw(st.none() | _moments),
        lease_until=draw(_moments) if is_held else None,
        due=draw(st.none() | _moments) if is_pending else None,
        expires_at=draw(st.none() | _moments),
        paused=is_pending and draw(st.booleans()),
        cancelled=is_held and draw(st.booleans()),
        key=draw(st.none() | st.just(f"key {number}") | _words.map(lambda word: f"{word}{number}")),
        reason=draw(st.none() | _words),
        extra=draw(_objects),
    )


@st.composite
def _records(draw: st.DrawFn, number: int) -> Record:
    return record(
        number,
        status=draw(st.sampled_from(Status)),
        size=draw(st.integers(0, 2**40)),
        priority=draw(_priorities),
        attempt=draw(st.integers(0, 5)),
        enqueued_at=draw(_moments),
        claimed_at=draw(st.none() | _moments),
        finished_at=draw(_moments),
        key=draw(st.none() | _words),
        reason=draw(st.none() | _words),
        extra=draw(_objects),
        detail=draw(_objects | _words.map(str.encode)),
    )


@st.composite
def contents(draw: st.DrawFn) -> list[Content]:
    """Draw a store's content: a few queues, some within others, with messages and records in any state."""
    paths: list[tuple[str, ...]] = []
    for name in draw(st.lists(_names, max_size=5, unique=True)):
        parent = draw(st.sampled_from([(), *paths]))
        paths.append((*parent, name))
    ids = iter(draw(st.lists(st.integers(1, 2**53), max_size=24, unique=True)))
    drawn = []
    for path in paths:
        numbers = [number for number, _ in zip(ids, range(draw(st.integers(0, 6))), strict=False)]
        are_done = {number for number in numbers if draw(st.integers(0, 3)) == 0}
        drawn.append(
            Content(
                path=path,
                owner=draw(_owners),
                files=draw(st.dictionaries(st.sampled_from(VERBS), _owners, max_size=2)),
                config=CONFIG + draw(st.sampled_from([b"", b"order = lifo\n", b"max_messages = 1\n"])),
                messages=[draw(_messages(number)) for number in numbers if number not in are_done],
                records=[draw(_records(number)) for number in sorted(are_done)],
            )
        )
    return drawn
