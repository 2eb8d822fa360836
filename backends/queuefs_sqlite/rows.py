"""A message as the tables have it."""

from __future__ import annotations

from typing import NamedTuple

from queuefs.lifecycle import State
from queuefs.message import Message, MessageId

#: The numbers in the column `state`: the odd ones are kinds of pending.
STAGED, READY, PROCESSING, DELAYED, DEAD, PAUSED = range(6)

_STATES = (State.STAGED, State.PENDING, State.PROCESSING, State.PENDING, State.DEAD, State.PENDING)


class Row(NamedTuple):
    """A message's columns, as ``{row}`` in queries.sql selects them."""

    id: int
    state: int
    size: int
    rank: int
    enqueued_at: float
    attempt: int
    claims: int
    lease_until: float | None
    due: float | None
    expires_at: float | None
    cancelled: int
    key: str | None
    reason: str | None
    extra: bytes
    crc: int
    chunks: int

    @property
    def is_delayed(self) -> bool:
        """Whether it counts as delayed."""
        return self.state == DELAYED

    @property
    def is_paused(self) -> bool:
        """Whether it counts as paused."""
        return self.state == PAUSED

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
        )
