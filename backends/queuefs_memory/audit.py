"""A look for disagreements in the store."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from queuefs.lifecycle import State
from queuefs.ticket import at_once
from queuefs_memory.places import rank
from queuefs_memory.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuefs_memory.rows import QueueRow, Row


class Audit(Store):
    """`audit` and `repair`."""

    @at_once
    def audit(self) -> Sequence[str]:
        """Return what does not agree."""
        return self._disagreements()

    @at_once
    def repair(self) -> Sequence[str]:
        """Name what does not agree: where nothing is stored, it could only be a bug."""
        return [f"not repaired: {what}" for what in self._disagreements()]

    def _disagreements(self) -> list[str]:
        found = []
        leases, lives, delays = self._leases.noted(), self._lives.noted(), self._delays.noted()
        for number, row in self._queues.items():
            pending, held = _in_state(row, State.PENDING), _in_state(row, State.PROCESSING)
            facts = {
                "is not where its parent has it": self._children(row.queue.parent).get(row.queue.name) is row,
                **_about_messages(row),
                **_about_counts(row),
                **_about_order(row),
                **row.records.disagreements(),
                "has a message in processing without a lease": all((m.lease_until, m) in leases for m in held),
                "has a pending message whose end would be slept over": all(
                    (m.expires_at, m) in lives for m in pending if m.expires_at is not None
                ),
                "has a delayed message whose delay would not end": row.delayed
                == sum((m.due, m) in delays for m in pending),
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
        ),
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
    return {
        "has messages in processing that are not counted": states[State.PROCESSING] == queue.processing,
        "has paused messages that are not counted": sum(m.paused for m in messages) == queue.paused,
        "has another number of bytes": queue.unacked_bytes == sum(len(m.data) for m in messages),
        "has another number of staged bytes": queue.staged_bytes == sum(m.size for m in queue.staged.values()),
        "has another number of dead bytes": queue.dead_bytes == sum(len(m.data) for m in queue.dead.values()),
    }


def _about_order(queue: QueueRow) -> dict[str, bool]:
    """Say of each order in which messages are shown whether it has all of them."""
    pending, held = _in_state(queue, State.PENDING), _in_state(queue, State.PROCESSING)
    oldest = queue.oldest()
    return {
        "has a message of another rank": all(m.rank == rank(m.priority, m.id) for m in queue.messages.values()),
        "does not show all that is pending": sorted(m.rank for m in pending)
        == queue.waiting.page(None, len(pending) + 1),
        "does not show all that is in processing": sorted(m.rank for m in held) == queue.held.page(None, len(held) + 1),
        "does not show all that is dead": sorted(queue.dead) == queue.set_aside.page(None, len(queue.dead) + 1),
        "has an older message than it knows": min((m.id for m in pending), default=None) == (oldest and oldest.id),
    }
