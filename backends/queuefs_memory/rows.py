"""What the memory back end is made of: a message's row, the line of pending ones, and the leases."""

from __future__ import annotations

import heapq
from collections import deque
from itertools import chain, islice
from typing import TYPE_CHECKING

from queuefs.lifecycle import State
from queuefs.message import Counts, Message, MessageId

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuefs.message import Queue

#: Leases that are over stay in the heap until there are this many, and more than live ones.
_DEAD_LEASES = 64


class Row:
    """One message as it is kept; callers get a `Message` made from it."""

    __slots__ = (
        "attempt",
        "chunks",
        "claims",
        "data",
        "enqueued_at",
        "id",
        "lease_until",
        "place",
        "priority",
        "queue",
        "size",
        "state",
    )

    def __init__(self, id: MessageId, queue: QueueRow, data: bytes, priority: int, now: float) -> None:  # noqa: A002 - as in Message
        """Begin a staged message."""
        self.id = id
        self.queue = queue
        self.state = State.STAGED
        #: What has been appended so far; joined when it is published.
        self.chunks = [data]
        self.data = b""
        self.size = len(data)
        self.priority = priority
        #: Lower is handed out first.
        self.place = (-priority, id)
        self.enqueued_at = now
        self.attempt = 0
        self.claims = 0
        self.lease_until: float | None = None

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
        )


class Line:
    """Pending messages in the order of their places.

    Nearly all come in order: they stand in a deque, which is several times as quick as a heap. Whoever belongs before
    its last one (a higher priority, or pending again) goes to a heap, and the first is the lower of both heads. A
    message leaves from the front alone, so nothing is ever deleted within.
    """

    __slots__ = ("_in_order", "_others")

    def __init__(self) -> None:
        """Start empty."""
        self._in_order: deque[Row] = deque()
        self._others: list[tuple[tuple[int, int], Row]] = []

    def __len__(self) -> int:
        return len(self._in_order) + len(self._others)

    def add(self, row: Row) -> None:
        """Put *row* at its place."""
        if not self._in_order or self._in_order[-1].place < row.place:
            self._in_order.append(row)
        else:
            heapq.heappush(self._others, (row.place, row))

    def pop(self) -> Row:
        """Take the first out; there must be one."""
        if self._others and (not self._in_order or self._others[0][0] < self._in_order[0].place):
            return heapq.heappop(self._others)[1]
        return self._in_order.popleft()

    def first(self, count: int) -> Sequence[Row]:
        """Return the first *count*, in order."""
        if count == 1:  # what nearly everybody asks for; the general way reads the whole heap
            heads = [*islice(self._in_order, 1), *(row for _, row in islice(self._others, 1))]
            return [min(heads, key=_place)] if heads else []
        rows = chain(islice(self._in_order, count), (row for _, row in self._others))
        return heapq.nsmallest(count, rows, key=_place)

    def rows(self) -> Sequence[Row]:
        """Return all, in no order."""
        return [*self._in_order, *(row for _, row in self._others)]

    def clear(self) -> None:
        """Forget all."""
        self._in_order.clear()
        self._others.clear()


def _place(row: Row) -> tuple[int, int]:
    return row.place


class Leases:
    """The leases of all queues by when they end.

    A lease that is over earlier than it said (acked, extended...) stays behind as a dead entry, known by its time not
    being its row's any more; when the dead outnumber the live ones they are swept out.
    """

    __slots__ = ("_heap", "live")

    def __init__(self) -> None:
        """Start with none."""
        self._heap: list[tuple[float, int, Row]] = []
        #: How many messages are under a lease.
        self.live = 0

    def start(self, row: Row, until: float) -> None:
        """Note that *row* came under a lease, or that its lease starts anew."""
        if row.lease_until is None:
            self.live += 1
        row.lease_until = until
        heapq.heappush(self._heap, (until, row.id, row))
        if len(self._heap) > _DEAD_LEASES + 2 * self.live:
            # by id, for a lease that started anew at the same moment has two entries that look alive
            self._heap = list({entry[1]: entry for entry in self._heap if entry[2].lease_until == entry[0]}.values())
            heapq.heapify(self._heap)

    def end(self, row: Row) -> None:
        """Note that *row* is under a lease no more."""
        row.lease_until = None
        self.live -= 1

    def first(self) -> Row | None:
        """Return the row whose lease ends next."""
        while self._heap:
            until, _, row = self._heap[0]
            if row.lease_until == until:
                return row
            heapq.heappop(self._heap)
        return None

    def holds(self, row: Row) -> bool:
        """Say whether the end of *row*'s lease would be noticed."""
        return (row.lease_until, row.id, row) in self._heap


class QueueRow:
    """One queue and all that is in it."""

    __slots__ = ("children", "line", "messages", "processing", "queue", "staged", "unacked_bytes")

    def __init__(self, queue: Queue) -> None:
        """Start empty."""
        self.queue = queue
        self.children: dict[str, QueueRow] = {}
        self.staged: dict[MessageId, Row] = {}
        #: Pending and processing ones, by id.
        self.messages: dict[MessageId, Row] = {}
        self.line = Line()
        self.processing = 0
        self.unacked_bytes = 0

    def counts(self) -> Counts:
        """Return both counts."""
        return Counts(pending=len(self.messages) - self.processing, processing=self.processing)
