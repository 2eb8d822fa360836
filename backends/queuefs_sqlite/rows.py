"""A message as the tables have it."""

from __future__ import annotations

from typing import NamedTuple

from queuefs.lifecycle import State
from queuefs.message import Message, MessageId, Outcome, Record, Status

#: The numbers in the column `state`: the odd ones are kinds of pending.
STAGED, READY, PROCESSING, DELAYED, DEAD, PAUSED = range(6)

_STATES = (State.STAGED, State.PENDING, State.PROCESSING, State.PENDING, State.DEAD, State.PENDING)


class Row(NamedTuple):
    """A message's columns, as ``{row}`` in queries.sql selects them."""

    id: int
    # What a claim changes; see `claimed`.
    state: int
    attempt: int
    claims: int
    lease_until: float | None
    due: float | None
    claimed_at: float | None
    # What it does not.
    size: int
    rank: int
    enqueued_at: float
    expires_at: float | None
    cancelled: int
    key: str | None
    reason: str | None
    extra: bytes
    crc: int
    chunks: int

    @property
    def is_pending(self) -> bool:
        """Whether it is of any kind of pending."""
        return bool(self.state & 1)

    @property
    def is_delayed(self) -> bool:
        """Whether it counts as delayed."""
        return self.state == DELAYED

    @property
    def is_paused(self) -> bool:
        """Whether it counts as paused."""
        return self.state == PAUSED

    def claimed(self, *, now: float, until: float) -> Row:
        """Return what it is once it is handed out."""
        return Row(self.id, PROCESSING, self.attempt + 1, self.claims + 1, until, None, now, *self[7:])

    def message(self, data: bytes | None) -> Message:
        """Return the value that leaves the back end."""
        return Message(
            id=MessageId(self.id),
            state=_STATES[self.state],
            data=data,
            size=self.size,
            priority=-self.rank,
            enqueued_at=self.enqueued_at,
            attempt=self.attempt,
            claims=self.claims,
            lease_until=self.lease_until,
            due=self.due,
            expires_at=self.expires_at,
            paused=self.is_paused,
            cancelled=bool(self.cancelled),
            key=self.key,
            reason=self.reason,
            extra=self.extra,
            claimed_at=self.claimed_at,
        )

    def record(self, outcome: Outcome, *, now: float) -> RecordRow:
        """Return what may be kept of it, which ends at *now*."""
        return RecordRow(  # by place, which takes half of the time: every ack makes one
            self.id,
            now,
            Status.CANCELLED if self.cancelled else outcome.status,
            self.size,
            self.rank,
            self.attempt,
            self.enqueued_at,
            self.claimed_at,
            self.key,
            self.reason,
            self.extra,
            outcome.detail,
        )


class RecordRow(NamedTuple):
    """A record's columns, as ``{record}`` in queries.sql selects them."""

    id: int
    finished_at: float
    status: str
    size: int
    rank: int
    attempt: int
    enqueued_at: float
    claimed_at: float | None
    key: str | None
    reason: str | None
    extra: bytes
    detail: bytes

    @classmethod
    def of(cls, record: Record) -> RecordRow:
        """Return the row of a record from another store."""
        return cls(
            id=record.id,
            finished_at=record.finished_at,
            status=record.status,
            size=record.size,
            rank=-record.priority,
            attempt=record.attempt,
            enqueued_at=record.enqueued_at,
            claimed_at=record.claimed_at,
            key=record.key,
            reason=record.reason,
            extra=record.extra,
            detail=record.detail,
        )

    @property
    def ended(self) -> tuple[float, int]:
        """Where it stands among the records of its queue."""
        return self.finished_at, self.id

    def record(self) -> Record:
        """Return the value that leaves the back end."""
        return Record(
            id=MessageId(self.id),
            status=Status(self.status),
            size=self.size,
            priority=-self.rank,
            attempt=self.attempt,
            enqueued_at=self.enqueued_at,
            claimed_at=self.claimed_at,
            finished_at=self.finished_at,
            key=self.key,
            reason=self.reason,
            extra=self.extra,
            detail=self.detail,
        )
