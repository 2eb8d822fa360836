"""What the scripts answer, as the contract's values; and the other way round."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from queuefs.backend import Overdue, Settled, Tick
from queuefs.clock import ClockMark
from queuefs.errors import QueueNotFound
from queuefs.lifecycle import State
from queuefs.message import Counts, Message, MessageId, Owner, Queue, QueueId, Ref, Stats

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from queuefs.message import Verdict

_MICROSECONDS = 1_000_000

_PENDING, _PROCESSING, _DEAD = State.PENDING, State.PROCESSING, State.DEAD
_SETTLED = {
    ord("D"): Settled.DONE,
    ord("U"): Settled.UNKNOWN,
    ord("S"): Settled.STALE,
    ord("C"): Settled.CANCELLED,
}

#: What is not UTF-8 is refused before it gets here; were it to come, it would come back as it is.
_ENCODING = ("utf-8", "surrogateescape")

#: How many fields of a message's meta there are, key, reason and extra together counting as one.
_META_FIELDS = 12

#: The meta of a message whose own is gone.
_LOST = [b"0", b"0", b"0", b"0", b"0", b"-", b"-", b"-", b"-", b"-", b"-", b""]


def padded(message: MessageId) -> str:
    """Return an id as it is stored: 19 digits, so that equal scores sort by id."""
    return f"{message:019d}"


def microseconds(seconds: float) -> int:
    """Return a time or a duration as the scripts reckon it."""
    return round(seconds * _MICROSECONDS)


def encoded(text: str) -> bytes:
    """Return a text as it is stored."""
    return text.encode(*_ENCODING)


encoded_name = encoded


def ref_args(refs: Sequence[Ref]) -> list[str]:
    """Return the arguments for *refs*: id and claim of each."""
    return [text for ref in refs for text in (padded(ref.id), "" if ref.claim is None else str(ref.claim))]


def verdict_args(verdicts: Sequence[Verdict]) -> list[bytes | str | int]:
    """Return the arguments for *verdicts*: id, claim, delay, whether it is dead, and the reason of each."""
    args: list[bytes | str | int] = []
    for verdict in verdicts:
        args += ref_args([verdict.ref])
        args += (microseconds(verdict.delay), int(verdict.dead))
        args.append("" if verdict.reason is None else b"+" + encoded(verdict.reason))
    return args


def nothing(_reply: bytes) -> None:
    """Read the answer of a script that has none."""


def message_of(reply: bytes) -> MessageId:
    """Read an id."""
    return MessageId(int(reply))


def queue_of(reply: bytes) -> Queue:
    """Read 'number length config record'."""
    number, length, rest = reply.split(b" ", 2)
    return described_queue(number, rest[int(length) :], config=rest[: int(length)])


def described_queue(number: bytes, record: bytes, *, config: bytes = b"") -> Queue:
    """Read the record 'parent uid gid mode created name'."""
    parent, uid, gid, mode, created, name = record.split(b" ", 5)
    return Queue(
        id=QueueId(int(number)),
        parent=QueueId(int(parent)),
        name=name.decode(*_ENCODING),
        owner=Owner(uid=int(uid), gid=int(gid), mode=int(mode)),
        created_at=int(created) / _MICROSECONDS,
        config=config,
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


def stats_of(reply: bytes) -> Stats:
    """Read what `stats.lua` answers."""
    *numbers, oldest = reply.split()
    pending, processing, size, delayed, paused, dead, enqueued, dequeued, acked, nacked, expired, buried = map(
        int, numbers
    )
    return Stats(
        pending=pending,
        processing=processing,
        delayed=delayed,
        paused=paused,
        dead=dead,
        unacked_bytes=size,
        oldest_pending=_seconds(oldest),
        enqueued=enqueued,
        dequeued=dequeued,
        acked=acked,
        nacked=nacked,
        expired=expired,
        buried=buried,
    )


def settled_of(reply: bytes) -> list[Settled]:
    """Read one letter for each reference."""
    return [_SETTLED[letter] for letter in reply]


def tick_of(reply: bytes, *, beat: float) -> Tick:
    """Read 'next;overdue;lapsed;ripe;adopted'; *beat* is when the daemon has to show that it is alive."""
    due, overdue, lapsed, ripe, adopted = reply.split(b";")
    return Tick(
        overdue=[_overdue(text) for text in overdue.split()],
        lapsed=_places(lapsed),
        ripe=[QueueId(int(queue)) for queue in ripe.split()],
        adopted=_places(adopted),
        next_due=beat if due == b"-" else min(beat, int(due) / _MICROSECONDS),
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


def meta_fields(meta: bytes) -> list[bytes]:
    """Return the fields of a message's meta."""
    return meta.split(b" ", _META_FIELDS - 1)


