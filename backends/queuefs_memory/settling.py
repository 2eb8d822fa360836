"""Settling claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs.backend import SUCCEEDED, Settled
from queuefs.lifecycle import State
from queuefs.ticket import at_once
from queuefs_memory.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queuefs.message import Counts, MessageId, Outcome, QueueId, Ref, Retention, Verdict
    from queuefs_memory.rows import QueueRow, Row

_PROCESSING = State.PROCESSING
_DONE = Settled.DONE
_UNKNOWN = Settled.UNKNOWN
_STALE = Settled.STALE


class Settling(Store):
    """`undo` to `clear`."""

    @at_once
    def undo(
        self, queue: QueueId, refs: Sequence[Ref], *, now: float, keep: Retention | None = None
    ) -> Sequence[Settled]:
        """Take claims back."""

        def act(row: Row) -> Settled:
            row.attempt -= 1
            row.queue.dequeued -= 1
            self._stop(row)
            if row.cancelled:
                self._done(row, SUCCEEDED, now, keep)
            else:
                self._wait(row)
            return _DONE

        return self._settle(self._told(queue, keep), refs, act)

    @at_once
    def ack(
        self,
        queue: QueueId,
        refs: Sequence[Ref],
        *,
        now: float,
        keep: Retention | None = None,
        outcome: Outcome = SUCCEEDED,
    ) -> Sequence[Settled]:
        """Settle messages in processing for good."""
        source = self._told(queue, keep)
        answers = []
        for ref in refs:  # written out, for it is one half of what a worker asks for
            row = source.messages.get(ref.id)
            if row is None:
                answers.append(_UNKNOWN)
            elif row.state is not _PROCESSING or (ref.claim is not None and ref.claim != row.claims):
                answers.append(_STALE)
            else:
                source.acked += 1
                self._stop(row)
                self._done(row, outcome, now, keep)
                answers.append(_DONE)
        return answers

    @at_once
    def nack(
        self, queue: QueueId, verdicts: Sequence[Verdict], *, now: float, keep: Retention | None = None
    ) -> Sequence[Settled]:
        """Make messages in processing pending again, or dead."""

        def act(row: Row, verdict: Verdict) -> Settled:
            row.queue.nacked += 1
            return self._put_back(row, verdict, now, keep)

        return self._judge(self._told(queue, keep), verdicts, act)

    @at_once
    def expire(
        self, queue: QueueId, verdicts: Sequence[Verdict], *, now: float, keep: Retention | None = None
    ) -> Sequence[Settled]:
        """As `nack`, for messages whose lease is over."""

        def act(row: Row, verdict: Verdict) -> Settled:
            if row.lease_until is None or row.lease_until > now:
                return _STALE
            row.queue.expired += 1
            return self._put_back(row, verdict, now, keep)

        return self._judge(self._told(queue, keep), verdicts, act)

    @at_once
    def extend(self, queue: QueueId, refs: Sequence[Ref], *, lease: float, now: float) -> Sequence[Settled]:
        """Let leases start anew."""

        def act(row: Row) -> Settled:
            row.lease_until = now + lease
            self._leases.start(row, row.lease_until)
            return Settled.CANCELLED if row.cancelled else _DONE

        return self._settle(self._queue(queue), refs, act)

    @at_once
    def check(self, queue: QueueId, refs: Sequence[Ref]) -> Sequence[Settled]:
        """Return what `ack` would answer, which of two refs to one message acks the first."""
        acked: set[MessageId] = set()
        answers = self._settle(self._queue(queue), refs, lambda _: _DONE)
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
            else:
                self._stop_waiting(row)
            self._go(row)
        for shelf in (source.waiting, source.held, source.ages):
            shelf.clear()
        return counts

    def _settle(self, queue: QueueRow, refs: Sequence[Ref], act: Callable[[Row], Settled]) -> list[Settled]:
        messages = queue.messages
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
        self, queue: QueueRow, verdicts: Sequence[Verdict], act: Callable[[Row, Verdict], Settled]
    ) -> list[Settled]:
        answers: list[Settled] = []
        for verdict in verdicts:
            answers += self._settle(queue, [verdict.ref], lambda row, verdict=verdict: act(row, verdict))  # type: ignore[misc]
        return answers

    def _put_back(self, row: Row, verdict: Verdict, now: float, keep: Retention | None) -> Settled:
        self._stop(row)
        if verdict.reason is not None:
            row.reason = verdict.reason
        if row.cancelled:
            self._done(row, SUCCEEDED, now, keep)
        elif verdict.dead:
            row.queue.buried += 1
            self._leave(row)
            self._die(row)
        else:
            if verdict.delay:
                row.due = now + verdict.delay
            self._wait(row)
        return _DONE
