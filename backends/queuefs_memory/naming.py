"""Verbs that name messages whoever holds them: pausing and cancelling, and what can be done with the dead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs.backend import Settled
from queuefs.lifecycle import State
from queuefs.ticket import at_once
from queuefs_memory.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queuefs.message import MessageId, QueueId
    from queuefs_memory.rows import Row


class Naming(Store):
    """`pause` to `drop`."""

    @at_once
    def pause(self, queue: QueueId, messages: Sequence[MessageId]) -> Sequence[Settled]:
        """Keep pending messages from being handed out."""
        return self._each_unacked(queue, messages, self._pause)

    @at_once
    def resume(self, queue: QueueId, messages: Sequence[MessageId]) -> Sequence[Settled]:
        """Let paused messages be handed out again."""
        return self._each_unacked(queue, messages, self._resume)

    @at_once
    def cancel(self, queue: QueueId, messages: Sequence[MessageId]) -> Sequence[Settled]:
        """Remove pending messages, mark those in processing."""
        return self._each_unacked(queue, messages, self._cancel)

    @at_once
    def retry(self, queue: QueueId, messages: Sequence[MessageId] | None, *, now: float) -> Sequence[Settled]:  # noqa: ARG002 - nothing here depends on the time
        """Make dead messages pending."""
        return self._each_dead(queue, messages, self._retry)

    @at_once
    def drop(self, queue: QueueId, messages: Sequence[MessageId] | None) -> Sequence[Settled]:
        """Remove dead messages."""
        return self._each_dead(queue, messages, lambda _: None)

    def _each_unacked(
        self, queue: QueueId, messages: Sequence[MessageId], act: Callable[[Row], Settled]
    ) -> list[Settled]:
        known = self._queue(queue).messages
        return [act(row) if (row := known.get(message)) else Settled.UNKNOWN for message in messages]

    def _pause(self, row: Row) -> Settled:
        if row.state is not State.PENDING:
            return Settled.STALE
        if not row.paused:
            self._step_aside(row)
            row.paused = True
            row.queue.paused += 1
        return Settled.DONE

    def _resume(self, row: Row) -> Settled:
        if row.state is not State.PENDING:
            return Settled.STALE
        if row.paused:
            row.paused = False
            row.queue.paused -= 1
            self._wait(row)
        return Settled.DONE

    def _cancel(self, row: Row) -> Settled:
        if row.state is State.PENDING:
            self._remove_pending(row)
        else:
            row.cancelled = True
        return Settled.DONE

    def _each_dead(
        self, queue: QueueId, messages: Sequence[MessageId] | None, act: Callable[[Row], None]
    ) -> list[Settled]:
        source = self._queue(queue)
        answers = []
        for message in sorted(source.dead) if messages is None else messages:
            row = source.dead.pop(message, None)
            if row is not None:
                act(row)
                answers.append(Settled.DONE)
            else:
                answers.append(Settled.STALE if message in source.messages else Settled.UNKNOWN)
        return answers

    def _retry(self, row: Row) -> None:
        row.attempt = 0
        row.due = row.expires_at = None
        queue = row.queue
        queue.messages[row.id] = row
        queue.unacked_bytes += row.size
        if row.draft.key is not None:
            queue.keys.hold(row.draft.key, row.id)
        self._wait(row)
