"""Puts messages and records into a store, many at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from queuefs.errors import BadValue
from queuefs.lifecycle import State
from queuefs.message import Draft, MessageId, QueueId, Record, Room, Status
from queuefs.transfer.fields import PIECE_BYTES
from queuefs.transfer.flight import Flight
from queuefs.transfer.messages import GoneLine, MessageLine, PieceLine, RecordLine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuefs.backend import Backend
    from queuefs.clock import Clock
    from queuefs.message import Message
    from queuefs.transfer.lines import Line
    from queuefs.transfer.places import Place
    from queuefs.transfer.terms import Imported, Terms

#: So many messages are looked up at a time.
BATCH = 256

#: What was let in once is let in again, whatever the config says.
_ANY = Room()
_PLAIN = Draft()

#: Why a message is dead whose payload the export could not have whole; said to whoever looks at it.
DAMAGED = "its payload was damaged before it was moved here; this is what could be read of it"


@dataclass
class _Open:
    """A message whose pieces come."""

    text: str
    number: MessageId
    #: What is there already of that id.
    there: Message | Record | None
    size: int = 0


class Restoring:
    """Restores what it is given; calls are made in that order, and awaited later."""

    def __init__(self, backend: Backend, clock: Clock, terms: Terms, imported: Imported, *, ahead: float) -> None:
        """Write to *backend*; *ahead* is by how much the wall clock is, of the store's time."""
        self._backend = backend
        self._clock = clock
        self._terms = terms
        self._imported = imported
        self._ahead = ahead
        self._flight = Flight()
        self._open: _Open | None = None
        #: Messages that wait to be looked up, since some may be there already; all of one queue.
        self._batch: list[tuple[MessageLine, MessageId]] = []
        self._batch_place: Place | None = None
        self._batch_bytes = 0
        #: Messages that were staged and are not restored.
        self._staged: dict[MessageId, QueueId] = {}

    @property
    def open(self) -> MessageId | None:
        """The message whose pieces come, None if there is none."""
        return None if self._open is None else self._open.number

    def check_place(self, line: Line) -> None:
        """Refuse a line that can't stand among the pieces of a message.

        Raises:
            BadValue: it can't.
        """
        begun = self._open
        if begun is None:
            if isinstance(line, GoneLine) or (isinstance(line, PieceLine) and line.at):
                raise BadValue(f"the first piece of message {line.id} did not come before")
            if isinstance(line, MessageLine) and line.size:
                raise BadValue(f"the pieces of message {line.id} did not come before")
        elif not isinstance(line, MessageLine | PieceLine | GoneLine) or line.id != begun.text:
            raise BadValue(f"the pieces of message {begun.text} came, and it does not follow")
        elif isinstance(line, PieceLine) and line.at != begun.size:
            raise BadValue(f"message {line.id}: byte {begun.size} should be next, and it is {line.at}")
        elif isinstance(line, MessageLine) and line.size != begun.size:
            raise BadValue(f"message {line.id}: {begun.size} bytes came, and it should have {line.size}")

    async def piece(self, place: Place, line: PieceLine, number: MessageId) -> None:
        """Take a piece of the payload of a message whose line comes later."""
        begun = self._open
        if begun is None:
            await self.flush()
            (there,) = await self._what_is_there(place, [number])
            begun = self._open = _Open(line.id, number, there)
            if self._writes(place, there):
                await self._stage(place, number, line.data_base64)
        elif self._writes(place, begun.there):
            assert place.queue is not None
            answer = self._backend.append(
                place.queue, number, line.data_base64, offset=begun.size, partial=True, room=_ANY
            )
            await self._flight.add(answer, f"message {line.id}", weight=len(line.data_base64))
        begun.size += len(line.data_base64)

    async def gone(self, place: Place) -> None:
        """Drop the message whose pieces came."""
        assert self._open is not None  # `check_place` saw to it
        begun, self._open = self._open, None
        if self._writes(place, begun.there):
            await self._drop(place, begun.number)

    async def message(self, place: Place, line: MessageLine, number: MessageId) -> None:
        """Take a message."""
        begun, self._open = self._open, None
        if begun is None:
            self._batch.append((line, number))
            self._batch_place = place
            self._batch_bytes += len(line.payload or b"")
            if len(self._batch) >= BATCH or self._batch_bytes >= PIECE_BYTES:
                await self.flush()
        elif begun.there is not None:
            self._skip(line, begun.size, begun.there)
        else:
            await self._restore(place, line, number, begun.size)

    async def record(self, place: Place, line: RecordLine, number: MessageId) -> None:
        """Take a record."""
        if self._writes(place, None):
            await self._keep(place, line.record(number, ahead=self._ahead))
        else:
            self._count_record()

    async def flush(self) -> None:
        """Begin with all that was taken."""
        batch, self._batch, self._batch_bytes = self._batch, [], 0
        place = self._batch_place
        if not batch or place is None:
            return
        there = await self._what_is_there(place, [number for _, number in batch])
        for (line, number), known in zip(batch, there, strict=True):
            data = line.payload or b""
            if known is not None:
                self._skip(line, len(data), known)
                continue
            if self._writes(place, None):
                await self._stage(place, number, data)
            await self._restore(place, line, number, len(data))

    async def finish(self) -> None:
        """Wait until all that was taken is there."""
        await self.flush()
        await self._flight.land()

    async def abandon(self) -> None:
        """Wait for what is under way, and leave no message in part."""
        self._batch.clear()
        await self._flight.wind_up()
        for number, queue in list(self._staged.items()):
            await self._flight.add(self._backend.discard(queue, number), f"message {number}")
        await self._flight.wind_up()  # what can't be taken back now, is by the first daemon: it is marked as partial

    def _writes(self, place: Place, there: Message | Record | None) -> bool:
        return there is None and place.queue is not None and not self._terms.dry_run

    async def _what_is_there(self, place: Place, messages: Sequence[MessageId]) -> Sequence[Message | Record | None]:
        """Return what an import that was broken off has left of *messages*, or has been done with it since."""
        if not self._terms.resume or place.queue is None:
            return [None] * len(messages)
        found = await self._backend.find(place.queue, messages)
        records = await self._backend.find_records(place.queue, messages, now=self._clock.now())
        return [message or record for message, record in zip(found, records, strict=True)]

    def _skip(self, line: MessageLine, size: int, there: Message | Record) -> None:
        if (there.size, there.priority, there.key) != (size, line.priority, line.key):
            raise BadValue(f"message {line.id} is another one here: this is not what was begun with the export")
        self._imported.skipped += 1

    async def _stage(self, place: Place, number: MessageId, data: bytes) -> None:
        assert place.queue is not None
        if self._terms.resume:  # a part of it may be left
            await self._drop(place, number)
        self._staged[number] = place.queue
        answer = self._backend.stage(
            place.queue, data, draft=_PLAIN, room=_ANY, partial=True, now=self._clock.now(), message=number
        )
        await self._flight.add(answer, f"message {number}", weight=len(data))

    async def _drop(self, place: Place, number: MessageId) -> None:
        assert place.queue is not None
        self._staged.pop(number, None)
        await self._flight.add(self._backend.discard(place.queue, number), f"message {number}")

    async def _restore(self, place: Place, line: MessageLine, number: MessageId, size: int) -> None:
        message = line.message(number, size, ahead=self._ahead)
        if line.damaged:
            message = replace(
                message, state=State.DEAD, lease_until=None, due=None, paused=False, cancelled=False, reason=DAMAGED
            )
        elif self._terms.release and message.state is State.PROCESSING:
            if message.cancelled:
                await self._end(place, message)
                return
            message = replace(message, state=State.PENDING, lease_until=None)

        def done() -> None:
            self._staged.pop(number, None)
            self._imported.messages += 1
            self._imported.bytes += size
            self._imported.damaged += line.damaged

        if not self._writes(place, None):
            done()
            return
        assert place.queue is not None
        await self._flight.add(self._backend.restore(place.queue, message), f"message {number}", done=done)

    async def _end(self, place: Place, message: Message) -> None:
        """End a message that was cancelled while somebody held it, as when its holder lets it go."""
        record = Record(
            id=message.id,
            status=Status.CANCELLED,
            size=message.size,
            priority=message.priority,
            attempt=message.attempt,
            enqueued_at=message.enqueued_at,
            claimed_at=message.claimed_at,
            finished_at=self._clock.now(),
            key=message.key,
            reason=message.reason,
            extra=message.extra,
            detail=b"",
        )
        if not self._writes(place, None):
            self._count_record()
            return
        await self._drop(place, message.id)
        await self._keep(place, record)

    async def _keep(self, place: Place, record: Record) -> None:
        assert place.queue is not None
        answer = self._backend.restore_record(place.queue, record, keep=place.keep)
        await self._flight.add(answer, f"record {record.id}", done=self._count_record)

    def _count_record(self) -> None:
        self._imported.records += 1