def intact(meta: Sequence[bytes], body: bytes) -> bool:
    """Return whether *body* is what was put in, by the size and the checksum in *meta* ('-' if that is not known)."""
    return int(meta[4]) == len(body) and meta[5] in (b"-", b"%d" % zlib.crc32(body))


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
        id_, lease_until, meta = head.split(b" ", 2)
        fields = meta_fields(meta)
        message = _message(id_, fields, body=body, lease_until=lease_until)
        if intact(fields, body):
            taken.messages.append(message)
        else:
            taken.damaged.append((message.id, None if message.lease_until is None else message.claims))
    return taken


def looked_at(message: MessageId, text: bytes) -> Message | None:
    """Read one message of what `look.lua` answers."""
    if not text:
        return None
    until, meta = text.split(b" ", 1)
    if until == b"dead":
        return _message(message, meta_fields(meta), dead=True)
    return _message(message, meta_fields(meta), lease_until=until)


def snapshot_of(reply: Sequence[Any]) -> list[Message]:
    """Read what `views.Snapshot` gets, in the order in which messages are handed out."""
    known_queue, aside, leases, metas = reply
    if not known_queue:
        raise QueueNotFound
    lease_of = dict(pairs(leases))
    messages = [_message(id_, meta_fields(meta), lease_until=lease_of.get(id_, b"-")) for id_, meta in pairs(metas)]
    known = {message.id for message in messages}
    for id_, score in pairs(aside):
        if int(id_) not in known:  # its meta is gone; that it is there is all that can be said
            messages.append(_message(id_, [_LOST[0], b"%d" % -float(score), *_LOST[2:]]))
    return sorted(messages, key=lambda message: (-message.priority, message.id))


def dead_of(reply: Sequence[Any]) -> list[Message]:
    """Read what `views.Dead` gets."""
    known_queue, metas = reply
    if not known_queue:
        raise QueueNotFound
    messages = [_message(id_, meta_fields(meta), dead=True) for id_, meta in pairs(metas)]
    return sorted(messages, key=lambda message: message.id)


def pairs(flat: Any) -> Iterable[tuple[Any, Any]]:
    """Read keys and values: a flat list, or (in the third version of the protocol) a dict or a list of pairs."""
    if isinstance(flat, dict):
        return flat.items()
    if flat and isinstance(flat[0], list):
        return flat  # type: ignore[no-any-return]  # each of two
    return zip(flat[::2], flat[1::2], strict=True)


def _message(
    id_: bytes | int, meta: Sequence[bytes], *, body: bytes | None = None, lease_until: bytes = b"-", dead: bool = False
) -> Message:
    enqueued_at, priority, attempt, claims, size, _, due, expires, flag, key_size, reason_size, rest = meta
    key, rest = _cut(key_size, rest)
    reason, extra = _cut(reason_size, rest)
    state = _DEAD if dead else _PENDING if lease_until == b"-" else _PROCESSING
    return Message(
        id=MessageId(int(id_)),
        state=state,
        data=body,
        size=int(size),
        priority=int(priority),
        enqueued_at=int(enqueued_at) / _MICROSECONDS,
        attempt=int(attempt),
        claims=int(claims),
        lease_until=_seconds(lease_until),
        due=_seconds(due),
        expires_at=_seconds(expires),
        paused=flag == b"P",
        cancelled=flag == b"C",
        key=key,
        reason=reason,
        extra=extra,
    )


def _cut(size: bytes, text: bytes) -> tuple[str | None, bytes]:
    """Return the text of *size* bytes ('-' if there is none) at the beginning, and what follows it."""
    if size == b"-":
        return None, text
    return text[: int(size)].decode(*_ENCODING), text[int(size) :]


def _seconds(text: bytes) -> float | None:
    return None if text == b"-" else float(text) / _MICROSECONDS
