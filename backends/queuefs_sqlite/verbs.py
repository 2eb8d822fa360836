"""The part of the contract that changes messages, handed over to the writer thread."""

from __future__ import annotations

from functools import partial as bind
from typing import TYPE_CHECKING

from queuefs.backend import SUCCEEDED
from queuefs.ticket import Answer
from queuefs_sqlite import moving, naming, reading, records, settling, tree, writing
from queuefs_sqlite.calls import Calls

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from queuefs.backend import Settled
    from queuefs.message import (
        Counts,
        Draft,
        Message,
        MessageId,
        Outcome,
        QueueId,
        Record,
        Ref,
        Retention,
        Room,
        Verdict,
    )


class Verbs(Calls):
    """`stage` to `prune`."""

    # Writing ------------------------------------------------------------------------------------------------------

    def stage(
        self,
        queue: QueueId,
        data: bytes,
        *,
        draft: Draft,
        room: Room,
        partial: bool,
        now: float,
        message: MessageId | None = None,
    ) -> Awaitable[MessageId]:
        """See `Backend.stage`."""
        act = bind(
            writing.stage,
            queue=queue,
            data=data,
            draft=draft,
            room=room,
            partial=partial,
            now=now,
            message=message,
        )
        return self._grow(queue, act, weight=len(data) + len(draft.extra))

    def append(
        self, queue: QueueId, message: MessageId, data: bytes, *, offset: int, partial: bool, room: Room
    ) -> Awaitable[None]:
        """See `Backend.append`."""
        act = bind(writing.append, queue=queue, message=message, data=data, offset=offset, partial=partial, room=room)
        return self._grow(queue, act, weight=len(data)) if data else self._write(queue, act)

    def publish(self, queue: QueueId, message: MessageId, *, now: float, window: float) -> Awaitable[MessageId]:
        """See `Backend.publish`."""
        return self._write(queue, lambda store: writing.publish(store, queue, message, now=now, window=window))

    def find_key(self, queue: QueueId, key: str, *, now: float, window: float) -> Awaitable[MessageId | None]:
        """See `Backend.find_key`."""
        return self._look(lambda store: writing.find_key(store, queue, key, now=now, window=window))

    def restore(self, queue: QueueId, message: Message) -> Awaitable[None]:
        """See `Backend.restore`."""
        return self._write(queue, lambda store: moving.restore(store, queue, message))

    def restore_record(self, queue: QueueId, record: Record, *, keep: Retention) -> Awaitable[None]:
        """See `Backend.restore_record`."""
        act = bind(records.restore_record, queue=queue, record=record, keep=keep)
        return self._grow(queue, act, weight=len(record.extra) + len(record.detail))

    def discard(self, queue: QueueId, message: MessageId) -> Awaitable[None]:
        """See `Backend.discard`."""
        return self._write(queue, lambda store: writing.discard(store, queue, message))

    # Reading and settling -------------------------------------------------------------------------------------------

    def claim(
        self, queue: QueueId, *, count: int, lease: float, lifo: bool, now: float, inline: int | None = None
    ) -> Awaitable[Sequence[Message]]:
        """See `Backend.claim`."""
        account = self._account(queue)
        if account is not None and account.pending == account.paused:
            return Answer(())  # what a polling consumer meets most of the time
        act = bind(reading.claim, queue=queue, count=count, lease=lease, lifo=lifo, now=now, inline=inline)
        return self._write(queue, act)

    def take(
        self, queue: QueueId, messages: Sequence[MessageId], *, lease: float, now: float
    ) -> Awaitable[Sequence[Settled]]:
        """See `Backend.take`."""
        return self._write(queue, lambda store: reading.take(store, queue, messages, lease=lease, now=now))

    def undo(
        self, queue: QueueId, refs: Sequence[Ref], *, now: float, keep: Retention | None = None
    ) -> Awaitable[Sequence[Settled]]:
        """See `Backend.undo`."""
        return self._write(queue, lambda store: settling.undo(store, queue, refs, now=now, keep=keep))

    def ack(
        self,
        queue: QueueId,
        refs: Sequence[Ref],
        *,
        now: float,
        keep: Retention | None = None,
        outcome: Outcome = SUCCEEDED,
    ) -> Awaitable[Sequence[Settled]]:
        """See `Backend.ack`."""
        return self._write(queue, lambda store: settling.ack(store, queue, refs, now=now, keep=keep, outcome=outcome))

    def nack(
        self, queue: QueueId, verdicts: Sequence[Verdict], *, now: float, keep: Retention | None = None
    ) -> Awaitable[Sequence[Settled]]:
        """See `Backend.nack`."""
        return self._write(queue, lambda store: settling.nack(store, queue, verdicts, now=now, keep=keep))

    def expire(
        self, queue: QueueId, verdicts: Sequence[Verdict], *, now: float, keep: Retention | None = None
    ) -> Awaitable[Sequence[Settled]]:
        """See `Backend.expire`."""
        return self._write(queue, lambda store: settling.expire(store, queue, verdicts, now=now, keep=keep))

    def extend(self, queue: QueueId, refs: Sequence[Ref], *, lease: float, now: float) -> Awaitable[Sequence[Settled]]:
        """See `Backend.extend`."""
        return self._write(queue, lambda store: settling.extend(store, queue, refs, lease=lease, now=now))

    def check(self, queue: QueueId, refs: Sequence[Ref]) -> Awaitable[Sequence[Settled]]:
        """See `Backend.check`."""
        return self._look(lambda store: settling.check(store, queue, refs))

    def clear(self, queue: QueueId) -> Awaitable[Counts]:
        """See `Backend.clear`."""
        return self._write(queue, lambda store: tree.clear(store, queue))

    # By name --------------------------------------------------------------------------------------------------------

    def pause(self, queue: QueueId, messages: Sequence[MessageId]) -> Awaitable[Sequence[Settled]]:
        """See `Backend.pause`."""
        return self._write(queue, lambda store: naming.pause(store, queue, messages))

    def resume(self, queue: QueueId, messages: Sequence[MessageId]) -> Awaitable[Sequence[Settled]]:
        """See `Backend.resume`."""
        return self._write(queue, lambda store: naming.resume(store, queue, messages))

    def cancel(
        self, queue: QueueId, messages: Sequence[MessageId], *, now: float, keep: Retention | None = None
    ) -> Awaitable[Sequence[Settled]]:
        """See `Backend.cancel`."""
        return self._write(queue, lambda store: naming.cancel(store, queue, messages, now=now, keep=keep))

    def bury(
        self, queue: QueueId, messages: Sequence[MessageId], *, reason: str | None = None
    ) -> Awaitable[Sequence[Settled]]:
        """See `Backend.bury`."""
        return self._write(queue, lambda store: naming.bury(store, queue, messages, reason=reason))

    def move(self, queue: QueueId, message: MessageId, *, target: QueueId, room: Room) -> Awaitable[Settled]:
        """See `Backend.move`."""
        return self._write(None, lambda store: moving.move(store, queue, message, target=target, room=room))

    def retry(
        self,
        queue: QueueId,
        messages: Sequence[MessageId] | None,
        *,
        now: float,  # noqa: ARG002 - the contract's; nothing is due later
    ) -> Awaitable[Sequence[Settled]]:
        """See `Backend.retry`."""
        return self._write(queue, lambda store: naming.retry(store, queue, messages))

    def drop(self, queue: QueueId, messages: Sequence[MessageId] | None) -> Awaitable[Sequence[Settled]]:
        """See `Backend.drop`."""
        return self._write(queue, lambda store: naming.drop(store, queue, messages))

    def prune(self, queue: QueueId, messages: Sequence[MessageId] | None) -> Awaitable[Sequence[Settled]]:
        """See `Backend.prune`."""
        return self._write(queue, lambda store: records.prune(store, queue, messages))
