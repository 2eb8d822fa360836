"""Handing messages out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs.backend import Settled
from queuefs.lifecycle import State
from queuefs.ticket import at_once
from queuefs_memory.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuefs.message import Message, MessageId, QueueId
    from queuefs_memory.line import Line
    from queuefs_memory.rows import QueueRow, Row

_PENDING = State.PENDING


class Claiming(Store):
    """`claim`, `take` and `peek`."""

    @at_once
    def claim(
        self, queue: QueueId, *, count: int, lease: float, lifo: bool, now: float, inline: int | None = None
    ) -> Sequence[Message]:
        """Move the first messages that can be handed out to processing."""
        source = self._queue(queue)
        claimed: list[Message] = []
        line = self._line(source, lifo=lifo, now=now)
        while len(claimed) < count and (row := line.pop()) is not None:
            if row.expires_at is not None:
                if row.expires_at <= now:
                    continue  # it needs no place in line any more: the next tick removes it
                self._lives.end(row)
            self._hand_out(row, lease, now)
            claimed.append(row.message(inline))
        source.processing += len(claimed)
        source.dequeued += len(claimed)
        return claimed

    @at_once
    def take(self, queue: QueueId, messages: Sequence[MessageId], *, lease: float, now: float) -> Sequence[Settled]:
        """Claim messages by name."""
        source = self._queue(queue)
        answers = []
        for message in messages:
            row = source.messages.get(message)
            if row is None or (row.state is _PENDING and row.expires_at is not None and row.expires_at <= now):
                answers.append(Settled.UNKNOWN)
            elif row.state is not _PENDING or row.paused:
                answers.append(Settled.STALE)
            else:
                self._step_aside(row)
                if row.expires_at is not None:
                    self._lives.end(row)
                self._hand_out(row, lease, now)
                source.processing += 1
                source.dequeued += 1
                answers.append(Settled.DONE)
        return answers

    def _hand_out(self, row: Row, lease: float, now: float) -> None:
        """Let *row*, which is out of line, be claimed; to count it is the caller's."""
        row.attempt += 1
        row.claims += 1
        row.due = None
        row.claimed_at = now
        self._hold(row, now + lease)

    @at_once
    def peek(
        self, queue: QueueId, *, count: int, lifo: bool, now: float, inline: int | None = None
    ) -> Sequence[Message]:
        """Return what would be claimed; it is taken out of line and put back to where it stood."""
        source = self._queue(queue)
        line = self._line(source, lifo=lifo, now=now)
        rows: list[Row] = []
        while len(rows) < count and (row := line.pop()) is not None:
            if row.expires_at is None or row.expires_at > now:
                rows.append(row)
        for row in reversed(rows):
            line.add(row)
        return [row.message(inline) for row in rows]

    def _line(self, source: QueueRow, *, lifo: bool, now: float) -> Line:
        """Return the line as it stands at *now*; messages whose life is over may still be in it."""
        if self._delays.any_due(now):
            self._ripen(now)
        line = source.line
        if line.lifo is not lifo:
            line.turn(lifo=lifo)
        return line
