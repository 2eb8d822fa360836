"""What the scripts answer, as the contract's values; and the other way round."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from queuefs.backend import Settled, Tick
from queuefs.clock import ClockMark
from queuefs.errors import QueueNotFound
from queuefs.lifecycle import State
from queuefs.message import Counts, Message, MessageId, Owner, Queue, QueueId

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from queuefs.message import Ref

_MICROSECONDS = 1_000_000

_PENDING, _PROCESSING = State.PENDING, State.PROCESSING
_SETTLED = {ord("D"): Settled.DONE, ord("U"): Settled.UNKNOWN, ord("S"): Settled.STALE}

#: A name that is not UTF-8 is refused before it gets here; were one to come, it would come back as it is.
_NAME_ENCODING = ("utf-8", "surrogateescape")


def padded(message: MessageId) -> str:
    """Return an id as it is stored: 19 digits, so that equal scores sort by id."""
    return f"{message:019d}"


def microseconds(seconds: float) -> int:
    """Return a time or a duration as the scripts reckon it."""
    return round(seconds * _MICROSECONDS)


def encoded_name(name: str) -> bytes:
    """Return a queue's name as it is stored."""
    return name.encode(*_NAME_ENCODING)


def ref_args(refs: Sequence[Ref]) -> list[str]:
    """Return the arguments for *refs*: id and claim of each."""
    return [text for ref in refs for text in (padded(ref.id), "" if ref.claim is None else str(ref.claim))]


def nothing(_reply: bytes) -> None:
    """Read the answer of a script that has none."""


def queue_of(reply: bytes) -> Queue:
    """Read 'number parent uid gid mode created name'."""
    number, parent, uid, gid, mode, created, name = reply.split(b" ", 6)
    return Queue(
        id=QueueId(int(number)),
        parent=QueueId(int(parent)),
        name=name.decode(*_NAME_ENCODING),
        owner=Owner(uid=int(uid), gid=int(gid), mode=int(mode)),
        created_at=int(created) / _MICROSECONDS,
    )


def found_queue(reply: bytes) -> Queue | None:
    """Read what `find.lua` answers."""
    return queue_of(reply) if reply else None


def queues_of(reply: Sequence[bytes]) -> list[Queue]:
    """Read what `children.lua` answers; sorted by code point, which is the order of the bytes."""
    return sorted((queue_of(record) for record in reply[1:]), key=lambda queue: encoded_name(queue.name))


def counts_of(reply: bytes) -> Counts:
    """Read 'pending processing ...'."""
    pending, processing = reply.split()[:2]
    return Counts(pending=int(pending), processing=int(processing))


def bytes_of(reply: bytes) -> int:
    """Read the third field of what `counts.lua` answers."""
    return int(reply.split()[2])


def settled_of(reply: bytes) -> list[Settled]:
    """Read one letter for each reference."""
    return [_SETTLED[letter] for letter in reply]


def tick_of(reply: bytes, *, beat: float) -> Tick:
    """Read 'next;expired;adopted'; *beat* is when the daemon has to show that it is alive."""
    due, expired, adopted = reply.split(b";")
    next_due = beat if due == b"-" else min(beat, int(due) / _MICROSECONDS)
    return Tick(expired=_places(expired), adopted=_places(adopted), next_due=next_due)


def _places(reply: bytes) -> list[tuple[QueueId, MessageId]]:
    places = (place.partition(b":") for place in reply.split())
    return [(QueueId(int(queue)), MessageId(int(message))) for queue, _, message in places]


def mark_of(reply: bytes) -> ClockMark | None:
    """Read the mark of the callers' clock."""
    return ClockMark(**json.loads(reply)) if reply else None


def intact(meta: Sequence[bytes], body: bytes) -> bool:
    """Return whether *body* is what was put in; *meta* ends with its size and checksum ('-' if that is not known)."""
    return int(meta[-2]) == len(body) and meta[-1] in (b"-", b"%d" % zlib.crc32(body))


@dataclass(slots=True)
class Taken:
    """What `claim.lua` or `peek.lua` answered, with the payloads checked."""

    messages: list[Message] = field(default_factory=list)
    #: Ids and claims (None when peeked) of messages whose payload is not what was put in.
    damaged: list[tuple[MessageId, int | None]] = field(default_factory=list)
    #: Messages of which a part is missing; no claim reaches them any more.
    aside: list[MessageId] = field(default_factory=list)


def taken_of(reply: Sequence[bytes]) -> Taken:
    """Read a head and a body for each message."""
    taken = Taken(aside=[MessageId(int(id_)) for id_ in reply[0][1:].split()])
    for head, body in zip(reply[1::2], reply[2::2], strict=True):
        id_, lease_until, *meta = head.split()
        message = _message(id_, None if lease_until == b"-" else lease_until, meta, body)
        if intact(meta, body):
            taken.messages.append(message)
        else:
            taken.damaged.append((message.id, None if message.lease_until is None else message.claims))
    return taken


def snapshot_of(reply: Sequence[Any]) -> list[Message]:
    """Read what `snapshot.lua` answers, in the order in which messages are handed out."""
    known_queue, aside, leases, metas = reply
    if not known_queue:
        raise QueueNotFound
    lease_of = dict(pairs(leases))
    messages = [_message(id_, lease_of.get(id_), meta.split(), None) for id_, meta in pairs(metas)]
    known = {message.id for message in messages}
    for id_, score in pairs(aside):
        if int(id_) not in known:  # its meta is gone; that it is there is all that can be said
            messages.append(_message(id_, None, [b"0", b"%d" % -float(score), b"0", b"0", b"0", b"-"], None))
    return sorted(messages, key=lambda message: (-message.priority, message.id))


def pairs(flat: Any) -> Iterable[tuple[Any, Any]]:
    """Read keys and values: a flat list, or (in the third version of the protocol) a dict or a list of pairs."""
    if isinstance(flat, dict):
        return flat.items()
    if flat and isinstance(flat[0], list):
        return flat  # type: ignore[no-any-return]  # each of two
    return zip(flat[::2], flat[1::2], strict=True)


def _message(id_: bytes, lease_until: bytes | None, meta: Sequence[bytes], body: bytes | None) -> Message:
    enqueued_at, priority, attempt, claims, size, _ = meta
    return Message(
        id=MessageId(int(id_)),
        state=_PENDING if lease_until is None else _PROCESSING,
        data=body,
        size=int(size),
        priority=int(priority),
        enqueued_at=int(enqueued_at) / _MICROSECONDS,
        attempt=int(attempt),
        claims=int(claims),
        lease_until=None if lease_until is None else float(lease_until) / _MICROSECONDS,
    )
