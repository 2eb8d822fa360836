"""Upkeep: what is due, the clock mark, and what room there is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from queuefs.backend import Overdue, Tick
from queuefs.message import MessageId, Ref, Space
from queuefs.ticket import at_once
from queuefs_memory.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queuefs.backend import Transition
    from queuefs.clock import ClockMark
    from queuefs.message import QueueId

_AVAILABLE = re.compile(r"^MemAvailable: *([0-9]+) kB$", re.MULTILINE)


class Upkeep(Store):
    """`tick` to `last_id`."""

    @at_once
    def tick(self, *, now: float, limit: int) -> Tick:
        """Do what is due, and report whose lease is over."""
        rows, next_end = self._leases.look(now, limit)
        lapsed: list[tuple[QueueId, MessageId]] = []
        while len(lapsed) < limit and (row := self._lives.pop(now)) is not None:
            self._stop_waiting(row)
            self._go(row)
            lapsed.append((row.queue.queue.id, row.id))
        for _ in range(limit):
            if (row := self._delays.pop(now)) is None:
                break
            self._ripen_one(row)
        ripe, self._ripe = list(self._ripe), {}
        terminated: list[tuple[QueueId, MessageId]] = []
        ends = [next_end, self._lives.next_at(), self._delays.next_at()]
        for number, queue in self._queues.items():
            queue.keys.forget(now)
            terminated += [(number, each) for each in queue.records.drop(now, limit - len(terminated))]
            ends.append(queue.records.next_at())
        moments = [at for at in ends if at is not None]
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
            terminated=terminated,
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
    def space(self) -> Space:
        """Return how many bytes payloads take up, and the memory that is there for more."""
        found = _AVAILABLE.search(Path("/proc/meminfo").read_text())
        assert found is not None  # Linux has had it since 3.14
        queues = self._queues.values()
        return Space(
            used=sum(queue.staged_bytes + queue.unacked_bytes + queue.dead_bytes for queue in queues),
            free=1024 * int(found[1]),
            messages=sum(len(queue.messages) for queue in queues),
        )

    @at_once
    def last_id(self) -> MessageId | None:
        """Return the highest id that was given."""
        return MessageId(self._last_id) if self._last_id else None
