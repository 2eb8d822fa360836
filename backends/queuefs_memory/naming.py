"""Verbs that name messages whoever holds them: pausing, cancelling and burying, and what can be done with the dead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs.backend import SUCCEEDED, Settled
from queuefs.lifecycle import State
from queuefs.ticket import at_once
from queuefs_memory.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queuefs.message import MessageId, QueueId, Retention
    from queuefs_memory.rows import Row


class Naming(Store):
    """`pause` to `prune`."""

    @at_once
    def pause(self, queue: QueueId, messages: Sequence[MessageId]) -> Sequence[Settled]:
        """Keep pending messages from being handed out."""
        return self._each_unacked(queue, messages, self._pause_one)

    @at_once
    def resume(self, queue: QueueId, messages: Sequence[MessageId]) -> Sequence[Settled]:
        """Let paused messages be handed out again."""
        return self._each_unacked(queue, messages, self._resume_one)

    @at_once
    def cancel(
        self, queue: QueueId, messages: Sequence[MessageId], *, now: float, keep: Retention | None = None
    ) -> Sequence[Settled]:
        """End pending messages, mark those in processing."""
        self._told(queue, keep)

        def act(row: Row) -> Settled:
            row.cancelled = True
            if row.state is State.PENDING:
                self._stop_waiting(row)
                self._done(row, SUCCEEDED, now, keep)
            return Settled.DONE

        return self._each_unacked(queue, messages, act)

    @at_once
    def bury(self, queue: QueueId, messages: Sequence[MessageId], *, reason: str | None = None) -> Sequence[Settled]:
        """Make pending messages dead."""

        def act(row: Row) -> Settled:
            if row.state is not State.PENDING:
                return Settled.STALE
            if reason is not None:
                row.reason = reason
            self._stop_waiting(row)
            row.due = None
            row.paused = False
            row.queue.buried += 1
            self._leave(row)
            self._die(row)
            return Settled.DONE

        return self._each_unacked(queue, messages, act)

    @at_once
    def retry(self, queue: QueueId, messages: Sequence[MessageId] | None, *, now: float) -> Sequence[Settled]:  # noqa: ARG002 - nothing here depends on the time
        """Make dead messages pending."""
        return self._each_dead(queue, messages, self._retry)

    @at_once
    def drop(self, queue: QueueId, messages: Sequence[MessageId] | None) -> Sequence[Settled]:
        """Remove dead messages."""

        def act(row: Row) -> None:
            row.data = b""  # what is left of it may still be met where it stood in line

        return self._each_dead(queue, messages, act)

    @at_once
    def prune(self, queue: QueueId, messages: Sequence[MessageId] | None) -> Sequence[Settled]:
        """Remove records."""
        records = self._queue(queue).records
        if messages is None:
            messages = records.all()
        return [Settled.DONE if records.prune(message) else Settled.UNKNOWN for message in messages]

    def _each_unacked(
        self, queue: QueueId, messages: Sequence[MessageId], act: Callable[[Row], Settled]
    ) -> list[Settled]:
        known = self._queue(queue).messages
        return [act(row) if (row := known.get(message)) else Settled.UNKNOWN for message in messages]

    def _pause_one(self, row: Row) -> Settled:
        if row.state is not State.PENDING:
            return Settled.STALE
        if not row.paused:
            self._pause(row)
        return Settled.DONE

    def _resume_one(self, row: Row) -> Settled:
        if row.state is not State.PENDING:
            return Settled.STALE
        if row.paused:
            row.paused = False
            row.queue.paused -= 1
            self._wait(row)
        return Settled.DONE

    def _each_dead(
        self, queue: QueueId, messages: Sequence[MessageId] | None, act: Callable[[Row], None]
    ) -> list[Settled]:
        source = self._queue(queue)
        answers = []
        for message in sorted(source.dead) if messages is None else messages:
            row = source.dead.pop(message, None)
            if row is not None:
                source.dead_bytes -= row.size
                act(row)
                answers.append(Settled.DONE)
            else:
                answers.append(Settled.STALE if message in source.messages else Settled.UNKNOWN)
        return answers

    def _retry(self, row: Row) -> None:
        row.attempt = 0
        row.due = row.expires_at = None
        self._join(row)
        self._wait(row)
