"""What is kept of a message beside its payload, and the answers that are made of it."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from queuefs.errors import QueueNotFound
from queuefs.lifecycle import State
from queuefs.message import Message, MessageId, Place
from queuefs_redis.encoding import cut, encoded, moment, pairs, seconds_of, size_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuefs_redis.request import Arg

_PENDING, _PROCESSING, _DEAD = State.PENDING, State.PROCESSING, State.DEAD

#: A payload as the scripts answer it: in one, or in pieces; none of them if it was not read.
Body = bytes | list[bytes]


class Meta(NamedTuple):
    """The fields as `messages.lua` writes them."""

    enqueued: bytes
    priority: bytes
    attempt: bytes
    claims: bytes
    claimed: bytes
    size: bytes
    #: '-' if it is not known.
    crc: bytes
    due: bytes
    expires: bytes
    #: P paused, C cancelled, X dead and known to have a damaged payload; else '-'.
    flag: bytes
    key_size: bytes
    reason_size: bytes
    #: Key, reason and extra.
    rest: bytes

    @classmethod
    def read(cls, text: bytes) -> Meta:
        """Read what is stored."""
        return cls(*text.split(b" ", _LAST_FIELD))

    @property
    def key(self) -> bytes | None:
        """The key that tells repetitions."""
        return None if self.key_size == b"-" else self.rest[: int(self.key_size)]

    def fits(self, body: bytes) -> bool:
        """Return whether *body* is what was put in, by its size and its checksum."""
        return int(self.size) == len(body) and self.crc in (b"-", b"%d" % zlib.crc32(body))


_LAST_FIELD = len(Meta._fields) - 1

#: The meta of a message whose own is gone.
_LOST = Meta.read(b"0 0 0 0 - 0 - - - - - - ")


@dataclass(slots=True)
class Taken:
    """What `claim.lua` or `peek.lua` answered, with the payloads checked."""

    messages: list[Message] = field(default_factory=list)
    #: Ids and claims (None when peeked) of messages whose payload is not what was put in.
    damaged: list[tuple[MessageId, int | None]] = field(default_factory=list)
    #: Messages of which a part is missing; no claim reaches them any more.
    aside: list[MessageId] = field(default_factory=list)


def taken_of(reply: Sequence[Any]) -> Taken:
    """Read a head and a payload for each message."""
    taken = Taken(aside=[MessageId(int(id_)) for id_ in reply[0][1:].split()])
    for head, body in zip(reply[1::2], reply[2::2], strict=True):
        id_, lease_until, text = head.split(b" ", 2)
        meta, data = Meta.read(text), joined(body)
        message = _message(id_, meta, body=data, lease_until=lease_until)
        if data is None or meta.fits(data):
            taken.messages.append(message)
        else:
            taken.damaged.append((message.id, None if message.lease_until is None else message.claims))
    return taken


def joined(body: Body) -> bytes | None:
    """Return a payload in one; None if it was not read."""
    if isinstance(body, bytes):
        return body
    return b"".join(body) if body else None


def looked_at(message: MessageId, text: bytes) -> Message | None:
    """Read one message of what `look.lua` answers."""
    if not text:
        return None
    until, meta = text.split(b" ", 1)
    if until == b"dead":
        return _message(message, Meta.read(meta), dead=True)
    return _message(message, Meta.read(meta), lease_until=until)


def page_of(reply: Sequence[bytes]) -> list[Message]:
    """Read id, rank, end of the lease and meta for each message, as `page.lua` answers them."""
    return [
        _message(id_, Meta.read(text) if text else _lost(rank), lease_until=until, dead=until == b"dead")
        for id_, rank, until, text in zip(reply[1::4], reply[2::4], reply[3::4], reply[4::4], strict=True)
    ]


def places_of(reply: bytes) -> list[Place]:
    """Read id and rank of each message, as `places.lua` answers them."""
    numbers = list(map(int, reply.split()))
    return [Place(-rank, MessageId(id_)) for id_, rank in zip(numbers[::2], numbers[1::2], strict=True)]


def snapshot_of(reply: Sequence[Any]) -> list[Message]:
    """Read what `views.Snapshot` gets, in the order in which messages are handed out."""
    known_queue, aside, leases, metas = reply
    if not known_queue:
        raise QueueNotFound
    lease_of = dict(pairs(leases))
    messages = [_message(id_, Meta.read(meta), lease_until=lease_of.get(id_, b"-")) for id_, meta in pairs(metas)]
    known = {message.id for message in messages}
    # Of those whose meta is gone, that they are there is all that can be said.
    messages += [_message(id_, _lost(score)) for id_, score in pairs(aside) if int(id_) not in known]
    return sorted(messages, key=lambda message: (-message.priority, message.id))


def dead_of(reply: Sequence[Any]) -> list[Message]:
    """Read what `views.Dead` gets."""
    known_queue, metas = reply
    if not known_queue:
        raise QueueNotFound
    messages = [_message(id_, Meta.read(meta), dead=True) for id_, meta in pairs(metas)]
    return sorted(messages, key=lambda message: message.id)


def restored_args(message: Message) -> list[Arg]:
    """Return what `restore.lua` gets of a message, behind its id."""
    key = None if message.key is None else encoded(message.key)
    reason = None if message.reason is None else encoded(message.reason)
    return [
        message.state,
        moment(message.lease_until),
        moment(message.enqueued_at),
        message.priority,
        message.attempt,
        message.claims,
        moment(message.claimed_at),
        moment(message.due),
        moment(message.expires_at),
        "P" if message.paused else "C" if message.cancelled else "-",
        size_of(key),
        size_of(reason),
        (key or b"") + (reason or b"") + message.extra,
    ]


def _lost(rank: bytes) -> Meta:
    return _LOST._replace(priority=b"%d" % -float(rank))


def _message(
    id_: bytes | int, meta: Meta, *, body: bytes | None = None, lease_until: bytes = b"-", dead: bool = False
) -> Message:
    enqueued, priority, attempt, claims, claimed, size, _, due, expires, flag, key_size, reason_size, rest = meta
    key, rest = cut(key_size, rest)
    reason, extra = cut(reason_size, rest)
    state = _DEAD if dead else _PENDING if lease_until == b"-" else _PROCESSING
    return Message(
        id=MessageId(int(id_)),
        state=state,
        data=body,
        size=int(size),
        priority=int(priority),
        enqueued_at=seconds_of(enqueued) or 0.0,
        attempt=int(attempt),
        claims=int(claims),
        lease_until=None if dead else seconds_of(lease_until),
        due=seconds_of(due),
        expires_at=seconds_of(expires),
        paused=flag == b"P",
        cancelled=flag == b"C",
        key=key,
        reason=reason,
        extra=extra,
        claimed_at=seconds_of(claimed),
    )
