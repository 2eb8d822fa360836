"""What the scripts answer, as the contract's values: queues, counts, answers and rounds of upkeep."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from queuefs.backend import Overdue, Settled, Tick
from queuefs.clock import ClockMark
from queuefs.message import Counts, MessageId, Owner, Queue, QueueId, Ref, Space, Stats
from queuefs_redis.encoding import decoded, encoded, seconds_of

if TYPE_CHECKING:
    from collections.abc import Sequence

_SETTLED = {
    ord("D"): Settled.DONE,
    ord("U"): Settled.UNKNOWN,
    ord("S"): Settled.STALE,
    ord("C"): Settled.CANCELLED,
}


def nothing(_reply: bytes) -> None:
    """Read the answer of a script that has none."""


def message_of(reply: bytes) -> MessageId:
    """Read an id."""
    return MessageId(int(reply))


def queue_of(reply: bytes) -> Queue:
    """Read 'number length length config files record'."""
    number, config_size, files_size, rest = reply.split(b" ", 3)
    config, rest = rest[: int(config_size)], rest[int(config_size) :]
    return described_queue(number, rest[int(files_size) :], config=config, files=rest[: int(files_size)])


def described_queue(number: bytes, record: bytes, *, config: bytes = b"", files: bytes = b"") -> Queue:
    """Read the record 'parent uid gid mode created name'."""
    parent, uid, gid, mode, created, name = record.split(b" ", 5)
    return Queue(
        id=QueueId(int(number)),
        parent=QueueId(int(parent)),
        name=decoded(name),
        owner=Owner(uid=int(uid), gid=int(gid), mode=int(mode)),
        created_at=seconds_of(created) or 0.0,
        config=config,
        files=_owners(files),
    )


def _owners(files: bytes) -> dict[str, Owner]:
    """Read 'uid gid mode length name' of each."""
    owners = {}
    while files:
        uid, gid, mode, length, rest = files.split(b" ", 4)
        owners[decoded(rest[: int(length)])] = Owner(uid=int(uid), gid=int(gid), mode=int(mode))
        files = rest[int(length) :]
    return owners


def found_queue(reply: bytes) -> Queue | None:
    """Read what `find.lua` answers."""
    return queue_of(reply) if reply else None


def queues_of(reply: Sequence[bytes]) -> list[Queue]:
    """Read what `children.lua` answers; sorted by code point, which is the order of the bytes."""
    return sorted((queue_of(record) for record in reply[1:]), key=lambda queue: encoded(queue.name))


def counts_of(reply: bytes) -> Counts:
    """Read 'pending processing ...'."""
    pending, processing = reply.split()[:2]
    return Counts(pending=int(pending), processing=int(processing))


def bytes_of(reply: bytes) -> int:
    """Read the third field of what `counts.lua` answers."""
    return int(reply.split()[2])


def stats_of(reply: bytes) -> Stats:
    """Read what `stats.lua` answers."""
    *numbers, oldest = reply.split()
    pending, processing, size, delayed, paused, dead, done, enqueued, dequeued, acked, nacked, expired, buried = map(
        int, numbers
    )
    return Stats(
        pending=pending,
        processing=processing,
        delayed=delayed,
        paused=paused,
        dead=dead,
        done=done,
        unacked_bytes=size,
        oldest_pending=seconds_of(oldest),
        enqueued=enqueued,
        dequeued=dequeued,
        acked=acked,
        nacked=nacked,
        expired=expired,
        buried=buried,
    )


def space_of(reply: Sequence[bytes]) -> Space:
    """Read what `space.lua` answers; a server that says nothing of its memory has 0 bytes, of which 0 are free."""
    lines = (line.partition(":") for line in reply[1].decode("utf-8", "replace").splitlines())
    told = {name: int(value) for name, _, value in lines if value.isdigit()}
    used = told.get("used_memory", 0)
    limit = told.get("maxmemory", 0) or told.get("total_system_memory", 0)
    return Space(used=used, free=max(0, limit - used), messages=int(reply[0][1:]))


def settled_of(reply: bytes) -> list[Settled]:
    """Read one letter for each reference."""
    return [_SETTLED[letter] for letter in reply]


def tick_of(reply: bytes, *, beat: float) -> Tick:
    """Read what `tick.lua` answers; *beat* is when the daemon has to show that it is alive."""
    due, overdue, lapsed, ripe, adopted, terminated = reply.split(b";")
    return Tick(
        overdue=[_overdue(text) for text in overdue.split()],
        lapsed=_places(lapsed),
        ripe=[QueueId(int(queue)) for queue in ripe.split()],
        adopted=_places(adopted),
        terminated=_places(terminated),
        next_due=min(beat, seconds_of(due) or 0.0) if due != b"-" else beat,
    )


def _places(reply: bytes) -> list[tuple[QueueId, MessageId]]:
    places = (place.partition(b":") for place in reply.split())
    return [(QueueId(int(queue)), MessageId(int(message))) for queue, _, message in places]


def _overdue(text: bytes) -> Overdue:
    queue, message, claims, attempt, flag = text.split(b":")
    return Overdue(
        queue=QueueId(int(queue)),
        receipt=Ref(MessageId(int(message)), None if claims == b"-" else int(claims)),
        attempt=int(attempt),
        cancelled=flag == b"C",
    )


def mark_of(reply: bytes) -> ClockMark | None:
    """Read the mark of the callers' clock."""
    return ClockMark(**json.loads(reply)) if reply else None
