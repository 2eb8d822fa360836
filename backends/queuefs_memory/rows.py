"""What the memory back end is made of: a message's row and a queue's row."""

from __future__ import annotations

import heapq
from collections import deque
from typing import TYPE_CHECKING

from queuefs.lifecycle import State
from queuefs.message import Counts, Message, Stats
from queuefs_memory.keys import Keys
from queuefs_memory.line import Line

if TYPE_CHECKING:
    from queuefs.message import Draft, MessageId, Queue

#: Ids of messages that are not pending any more may stay among the ages until there are this many, and twice as many
#: as there are messages.
_STALE_AGES = 1024

_PENDING = State.PENDING


class Row:
    """One message as it is kept; callers get a `Message` made from it."""

    __slots__ = (
        "attempt",
        "cancelled",
        "chunks",
        "claims",
        "data",
        "draft",
        "due",
        "enqueued_at",
        "expires_at",
        "id",
        "lease_until",
        "listed",
        "paused",
        "place",
        "priority",
        "queue",
        "ready",
        "reason",
        "size",
        "state",
    )

    #: In its queue's line, set by it; lower is handed out first.
    place: tuple[int, int]

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
        self.priority = draft.priority
        self.enqueued_at = now
        self.attempt = 0
        self.claims = 0
        self.lease_until: float | None = None
        self.due: float | None = None
        self.expires_at: float | None = None
        self.paused = False
        self.cancelled = False
        self.reason: str | None = None
        #: It has an entry in its queue's line,
        self.listed = False
        #: and can be handed out.
        self.ready = False

    def message(self, *, payload: bool = True) -> Message:
        """Return the message as it stands."""
        return Message(
            id=self.id,
            state=self.state,
            data=self.data if payload else None,
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
        )


class Ages:
    """Which of a queue's pending messages is the oldest; it keeps ids, so that no payload is held for it."""

    __slots__ = ("_heap", "limit", "news")

    def __init__(self) -> None:
        """Start empty."""
        #: Messages that became pending since somebody asked: to note one costs no more than this.
        self.news: deque[MessageId] = deque()
        #: As many news as there may be before `sweep` has to be called.
        self.limit = _STALE_AGES
        self._heap: list[MessageId] = []

    def sweep(self, messages: dict[MessageId, Row]) -> None:
        """Forget those that are not pending any more; *messages* are all there are."""
        self.news.clear()
        self._heap = sorted(row.id for row in messages.values() if row.state is _PENDING)
        self.limit = _STALE_AGES + 2 * len(messages)

    def oldest(self, messages: dict[MessageId, Row]) -> Row | None:
        """Return the oldest of *messages* that is pending."""
        heap = self._heap
        if self.news:
            heap += self.news
            self.news.clear()
            heapq.heapify(heap)  # mostly in order already, and then it only looks
        while heap:
            row = messages.get(heap[0])
            if row is not None and row.state is _PENDING:
                return row
            heapq.heappop(heap)
        return None


class QueueRow:
    """One queue and all that is in it."""

    __slots__ = (
        "acked",
        "ages",
        "buried",
        "children",
        "dead",
        "delayed",
        "dequeued",
        "enqueued",
        "expired",
        "keys",
        "line",
        "messages",
        "nacked",
        "paused",
        "processing",
        "queue",
        "staged",
        "staged_bytes",
        "unacked_bytes",
    )

    def __init__(self, queue: Queue) -> None:
        """Start empty."""
        self.queue = queue
        self.children: dict[str, QueueRow] = {}
        self.staged: dict[MessageId, Row] = {}
        #: Pending and processing ones, by id.
        self.messages: dict[MessageId, Row] = {}
        self.dead: dict[MessageId, Row] = {}
        self.line = Line()
        self.ages = Ages()
        self.keys = Keys()
        self.staged_bytes = 0
        self.unacked_bytes = 0
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

    def stats(self) -> Stats:
        """Return all counts and totals."""
        oldest = self.ages.oldest(self.messages)
        return Stats(
            pending=len(self.messages) - self.processing,
            processing=self.processing,
            delayed=self.delayed,
            paused=self.paused,
            dead=len(self.dead),
            unacked_bytes=self.unacked_bytes,
            oldest_pending=None if oldest is None else oldest.enqueued_at,
            enqueued=self.enqueued,
            dequeued=self.dequeued,
            acked=self.acked,
            nacked=self.nacked,
            expired=self.expired,
            buried=self.buried,
        )
