"""How messages and counts look in files: one JSON line each."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import msgspec

from queuefs.lifecycle import State

if TYPE_CHECKING:
    from collections.abc import Iterator

    from queuefs.clock import Clock
    from queuefs.message import Counts, Message, Record, Stats
    from queuefs.options import EnqueueOptions

_encode = msgspec.json.Encoder().encode

#: What a message's JSON line has beside its payload, bytes; a generous bound.
LINE_OVERHEAD = 1024

#: How much longer a payload's byte can become in JSON: a control character is written as ``\\u0001``.
LINE_GROWTH = 6


def counts_line(counts: Counts) -> bytes:
    """Return what `status` shows."""
    return b'{"pending":%d,"processing":%d}\n' % (counts.pending, counts.processing)


def size_line(counts: Counts) -> bytes:
    """Return what `size` shows: the number pending."""
    return b"%d\n" % counts.pending


def stats_line(stats: Stats, clock: Clock) -> bytes:
    """Return what `stats` shows; totals say that they are totals, and no length is to be read from them."""
    oldest = None if stats.oldest_pending is None else round(max(0.0, clock.now() - stats.oldest_pending), 6)
    return _line(
        {
            "pending": stats.pending,
            "processing": stats.processing,
            "unacked": stats.pending + stats.processing,
            "delayed": stats.delayed,
            "paused": stats.paused,
            "dead": stats.dead,
            "done": stats.done,
            "unacked_bytes": stats.unacked_bytes,
            "oldest_pending_seconds": oldest,
            "totals": {
                "enqueued": stats.enqueued,
                "dequeued": stats.dequeued,
                "acked": stats.acked,
                "nacked": stats.nacked,
                "expired": stats.expired,
                "dead": stats.buried,
            },
        }
    )


def message_line(message: Message, clock: Clock) -> bytes:
    """Return a message with its payload as `dequeue` and `peek` show it; *clock* turns its times into Unix seconds."""
    return _line(_fields(message, clock))


def listed_message(message: Message, clock: Clock) -> bytes:
    """Return a message as an entry of `messages`; one whose payload is gone by now says so."""
    return _encode(_fields(message, clock) | {"state": message.state})


def record_text(record: Record, clock: Clock) -> bytes:
    """Return what `done/ID` shows: one JSON line; what is not known of the message is not in it."""
    fields: dict[str, object] = {
        "id": str(record.id),
        "status": record.status,
        "attempt": record.attempt,
        "priority": record.priority,
        "size": record.size,
        "enqueued_at": _wall(record.enqueued_at, clock),
    }
    if record.claimed_at is not None:
        fields["claimed_at"] = _wall(record.claimed_at, clock)
    fields["finished_at"] = _wall(record.finished_at, clock)
    if record.claimed_at is not None:
        fields["queued_for"] = round(max(0.0, record.claimed_at - record.enqueued_at), 6)
        fields["ran_for"] = round(max(0.0, record.finished_at - record.claimed_at), 6)
    if record.key is not None:
        fields["key"] = record.key
    if record.reason is not None:
        fields["reason"] = record.reason
    for text in (record.extra, record.detail):
        fields.update(msgspec.json.decode(text) if text else {})
    return _line(fields)


def message_facts(message: Message, clock: Clock) -> dict[str, str]:
    """Return what is to be known of a message beside its payload, each as text: the xattrs of its file."""
    facts = {
        "id": str(message.id),
        "state": str(message.state),
        "attempt": str(message.attempt),
        "priority": str(message.priority),
        "enqueued_at": str(_wall(message.enqueued_at, clock)),
    }
    if message.state is State.PROCESSING:
        facts["receipt"] = str(message.receipt)
    for name, at in (
        ("claimed_at", message.claimed_at),
        ("lease_until", message.lease_until),
    ):
        if at is not None:
            facts[name] = str(_wall(at, clock))
    facts.update((name, _fact(value)) for name, value in _what_few_have(message, clock))
    return facts


def _fact(value: object) -> str:
    return value if isinstance(value, str) else _encode(value).decode()


def _wall(at: float, clock: Clock) -> float:
    return round(clock.to_wall(at), 6)


def extra_of(options: EnqueueOptions) -> bytes:
    """Return what of a writer's wishes is kept with the message and shown with it, as JSON; empty if there is none."""
    return b"" if options.timeout is None else _encode({"timeout": options.timeout})


def _line(fields: object) -> bytes:
    return _encode(fields) + b"\n"


def _fields(message: Message, clock: Clock) -> dict[str, object]:
    fields: dict[str, object] = {"id": str(message.id)}
    if message.data is None:
        fields["gone"] = True
    else:
        try:
            fields["data"] = message.data.decode()
        except UnicodeDecodeError:
            fields["data_base64"] = base64.b64encode(message.data).decode("ascii")
    if message.state is State.PROCESSING:
        fields["receipt"] = str(message.receipt)
    fields["attempt"] = message.attempt
    fields["priority"] = message.priority
    fields["enqueued_at"] = _wall(message.enqueued_at, clock)
    if message.lease_until is not None:
        fields["lease_until"] = _wall(message.lease_until, clock)
    fields.update(_what_few_have(message, clock))
    return fields


def _what_few_have(message: Message, clock: Clock) -> Iterator[tuple[str, object]]:
    if message.due is not None:
        yield "due", _wall(message.due, clock)
    if message.expires_at is not None:
        yield "expires_at", _wall(message.expires_at, clock)
    if message.paused:
        yield "paused", True
    if message.cancelled:
        yield "cancelled", True
    if message.key is not None:
        yield "key", message.key
    if message.reason is not None:
        yield "reason", message.reason
    if message.extra:
        yield from msgspec.json.decode(message.extra).items()


def line_bound(payload_bytes: int, messages: int = 1) -> int:
    """Return the most bytes that *messages* lines with *payload_bytes* of payload in all can have."""
    return LINE_GROWTH * payload_bytes + LINE_OVERHEAD * messages
