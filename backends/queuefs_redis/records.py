"""Records of messages that are done, as they are stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs.message import MessageId, Record, Status
from queuefs_redis.encoding import cut, encoded, moment, seconds_of, size_of

if TYPE_CHECKING:
    from collections.abc import Sequence

#: How many fields there are, with what follows them counting as one.
_FIELDS = 11


def record_of(message: bytes | int, text: bytes) -> Record | None:
    """Read one record (see `done.lua`); None if there is no text."""
    if not text:
        return None
    status, size, priority, attempt, enqueued, claimed, finished, key_size, reason_size, rest_size, rest = text.split(
        b" ", _FIELDS - 1
    )
    rest, detail = rest[: int(rest_size)], rest[int(rest_size) :]
    key, rest = cut(key_size, rest)
    reason, extra = cut(reason_size, rest)
    return Record(
        id=MessageId(int(message)),
        status=Status(status.decode()),
        size=int(size),
        priority=int(priority),
        attempt=int(attempt),
        enqueued_at=seconds_of(enqueued) or 0.0,
        claimed_at=seconds_of(claimed),
        finished_at=seconds_of(finished) or 0.0,
        key=key,
        reason=reason,
        extra=extra,
        detail=detail,
    )


def records_of(reply: Sequence[bytes]) -> list[Record]:
    """Read ids and records in turn."""
    found = (record_of(id_, text) for id_, text in zip(reply[1::2], reply[2::2], strict=True))
    return [record for record in found if record is not None]


def record_text(record: Record) -> bytes:
    """Return what is stored of *record*."""
    key = None if record.key is None else encoded(record.key)
    reason = None if record.reason is None else encoded(record.reason)
    rest = (key or b"") + (reason or b"") + record.extra
    fields = (
        record.status,
        record.size,
        record.priority,
        record.attempt,
        moment(record.enqueued_at),
        moment(record.claimed_at),
        moment(record.finished_at),
        size_of(key),
        size_of(reason),
        len(rest),
    )
    return " ".join(map(str, fields)).encode() + b" " + rest + record.detail
