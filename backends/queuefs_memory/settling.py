"""Claiming messages and settling the claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs.backend import Settled
from queuefs.lifecycle import State
from queuefs.ticket import at_once
from queuefs_memory.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queuefs.message import Counts, Message, MessageId, QueueId, Ref, Verdict
    from queuefs_memory.line import Line
    from queuefs_memory.rows import QueueRow, Row

_PROCESSING = State.PROCESSING
_DONE = Settled.DONE
_UNKNOWN = Settled.UNKNOWN
_STALE = Settled.STALE


class Settling(Store):
    """`claim` to `clear`."""

    @at_once
    def claim(self, queue: QueueId, *, count: int, lease: float, lifo: bool, now: float) -> Sequence[Message]:
        """Move the first messages that can be handed out to processing."""
        source = self._queue(queue)
        claimed: list[Message] = []
        line = self._line(source, lifo=lifo, now=now)
        while len(claimed) < count and (row := line.pop()) is not None:
            if row.expires_at is not None:
                if row.expires_at <= now:
                    continue  # it needs no place in line any more: the next tick removes it
                self._lives.end(row)
            row.state = _PROCESSING
            row.attempt += 1
            row.claims += 1
            row.due = None
            row.lease_until = until = now + lease
            self._leases.start(row, until)
            claimed.append(row.message())
        source.processing += len(claimed)
        source.dequeued += len(claimed)
        return claimed

    @at_once
    def peek(self, queue: QueueId, *, count: int, lifo: bool, now: float) -> Sequence[Message]:
        """Return what would be claimed; it is taken out of line and put back to where it stood."""
        source = self._queue(queue)
        line = self._line(source, lifo=lifo, now=now)
        rows: list[Row] = []
        while len(rows) < count and (row := line.pop()) is not None:
            if row.expires_at is None or row.expires_at > now:
                rows.append(row)
        for row in reversed(rows):
            line.add(row)
        return [row.message() for row in rows]

    def _line(self, source: QueueRow, *, lifo: bool, now: float) -> Line:
        """Return the line as it stands at *now*; messages whose life is over may still be in it."""
        if self._delays.any_due(now):
            self._ripen(now)
        line = source.line
        if line.lifo is not lifo:
            line.turn(lifo=lifo)
        return line

    @at_once
    def undo(self, queue: QueueId, refs: Sequence[Ref]) -> Sequence[Settled]:
        """Take claims back."""
        return self._settle(queue, refs, self._undo)

    @at_once
    def ack(self, queue: QueueId, refs: Sequence[Ref]) -> Sequence[Settled]:
        """Remove messages in processing."""
        return self._settle(queue, refs, self._ack)

    @at_once
    def nack(self, queue: QueueId, verdicts: Sequence[Verdict], *, now: float) -> Sequence[Settled]:
        """Make messages in processing pending again, or dead."""

        def act(row: Row, verdict: Verdict) -> Settled:
            row.queue.nacked += 1
            return self._put_back(row, verdict, now)

        return self._judge(queue, verdicts, act)

    @at_once
    def expire(self, queue: QueueId, verdicts: Sequence[Verdict], *, now: float) -> Sequence[Settled]:
        """As `nack`, for messages whose lease is over."""

        def act(row: Row, verdict: Verdict) -> Settled:
            if row.lease_until is None or row.lease_until > now:
                return _STALE
            row.queue.expired += 1
            return self._put_back(row, verdict, now)

        return self._judge(queue, verdicts, act)

    @at_once
    def extend(self, queue: QueueId, refs: Sequence[Ref], *, lease: float, now: float) -> Sequence[Settled]:
        """Let leases start anew."""

        def act(row: Row) -> Settled:
            row.lease_until = now + lease
            self._leases.start(row, row.lease_until)
            return Settled.CANCELLED if row.cancelled else _DONE

        return self._settle(queue, refs, act)

    @at_once
    def check(self, queue: QueueId, refs: Sequence[Ref]) -> Sequence[Settled]:
        """Return what `ack` would answer, which of two refs to one message acks the first."""
        acked: set[MessageId] = set()
        answers = self._settle(queue, refs, lambda _: _DONE)
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
        for row in list(source.messages.values()):
            if row.state is _PROCESSING:
                self._stop(row)
                self._leave(row)
            else:
                self._remove_pending(row)
        return counts

    def _settle(self, queue: QueueId, refs: Sequence[Ref], act: Callable[[Row], Settled]) -> list[Settled]:
        messages = self._queue(queue).messages
        answers = []
        for ref in refs:
            row = messages.get(ref.id)
            if row is None:
                answers.append(_UNKNOWN)
            elif row.state is not _PROCESSING or (ref.claim is not None and ref.claim != row.claims):
                answers.append(_STALE)
            else:
                answers.append(act(row))
        return answers

    def _judge(
        self, queue: QueueId, verdicts: Sequence[Verdict], act: Callable[[Row, Verdict], Settled]
    ) -> list[Settled]:
        self._queue(queue)  # which has to be there for none, too
        answers: list[Settled] = []
        for verdict in verdicts:
            answers += self._settle(queue, [verdict.ref], lambda row, verdict=verdict: act(row, verdict))  # type: ignore[misc]
        return answers

    def _ack(self, row: Row) -> Settled:
        row.queue.acked += 1
        self._stop(row)
        self._leave(row)
        return _DONE

    def _undo(self, row: Row) -> Settled:
        row.attempt -= 1
        row.queue.dequeued -= 1
        self._stop(row)
        if row.cancelled:
            self._leave(row)
        else:
            self._wait(row)
        return _DONE

    def _put_back(self, row: Row, verdict: Verdict, now: float) -> Settled:
        self._stop(row)
        if verdict.reason is not None:
            row.reason = verdict.reason
        if row.cancelled:
            self._leave(row)
        elif verdict.dead:
            self._bury(row)
        else:
            if verdict.delay:
                row.due = now + verdict.delay
            self._wait(row)
        return _DONE
