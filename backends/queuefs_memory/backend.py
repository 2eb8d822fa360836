"""The memory back end: every call is done when it returns, on the trio thread, so each is atomic by itself."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from queuefs.backend import Settled, Tick, Traits
from queuefs.errors import (
    BadValue,
    IdsExhausted,
    MessageNotFound,
    QueueBusy,
    QueueExists,
    QueueNotEmpty,
    QueueNotFound,
    StoreUnusable,
)
from queuefs.lifecycle import State
from queuefs.message import MAX_MESSAGE_ID, ROOT, Counts, Message, MessageId, Owner, Queue, QueueId, Ref
from queuefs.registry import redacted
from queuefs.ticket import at_once
from queuefs_memory.structures import Leases, QueueRow, Row

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from queuefs.backend import Backend
    from queuefs.clock import ClockMark

# Read once: an attribute of an enum class costs as much as the rest of a short method.
_PENDING = State.PENDING
_PROCESSING = State.PROCESSING
_DONE = Settled.DONE
_UNKNOWN = Settled.UNKNOWN
_STALE = Settled.STALE


@asynccontextmanager
async def open_backend(url: str) -> AsyncIterator[Backend]:
    """Open a store of its own for ``memory:``, which knows no options."""
    rest = url.removeprefix("memory:")
    if rest:
        raise StoreUnusable(f"the back end is called memory: and takes nothing else (got {redacted(rest)})")
    yield MemoryBackend()


class MemoryBackend:
    """A store in memory; the model that the others are compared with."""

    def __init__(self) -> None:
        """Start without queues."""
        self.traits = Traits(durable=False, shared=False, instant=True, server_time=False)
        self._queues: dict[QueueId, QueueRow] = {}
        self._top: dict[str, QueueRow] = {}
        self._leases = Leases()
        self._last_queue = 0
        self._last_id = 0
        self._clock: ClockMark | None = None

    # Queues -----------------------------------------------------------------------------------------------------------

    @at_once
    def find_queue(self, parent: QueueId, name: str) -> Queue | None:
        """Return the child *name* of *parent*."""
        found = self._children(parent).get(name)
        return None if found is None else found.queue

    @at_once
    def get_queue(self, queue: QueueId) -> Queue:
        """Return a queue by its number."""
        return self._queue(queue).queue

    @at_once
    def children(self, parent: QueueId) -> Sequence[Queue]:
        """Return the queues directly below *parent*; code point order is the order of the names' UTF-8 bytes."""
        return [row.queue for _, row in sorted(self._children(parent).items())]

    @at_once
    def create_queue(self, parent: QueueId, name: str, *, owner: Owner, now: float) -> Queue:
        """Create an empty queue."""
        siblings = self._place(parent)
        if name in siblings:
            raise QueueExists(f"there is a queue {name!r} already")
        self._last_queue += 1
        number = QueueId(self._last_queue)
        queue = Queue(id=number, parent=parent, name=name, owner=owner, created_at=now)
        siblings[name] = self._queues[number] = QueueRow(queue)
        return queue

    @at_once
    def remove_queue(self, queue: QueueId) -> None:
        """Remove a queue that is empty."""
        row = self._queue(queue)
        if row.children or row.messages:
            raise QueueNotEmpty
        if row.staged:
            raise QueueBusy
        del self._children(row.queue.parent)[row.queue.name]
        del self._queues[queue]

    @at_once
    def rename_queue(self, queue: QueueId, *, parent: QueueId, name: str) -> None:
        """Give a queue another place and name."""
        row = self._queue(queue)
        siblings = self._place(parent)
        above = parent
        while above != ROOT:
            if above == queue:
                raise BadValue("a queue can't be moved into itself")
            above = self._queues[above].queue.parent
        if siblings.get(name, row) is not row:
            raise QueueExists(f"there is a queue {name!r} already")
        del self._children(row.queue.parent)[row.queue.name]
        row.queue = replace(row.queue, parent=parent, name=name)
        siblings[name] = row

    @at_once
    def set_owner(self, queue: QueueId, owner: Owner) -> None:
        """Change who owns a queue."""
        row = self._queue(queue)
        row.queue = replace(row.queue, owner=owner)

    def _queue(self, queue: QueueId) -> QueueRow:
        try:
            return self._queues[queue]
        except KeyError:
            raise QueueNotFound from None

    def _place(self, parent: QueueId) -> dict[str, QueueRow]:
        """Return the children of *parent*, which must exist."""
        return self._top if parent == ROOT else self._queue(parent).children

    def _children(self, parent: QueueId) -> dict[str, QueueRow]:
        """Return the children of *parent*; none if there is no parent."""
        return self._place(parent) if parent == ROOT or parent in self._queues else {}

    # Writing ----------------------------------------------------------------------------------------------------------

    @at_once
    def stage(self, queue: QueueId, data: bytes, *, partial: bool, priority: int, now: float) -> MessageId:  # noqa: ARG002 - a mark for after a crash, which nothing here survives
        """Store the beginning of a message."""
        row = self._queue(queue)
        if self._last_id >= MAX_MESSAGE_ID:
            raise IdsExhausted
        self._last_id += 1
        number = MessageId(self._last_id)
        row.staged[number] = Row(number, row, data, priority, now)
        return number

    @at_once
    def append(self, queue: QueueId, message: MessageId, data: bytes, *, offset: int, partial: bool) -> None:  # noqa: ARG002 - as above
        """Add to a staged message."""
        row = self._queue(queue).staged.get(message)
        if row is None:
            raise MessageNotFound(f"message {message} is not being written")
        if offset != row.size:
            raise BadValue(f"message {message} has {row.size} bytes, so byte {offset} can't be next")
        row.chunks.append(data)
        row.size += len(data)

    @at_once
    def publish(self, queue: QueueId, message: MessageId) -> None:
        """Make a staged message pending."""
        target = self._queue(queue)
        row = target.staged.pop(message, None)
        if row is None:
            return
        row.data = b"".join(row.chunks)
        row.chunks.clear()
        row.state = _PENDING
        target.messages[message] = row
        target.line.add(row)
        target.unacked_bytes += row.size

    @at_once
    def discard(self, queue: QueueId, message: MessageId) -> None:
        """Remove a staged message."""
        self._queue(queue).staged.pop(message, None)

    # Reading and settling ---------------------------------------------------------------------------------------------

    @at_once
    def claim(self, queue: QueueId, *, count: int, lease: float, now: float) -> Sequence[Message]:
        """Move the first pending messages to processing."""
        source = self._queue(queue)
        claimed = []
        for _ in range(min(count, len(source.line))):
            row = source.line.pop()
            row.state = _PROCESSING
            row.attempt += 1
            row.claims += 1
            source.processing += 1
            self._leases.start(row, now + lease)
            claimed.append(row.message())
        return claimed

    @at_once
    def undo(self, queue: QueueId, refs: Sequence[Ref]) -> Sequence[Settled]:
        """Take claims back."""
        return self._settle(queue, refs, self._undo)

    @at_once
    def ack(self, queue: QueueId, refs: Sequence[Ref]) -> Sequence[Settled]:
        """Remove messages in processing."""
        return self._settle(queue, refs, self._remove)

    @at_once
    def nack(self, queue: QueueId, refs: Sequence[Ref]) -> Sequence[Settled]:
        """Make messages in processing pending again."""
        return self._settle(queue, refs, self._put_back)

    @at_once
    def extend(self, queue: QueueId, refs: Sequence[Ref], *, lease: float, now: float) -> Sequence[Settled]:
        """Let leases start anew."""
        return self._settle(queue, refs, lambda row: self._leases.start(row, now + lease))

    @at_once
    def check(self, queue: QueueId, refs: Sequence[Ref]) -> Sequence[Settled]:
        """Return what `ack` would answer, which of two refs to one message acks the first."""
        acked: set[MessageId] = set()
        answers = self._settle(queue, refs, lambda _: None)
        for place, (ref, answer) in enumerate(zip(refs, answers, strict=True)):
            if ref.id in acked:
                answers[place] = _UNKNOWN
            elif answer is _DONE:
                acked.add(ref.id)
        return answers

    @at_once
    def clear(self, queue: QueueId) -> Counts:
        """Remove all pending and processing messages."""
        source = self._queue(queue)
        counts = source.counts()
        for row in source.messages.values():
            if row.state is _PROCESSING:
                self._leases.end(row)
        source.messages.clear()
        source.line.clear()
        source.processing = 0
        source.unacked_bytes = 0
        return counts

    def _settle(self, queue: QueueId, refs: Sequence[Ref], act: Callable[[Row], None]) -> list[Settled]:
        messages = self._queue(queue).messages
        answers = []
        for ref in refs:
            row = messages.get(ref.id)
            if row is None:
                answers.append(_UNKNOWN)
            elif row.state is not _PROCESSING or (ref.claim is not None and ref.claim != row.claims):
                answers.append(_STALE)
            else:
                act(row)
                answers.append(_DONE)
        return answers

    def _remove(self, row: Row) -> None:
        source = row.queue
        del source.messages[row.id]
        source.processing -= 1
        source.unacked_bytes -= row.size
        self._leases.end(row)

    def _put_back(self, row: Row) -> None:
        row.state = _PENDING
        row.queue.processing -= 1
        row.queue.line.add(row)
        self._leases.end(row)

    def _undo(self, row: Row) -> None:
        row.attempt -= 1
        self._put_back(row)

    # Looking ----------------------------------------------------------------------------------------------------------

    @at_once
    def counts(self, queue: QueueId) -> Counts:
        """Return both counts."""
        return self._queue(queue).counts()

    @at_once
    def peek(self, queue: QueueId, *, count: int) -> Sequence[Message]:
        """Return the first pending messages."""
        return [row.message() for row in self._queue(queue).line.first(count)]

    @at_once
    def unacked_bytes(self, queue: QueueId) -> int:
        """Return the sum of the payload sizes."""
        return self._queue(queue).unacked_bytes

    @at_once
    def snapshot(self, queue: QueueId) -> Sequence[Message]:
        """Return all unacknowledged messages in order, without payloads."""
        rows = sorted(self._queue(queue).messages.values(), key=lambda row: row.place)
        return [row.message(payload=False) for row in rows]

    @at_once
    def payloads(self, queue: QueueId, messages: Sequence[MessageId]) -> Sequence[bytes | None]:
        """Return the payloads of unacknowledged messages."""
        known = self._queue(queue).messages
        return [row.data if (row := known.get(message)) else None for message in messages]

    # Upkeep -----------------------------------------------------------------------------------------------------------

    @at_once
    def tick(self, *, now: float, limit: int) -> Tick:
        """End the leases that are over."""
        expired: list[tuple[QueueId, MessageId]] = []
        next_due = None
        while (row := self._leases.first()) is not None:
            assert row.lease_until is not None  # it stands in the leases
            if row.lease_until > now or len(expired) >= limit:
                next_due = max(0.0, row.lease_until - now)
                break
            self._put_back(row)
            expired.append((row.queue.queue.id, row.id))
        return Tick(expired=expired, adopted=[], next_due=next_due)

    @at_once
    def load_clock(self) -> ClockMark | None:
        """Return the mark that was saved last."""
        return self._clock

    @at_once
    def save_clock(self, mark: ClockMark) -> None:
        """Keep *mark*."""
        self._clock = mark

    @at_once
    def audit(self) -> Sequence[str]:
        """Return what does not agree."""
        found = []
        for number, row in self._queues.items():
            states = [message.state for message in row.messages.values()]
            waiting = row.line.rows()
            facts = {
                "is not where its parent has it": self._children(row.queue.parent).get(row.queue.name) is row,
                "has messages in processing that are not counted": states.count(_PROCESSING) == row.processing,
                "has pending messages out of line": len(waiting) == states.count(_PENDING)
                and all(row.messages.get(message.id) is message for message in waiting),
                "has another number of bytes": row.unacked_bytes == sum(len(m.data) for m in row.messages.values()),
                "has a staged message in another state": all(m.state is State.STAGED for m in row.staged.values()),
                "has a message in processing without a lease": all(
                    self._leases.holds(m) for m in row.messages.values() if m.state is _PROCESSING
                ),
            }
            found += [f"queue {number} {what}" for what, holds in facts.items() if not holds]
        if self._leases.live != sum(row.processing for row in self._queues.values()):
            found.append("there are leases of messages that are not in processing")
        return found
