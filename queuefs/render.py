"""How messages and counts look in files: one JSON line each."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import msgspec

from queuefs.lifecycle import State

if TYPE_CHECKING:
    from queuefs.clock import Clock
    from queuefs.message import Counts, Message

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


def message_line(message: Message, clock: Clock) -> bytes:
    """Return a message with its payload as `dequeue` and `peek` show it; *clock* turns its times into Unix seconds."""
    return _encode(_fields(message, clock)) + b"\n"


def listed_message(message: Message, clock: Clock) -> bytes:
    """Return a message as an entry of `messages`; one whose payload is gone by now says so."""
    return _encode(_fields(message, clock) | {"state": message.state})


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
    fields["enqueued_at"] = round(clock.to_wall(message.enqueued_at), 6)
    if message.lease_until is not None:
        fields["lease_until"] = round(clock.to_wall(message.lease_until), 6)
    return fields


def line_bound(payload_bytes: int, messages: int = 1) -> int:
    """Return the most bytes that *messages* lines with *payload_bytes* of payload in all can have."""
    return LINE_GROWTH * payload_bytes + LINE_OVERHEAD * messages
