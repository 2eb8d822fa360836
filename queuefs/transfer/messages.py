"""The lines of an export about messages: one that is there, a piece of its payload, a record of one that is done."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from queuefs.errors import BadValue
from queuefs.lifecycle import State
from queuefs.message import Message, MessageId, Record, Status
from queuefs.transfer.fields import (
    ExportLine,
    Id,
    Moment,
    Number,
    Priority,
    check_id,
    encode,
    object_of,
    ours,
    some_wall,
    wall,
)

#: The states of messages in an export, in the order in which they stand there.
STATES = (State.PENDING, State.PROCESSING, State.DEAD)


class MessageLine(ExportLine):
    """A message; what is in its payload stands here, or in the pieces before."""

    id: Id
    state: State
    priority: Priority
    enqueued_at: Moment
    attempt: Number
    #: How often it was claimed, undone claims included.
    claims: Number
    claimed_at: Moment | None = None
    lease_until: Moment | None = None
    due: Moment | None = None
    expires_at: Moment | None = None
    paused: bool = False
    cancelled: bool = False
    key: str | None = None
    reason: str | None = None
    extra: dict[str, Any] = msgspec.field(default_factory=dict)
    #: The payload is not what was put in, or not all of it.
    damaged: bool = False
    data: str | None = None
    data_base64: bytes | None = None
    #: Bytes in the pieces before.
    size: Number | None = None

    @classmethod
    def of(cls, message: Message, data: bytes | None, *, ahead: float, size: int, damaged: bool) -> MessageLine:
        """Return what there is to say of *message*; without *data*, pieces with *size* bytes came before it."""
        extra = object_of(message.extra)
        line = cls(
            id=str(message.id),
            state=message.state,
            priority=message.priority,
            enqueued_at=wall(message.enqueued_at, ahead),
            attempt=message.attempt,
            claims=message.claims,
            claimed_at=some_wall(message.claimed_at, ahead),
            lease_until=some_wall(message.lease_until, ahead),
            due=some_wall(message.due, ahead),
            expires_at=some_wall(message.expires_at, ahead),
            paused=message.paused,
            cancelled=message.cancelled,
            key=message.key,
            reason=message.reason,
            extra=extra or {},
            damaged=damaged or extra is None,
        )
        if data is None:
            line.size = size
            return line
        try:
            line.data = data.decode()
        except UnicodeDecodeError:
            line.data_base64 = data
        return line

    def check(self) -> None:
        """Refuse what no message can be."""
        check_id(self.id)
        if self.state not in STATES:
            raise BadValue(f"a message of an export is one of {', '.join(STATES)}, not {self.state}")
        if (self.data is not None) + (self.data_base64 is not None) + (self.size is not None) != 1:
            raise BadValue("a message has one of data, data_base64 and size")
        if (self.lease_until is not None) != (self.state is State.PROCESSING):
            raise BadValue("a message in processing has lease_until, and no other")
        if self.cancelled and self.state is not State.PROCESSING:
            raise BadValue("a message that is cancelled is in processing")
        if (self.paused or self.due is not None) and self.state is not State.PENDING:
            raise BadValue("a message that is paused or due later is pending")
        if self.claims < max(self.attempt, self.state is State.PROCESSING):
            raise BadValue("a message has been claimed at least as often as it was attempted")

    @property
    def payload(self) -> bytes | None:
        """The payload, None if it came in pieces."""
        return self.data_base64 if self.data is None else self.data.encode()

    def message(self, number: MessageId, size: int, *, ahead: float) -> Message:
        """Return the message under the id *number*, without its payload."""
        return Message(
            id=number,
            state=self.state,
            data=None,
            size=size,
            priority=self.priority,
            enqueued_at=self.enqueued_at - ahead,
            attempt=self.attempt,
            claims=self.claims,
            lease_until=ours(self.lease_until, ahead),
            due=ours(self.due, ahead),
            expires_at=ours(self.expires_at, ahead),
            paused=self.paused,
            cancelled=self.cancelled,
            key=self.key,
            reason=self.reason,
            extra=encode(self.extra) if self.extra else b"",
            claimed_at=ours(self.claimed_at, ahead),
        )


class PieceLine(ExportLine):
    """A piece of the payload of the message whose line follows."""

    id: Id
    #: The offset of its first byte.
    at: Number
    data_base64: bytes

    def check(self) -> None:
        """Refuse an id that is none."""
        check_id(self.id)


class GoneLine(ExportLine):
    """The message whose pieces came before has left the store meanwhile."""

    id: Id
    gone: Literal[True]


class RecordLine(ExportLine):
    """What is kept of a message that is done."""

    id: Id
    status: Status
    size: Number
    priority: Priority
    attempt: Number
    enqueued_at: Moment
    finished_at: Moment
    claimed_at: Moment | None = None
    key: str | None = None
    reason: str | None = None
    extra: dict[str, Any] = msgspec.field(default_factory=dict)
    #: An object, or a text that is none.
    detail: dict[str, Any] | str = ""

    @classmethod
    def of(cls, record: Record, *, ahead: float) -> RecordLine:
        """Return what there is to say of *record*."""
        detail = object_of(record.detail)
        return cls(
            id=str(record.id),
            status=record.status,
            size=record.size,
            priority=record.priority,
            attempt=record.attempt,
            enqueued_at=wall(record.enqueued_at, ahead),
            finished_at=wall(record.finished_at, ahead),
            claimed_at=some_wall(record.claimed_at, ahead),
            key=record.key,
            reason=record.reason,
            extra=object_of(record.extra) or {},
            detail=detail or record.detail.decode(errors="backslashreplace"),
        )

    def check(self) -> None:
        """Refuse an id that is none."""
        check_id(self.id)

    def record(self, number: MessageId, *, ahead: float) -> Record:
        """Return the record under the id *number*."""
        return Record(
            id=number,
            status=self.status,
            size=self.size,
            priority=self.priority,
            attempt=self.attempt,
            enqueued_at=self.enqueued_at - ahead,
            claimed_at=ours(self.claimed_at, ahead),
            finished_at=self.finished_at - ahead,
            key=self.key,
            reason=self.reason,
            extra=encode(self.extra) if self.extra else b"",
            detail=self.detail.encode() if isinstance(self.detail, str) else encode(self.detail),
        )
