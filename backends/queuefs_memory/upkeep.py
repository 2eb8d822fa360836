"""Upkeep: what is due, the clock mark, and a look for disagreements."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from queuefs.backend import Overdue, Tick
from queuefs.lifecycle import State
from queuefs.message import Ref
from queuefs.ticket import at_once
from queuefs_memory.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queuefs.backend import Transition
    from queuefs.clock import ClockMark
    from queuefs.message import MessageId, QueueId
    from queuefs_memory.rows import QueueRow, Row


class Upkeep(Store):
    """`tick` to `audit`."""

    @at_once
    def tick(self, *, now: float, limit: int) -> Tick:
        """Do what is due, and report whose lease is over."""
        rows, next_end = self._leases.look(now, limit)
        lapsed: list[tuple[QueueId, MessageId]] = []
        while len(lapsed) < limit and (row := self._lives.pop(now)) is not None:
            self._remove_pending(row)
            lapsed.append((row.queue.queue.id, row.id))
        for _ in range(limit):
            if (row := self._delays.pop(now)) is None:
                break
            self._ripen_one(row)
        ripe, self._ripe = list(self._ripe), {}
        for queue in self._queues.values():
            queue.keys.forget(now)
        moments = [at for at in (next_end, self._lives.next_at(), self._delays.next_at()) if at is not None]
        return Tick(
            overdue=[
                Overdue(
                    queue=row.queue.queue.id,
                    receipt=Ref(row.id, row.claims),
                    attempt=row.attempt,
                    cancelled=row.cancelled,
                )
                for row in rows
            ],
            lapsed=lapsed,
            ripe=ripe,
            adopted=[],
            next_due=max(0.0, min(moments) - now) if moments else None,
        )

    def listen(self, heard: Callable[[Sequence[Transition]], None]) -> None:
        """Hear nothing: nobody else has this store."""

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
            facts = {
                "is not where its parent has it": self._children(row.queue.parent).get(row.queue.name) is row,
                **_about_messages(row),
                **_about_counts(row),
                "has a message in processing without a lease": all(
                    self._leases.holds(m, m.lease_until) for m in _in_state(row, State.PROCESSING)
                ),
                "has a pending message whose end would be slept over": all(
                    self._lives.holds(m, m.expires_at) for m in _in_state(row, State.PENDING) if m.expires_at
                ),
                "has a delayed message whose delay would not end": row.delayed
                == sum(self._delays.holds(m, m.due) for m in _in_state(row, State.PENDING)),
            }
            found += [f"queue {number} {what}" for what, holds in facts.items() if not holds]
        rows = self._queues.values()
        if len(self._leases) != sum(row.processing for row in rows):
            found.append("there are leases of messages that are not in processing")
        if len(self._delays) != sum(row.delayed for row in rows):
            found.append("there are delays of messages that are not delayed")
        if len(self._lives) != sum(m.expires_at is not None for row in rows for m in _in_state(row, State.PENDING)):
            found.append("there are ends of messages that are not pending")
        return found


def _in_state(queue: QueueRow, state: State) -> Sequence[Row]:
    return [row for row in queue.messages.values() if row.state is state]


def _about_messages(queue: QueueRow) -> dict[str, bool]:
    """Say of each message whether it is where its state wants it."""
    messages = queue.messages.values()
    in_line = queue.line.rows()
    pending = _in_state(queue, State.PENDING)
    return {
        "has an unacknowledged message in another state": all(
            m.state in {State.PENDING, State.PROCESSING} for m in messages
        ),
        "has a staged message in another state": all(m.state is State.STAGED for m in queue.staged.values()),
        "has a dead message in another state": all(m.state is State.DEAD for m in queue.dead.values()),
        "hands out what it may not": all(
            queue.messages.get(m.id) is m and m.state is State.PENDING and not m.paused for m in in_line
        )
        and len(in_line) == len({m.id for m in in_line}),
        # one whose time is over is out of line before it is gone, and one with a delay comes back to it in time
        "has a message that will never be handed out": {
            m.id for m in pending if not m.paused and m.due is None and m.expires_at is None
        }
        <= {m.id for m in in_line},
        "has a cancelled message that is not in processing": all(
            m.state is State.PROCESSING or not m.cancelled for m in messages
        ),
        "has keys of others": queue.keys.held() == {(m.draft.key, m.id) for m in messages if m.draft.key is not None},
    }


def _about_counts(queue: QueueRow) -> dict[str, bool]:
    """Say of each count whether it is right."""
    messages = queue.messages.values()
    states = Counter(m.state for m in messages)
    oldest = min((m.id for m in messages if m.state is State.PENDING), default=None)
    found = queue.ages.oldest(queue.messages)
    return {
        "has messages in processing that are not counted": states[State.PROCESSING] == queue.processing,
        "has paused messages that are not counted": sum(m.paused for m in messages) == queue.paused,
        "has another number of bytes": queue.unacked_bytes == sum(len(m.data) for m in messages),
        "has another number of staged bytes": queue.staged_bytes == sum(m.size for m in queue.staged.values()),
        "has an older message than it knows": oldest == (None if found is None else found.id),
    }
