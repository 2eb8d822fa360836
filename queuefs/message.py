"""The values that travel between the layers: queues, messages and what a claim is known by."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, NewType

from queuefs.errors import BadValue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from queuefs.lifecycle import State

#: A queue's immutable number; a rename does not change it and it is never used again.
QueueId = NewType("QueueId", int)
#: A message's number; decimal in files, growing, never used again in its store.
MessageId = NewType("MessageId", int)

#: The root of the tree: it holds queues, and no messages.
ROOT = QueueId(0)

#: The highest id a store may give (signed 64 bits, as SQLite's rowid and Redis' INCR have it).
MAX_MESSAGE_ID = 2**63 - 1

#: Bounds of a message's priority; higher is handed out first.
MIN_PRIORITY = -100_000
MAX_PRIORITY = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Who owns a queue, or one file in it: what `stat` shows and the kernel enforces."""

    uid: int
    gid: int
    #: Permission bits alone, without the file type.
    mode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """One queue as the back end keeps it."""

    id: QueueId
    parent: QueueId
    name: str
    owner: Owner
    #: Unix seconds.
    created_at: float
    #: What `config` keeps: text whose meaning is the service's; empty at first.
    config: bytes
    #: Those of its control files and state directories, by name, whose owner and mode were changed by themselves.
    files: Mapping[str, Owner] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message; a value, never the back end's own object."""

    id: MessageId
    state: State
    #: None where it was not asked for: in a snapshot, and where it is longer than was asked for.
    data: bytes | None
    #: Bytes in the payload.
    size: int
    priority: int
    #: Seconds on the store's clock (see `queuefs.clock`).
    enqueued_at: float
    #: How often it has been handed out; an undone claim does not count.
    attempt: int
    #: How often it has been claimed, undone claims included: the N of its receipt.
    claims: int
    #: Seconds on the store's clock; None unless it is in processing.
    lease_until: float | None
    #: Seconds on the store's clock before which it is not handed out; None if it may be at any time.
    due: float | None
    #: Seconds on the store's clock at which it lapses if it is pending then; None if never.
    expires_at: float | None
    #: Not handed out until it is resumed; only a pending message is paused.
    paused: bool
    #: Its holder shall stop; only a message in processing is cancelled.
    cancelled: bool
    #: What tells its repetitions from other messages; None if it has none.
    key: str | None
    #: What was said at the last nack or burial.
    reason: str | None
    #: What else its writer asked for: text whose meaning is the service's.
    extra: bytes
    #: When it was handed out last, seconds on the store's clock; None if it never was.
    claimed_at: float | None = None

    @property
    def place(self) -> Place:
        """Where it stands among the messages of its state."""
        return Place(self.priority, self.id)

    @property
    def receipt(self) -> Ref:
        """What names this claim of the message and no other."""
        return Ref(id=self.id, claim=self.claims)


class Place(NamedTuple):
    """Where a message stands: higher priorities come first, then lower ids."""

    priority: int
    id: MessageId


class Status(StrEnum):
    """How a message ended that is done."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What its holder says of a message when it settles it for good."""

    status: Status = Status.SUCCEEDED
    #: Kept with the record: text whose meaning is the service's.
    detail: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """Which records of messages that are done a queue keeps: the latest ones, and none for longer than that."""

    records: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What is kept of a message that is done; its payload is gone."""

    id: MessageId
    status: Status
    #: Bytes that were in the payload.
    size: int
    priority: int
    #: How often it had been handed out.
    attempt: int
    #: Seconds on the store's clock, as the next two.
    enqueued_at: float
    #: When it was handed out last; None if it never was.
    claimed_at: float | None
    finished_at: float
    key: str | None
    reason: str | None
    #: What its writer asked for beside: text whose meaning is the service's.
    extra: bytes
    #: What its holder said of it: likewise.
    detail: bytes

    @property
    def ended(self) -> Ended:
        """Where it stands among the records of its queue."""
        return Ended(self.finished_at, self.id)


class Ended(NamedTuple):
    """Where a record stands: later ones come first, then higher ids."""

    finished_at: float
    id: MessageId


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """What a store takes up, and what it could take up still."""

    #: Bytes in use.
    used: int
    #: Bytes that are free for it.
    free: int
    #: Unacknowledged messages of all queues.
    messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a writer asks for a message, beside its payload."""

    #: Higher is handed out first; -100000 to 100000.
    priority: int = 0
    #: Seconds after its publication before which it is not handed out.
    delay: float = 0.0
    #: Seconds after its publication at which it lapses if it is pending then; 0: never.
    ttl: float = 0.0
    #: A second message of this key gives way to the first; None: no such thing.
    key: str | None = None
    #: Kept with the message.
    extra: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How much a queue may hold, staged messages included; 0: no limit."""

    messages: int = 0
    #: Payload bytes.
    bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What becomes of one claim that did not end well."""

    ref: Ref
    #: Seconds from now before which the message is not handed out again.
    delay: float = 0.0
    #: It goes to the dead instead of back to the pending ones.
    dead: bool = False
    #: Kept with the message; None keeps what was there.
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """A queue's counts and totals, from one snapshot."""

    pending: int
    processing: int
    #: Of the pending ones: not due yet, and not paused.
    delayed: int
    #: Of the pending ones: paused, due or not.
    paused: int
    dead: int
    #: Records that are kept of messages that are done.
    done: int
    #: Payload bytes of pending and processing together.
    unacked_bytes: int
    #: When the oldest pending message was enqueued, seconds on the store's clock; None if none is pending.
    oldest_pending: float | None
    # Totals since the queue was made; no length is ever read from them. An undone claim is taken back from `dequeued`.
    enqueued: int
    dequeued: int
    acked: int
    #: Given back by their holders.
    nacked: int
    #: Leases that ended.
    expired: int
    #: Set aside as dead.
    buried: int


@dataclass(frozen=True, slots=True)
class Counts:
    """Both counts of a queue, read together from one snapshot."""

    pending: int
    processing: int

    @property
    def unacked(self) -> int:
        """Messages that are not settled yet."""
        return self.pending + self.processing


_REF = re.compile(rb"([1-9][0-9]{0,18})(?:\.([1-9][0-9]{0,18}))?")


@dataclass(frozen=True, slots=True)
class Ref:
    """How a user names a message: by id (``42``), or by the receipt of one claim of it (``42.3``)."""

    id: MessageId
    claim: int | None = None

    @classmethod
    def parse(cls, text: bytes) -> Ref:
        """Read an id or a receipt.

        Raises:
            BadValue: *text* is neither.
        """
        found = _REF.fullmatch(text)
        if found is None or any(int(number) > MAX_MESSAGE_ID for number in found.groups(b"0")):
            raise BadValue(f"not a message id or receipt: {text[:80]!r}")
        return cls(MessageId(int(found[1])), int(found[2]) if found[2] else None)

    def __str__(self) -> str:
        """Return the text that `parse` reads."""
        return str(self.id) if self.claim is None else f"{self.id}.{self.claim}"
