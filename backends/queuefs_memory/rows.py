"""What the memory back end is made of: a message's row and a queue's row."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from queuefs.errors import QueueFull
from queuefs.lifecycle import State
from queuefs.message import MAX_MESSAGE_ID, Counts, Draft, Message, MessageId, Record, Stats, Status
from queuefs_memory.keys import Keys
from queuefs_memory.line import Line
from queuefs_memory.places import ID_BITS, message_at, rank
from queuefs_memory.records import Records
from queuefs_memory.shelf import Shelf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from queuefs.message import Outcome, Queue, Room

#: What `Row.message` takes for none at all.
NO_PAYLOAD = -1


class Row:
    """One message as it is kept; callers get a `Message` made from it."""

    __slots__ = (
        "attempt",
        "cancelled",
        "chunks",
        "claimed_at",
        "claims",
        "data",
        "draft",
        "due",
        "enqueued_at",
        "expires_at",
        "id",
        "lease_until",
        "line",
        "paused",
        "priority",
        "queue",
        "rank",
        "ready",
        "reason",
        "size",
        "state",
    )

    def __init__(self, id: MessageId, queue: QueueRow, data: bytes, draft: Draft, now: float) -> None:  # noqa: A002 - as in Message
        """Begin a staged message."""
        self.id = id
        self.queue = queue
        self.state = State.STAGED
        #: What has been appended so far; joined when it is published.
        self.chunks = [data]
        self.data = b""
        self.size = len(data)
        self.draft = draft
        self.priority = priority = draft.priority
        #: Its place for ever; lower comes first. For most it is the id itself.
        self.rank = rank(priority, id) if priority else id
        self.enqueued_at = now
        self.attempt = 0
        self.claims = 0
        self.claimed_at: float | None = None
        self.lease_until: float | None = None
        self.due: float | None = None
        self.expires_at: float | None = None
        self.paused = False
        self.cancelled = False
        self.reason: str | None = None
        #: Where it has an entry that counts,
        self.line: Line | None = None
        #: and can be handed out.
        self.ready = False

    def __lt__(self, other: Row) -> bool:
        """Say no: where two of one id and moment are compared, one is stale, and either may come first."""
        return False

    def message(self, inline: int | None = None) -> Message:
        """Return the message as it stands, without a payload of more than *inline* bytes."""
        return Message(
            id=self.id,
            state=self.state,
            data=self.data if inline is None or self.size <= inline else None,
            size=self.size,
            priority=self.priority,
            enqueued_at=self.enqueued_at,
            attempt=self.attempt,
            claims=self.claims,
            lease_until=self.lease_until,
            due=self.due,
            expires_at=self.expires_at,
            paused=self.paused,
            cancelled=self.cancelled,
            key=self.draft.key,
            reason=self.reason,
            extra=self.draft.extra,
            claimed_at=self.claimed_at,
        )

    def become(self, message: Message) -> None:
        """Be what *message* says, but for the payload, which is what was staged, and the state."""
        self.join_chunks()
        self.draft = Draft(priority=message.priority, key=message.key, extra=message.extra)
        self.priority = message.priority
        self.rank = rank(message.priority, message.id)
        self.enqueued_at = message.enqueued_at
        self.attempt = message.attempt
        self.claims = message.claims
        self.claimed_at = message.claimed_at
        self.due = message.due
        self.expires_at = message.expires_at
        self.paused = message.paused
        self.cancelled = message.cancelled
        self.reason = message.reason

    def join_chunks(self) -> None:
        """Make one payload of what was appended: no more will come."""
        chunks = self.chunks
        self.data = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        chunks.clear()

    def record(self, outcome: Outcome, now: float) -> Record:
        """Return what may be kept of the message, which ends at *now*."""
        return Record(
            id=self.id,
            status=Status.CANCELLED if self.cancelled else outcome.status,
            size=self.size,
            priority=self.priority,
            attempt=self.attempt,
            enqueued_at=self.enqueued_at,
            claimed_at=self.claimed_at,
            finished_at=now,
            key=self.draft.key,
            reason=self.reason,
            extra=self.draft.extra,
            detail=outcome.detail,
        )


class QueueRow:
    """One queue and all that is in it."""

    __slots__ = (
        "acked",
        "ages",
        "buried",
        "children",
        "dead",
        "dead_bytes",
        "delayed",
        "dequeued",
        "enqueued",
        "expired",
        "held",
        "keys",
        "line",
        "messages",
        "nacked",
        "paused",
        "processing",
        "queue",
        "records",
        "set_aside",
        "staged",
        "staged_bytes",
        "unacked_bytes",
        "waiting",
    )

    def __init__(self, queue: Queue) -> None:
        """Start empty."""
        self.queue = queue
        self.children: dict[str, QueueRow] = {}
        self.staged: dict[MessageId, Row] = {}
        #: Pending and processing ones, by id.
        self.messages: dict[MessageId, Row] = {}
        self.dead: dict[MessageId, Row] = {}
        self.records = Records()
        self.line = Line()
        #: For whoever pages: pending ones by rank,
        self.waiting = Shelf(_ranks(self.messages, State.PENDING))
        #: those in processing by rank,
        self.held = Shelf(_ranks(self.messages, State.PROCESSING))
        #: and dead ones by id.
        self.set_aside = Shelf(_ids(self.dead, State.DEAD))
        #: Pending ones by id, whose rank is another.
        self.ages = Shelf(_ids(self.messages, State.PENDING))
        self.keys = Keys()
        self.staged_bytes = 0
        self.unacked_bytes = 0
        self.dead_bytes = 0
        self.processing = 0
        #: Pending ones whose delay is not known to be over, and which are not paused.
        self.delayed = 0
        self.paused = 0
        # totals
        self.enqueued = 0
        self.dequeued = 0
        self.acked = 0
        self.nacked = 0
        self.expired = 0
        self.buried = 0

    def counts(self) -> Counts:
        """Return both counts."""
        return Counts(pending=len(self.messages) - self.processing, processing=self.processing)

    def check_room(self, room: Room, size: int) -> None:
        """Raise `QueueFull` if there is no room for one more message of *size* bytes."""
        if room.messages and len(self.messages) + len(self.staged) >= room.messages:
            raise QueueFull(f"the queue has room for {room.messages} messages")
        if room.bytes:
            self.check_bytes(room, size)

    def check_bytes(self, room: Room, more: int) -> None:
        """Raise `QueueFull` if there is no room for *more* bytes."""
        if self.unacked_bytes + self.staged_bytes + more > room.bytes:
            raise QueueFull(f"the queue has room for {room.bytes} bytes")

    def oldest(self) -> Row | None:
        """Return the pending message of the lowest id."""
        first = self.waiting.page(0, 1)  # what is above 0 and no id is of a lower priority
        found = [self.messages[message_at(place)] for place in first if place <= MAX_MESSAGE_ID]
        found += [self.messages[MessageId(each)] for each in self.ages.page(None, 1)]
        return min(found, key=lambda row: row.id, default=None)

    def stats(self) -> Stats:
        """Return all counts and totals."""
        oldest = self.oldest()
        return Stats(
            pending=len(self.messages) - self.processing,
            processing=self.processing,
            delayed=self.delayed,
            paused=self.paused,
            dead=len(self.dead),
            done=len(self.records),
            unacked_bytes=self.unacked_bytes,
            oldest_pending=None if oldest is None else oldest.enqueued_at,
            enqueued=self.enqueued,
            dequeued=self.dequeued,
            acked=self.acked,
            nacked=self.nacked,
            expired=self.expired,
            buried=self.buried,
        )


def _ranks(rows: dict[MessageId, Row], state: State) -> Callable[[Iterable[int]], list[int]]:
    """Return what finds those ranks among others at which one of *rows* stands in *state*."""
    get = cast("Callable[[int], Row | None]", rows.get)

    def alive(ranks: Iterable[int]) -> list[int]:
        return [
            rank
            for rank in ranks
            if (row := get(rank & ID_BITS)) is not None and row.state is state and row.rank == rank
        ]

    return alive


def _ids(rows: dict[MessageId, Row], state: State) -> Callable[[Iterable[int]], list[int]]:
    """Return what finds those ids among others of which there is one of *rows* in *state*."""
    get = cast("Callable[[int], Row | None]", rows.get)
    return lambda ids: [each for each in ids if (row := get(each)) is not None and row.state is state]
