"""The state of the mount in the text format of Prometheus: what `.queuefs/metrics` shows."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, InfoMetricFamily
from prometheus_client.registry import Collector

import queuefs
from queuefs.errors import QueueNotFound
from queuefs.measuring import BOUNDS
from queuefs.message import ROOT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator, Sequence

    from prometheus_client import Metric

    from queuefs.backend import Backend
    from queuefs.clock import Clock
    from queuefs.measuring import Measurements
    from queuefs.message import QueueId, Stats
    from queuefs.tree import Tree
    from queuefs.waiting import Waiting

#: Bounds of what a line has beside the queue's path, and of all that is not about a queue, bytes.
_LINE_BYTES = 96
_DAEMON_BYTES = 256 * 1024

#: Queues whose stats are asked for together.
TOGETHER = 200

_GAUGES = {
    "pending": "Messages not handed out yet.",
    "processing": "Messages handed out and not settled.",
    "delayed": "Pending messages that are not due.",
    "paused": "Pending messages that are paused.",
    "dead": "Messages set aside.",
    "done": "Records kept of messages that are done.",
    "unacked_bytes": "Payload bytes of pending and processing messages.",
}
_COUNTERS = {
    "enqueued": "Messages published.",
    "dequeued": "Messages handed out; an undone claim is taken back.",
    "acked": "Messages acknowledged.",
    "nacked": "Messages given back.",
    "expired": "Leases that ended.",
    "buried": "Messages set aside as dead.",
}


class QueueStats(NamedTuple):
    """One queue at the time of a scrape."""

    path: str
    stats: Stats


class Metrics:
    """Makes the text."""

    def __init__(
        self, backend: Backend, tree: Tree, clock: Clock, waiting: Waiting, measurements: Measurements
    ) -> None:
        """Tell of the queues of *tree*, of who is *waiting*, and of what was measured."""
        self._backend = backend
        self._tree = tree
        self._clock = clock
        self._waiting = waiting
        self._measurements = measurements

    async def bound(self) -> int:
        """Return a number of bytes that `text` does not pass, without asking for anybody's stats."""
        lines = len(_GAUGES) + 1 + len(_COUNTERS)
        paths = [len(path.encode()) for path, _ in await self._paths()]
        # An escaped character takes two; the rest of a line is its name, a label and a number.
        return lines * sum(2 * length + _LINE_BYTES for length in paths) + _DAEMON_BYTES

    async def text(self) -> bytes:
        """Return all metrics as of now."""
        queues = [one async for one in self._queues()]
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Families([*self._about_queues(queues), *self._about_daemon()]))
        return generate_latest(registry)

    async def _queues(self) -> AsyncIterator[QueueStats]:
        paths = await self._paths()
        for first in range(0, len(paths), TOGETHER):
            tickets = [(path, self._backend.stats(queue)) for path, queue in paths[first : first + TOGETHER]]
            for path, ticket in tickets:
                stats = await _if_there(ticket)
                if stats is not None:
                    yield QueueStats(path, stats)

    async def _paths(self) -> Sequence[tuple[str, QueueId]]:
        """Return the path of each queue with its number, parents before their children."""
        found: list[tuple[str, QueueId]] = []
        level: list[tuple[str, QueueId]] = [("", ROOT)]
        while level:
            level = [
                (f"{path}/{child.name}" if path else child.name, child.id)
                for path, queue in level
                for child in await self._tree.children(queue)
            ]
            found += level
        return found

    def _about_queues(self, queues: Sequence[QueueStats]) -> Iterator[Metric]:
        for name, sentence in _GAUGES.items():
            gauge = GaugeMetricFamily(f"queuefs_{name}", sentence, labels=["queue"])
            for one in queues:
                gauge.add_metric([one.path], getattr(one.stats, name))
            yield gauge
        oldest = GaugeMetricFamily(
            "queuefs_oldest_pending_seconds", "Age of the oldest pending message.", labels=["queue"]
        )
        now = self._clock.now()
        for one in queues:
            if one.stats.oldest_pending is not None:
                oldest.add_metric([one.path], max(0.0, now - one.stats.oldest_pending))
        yield oldest
        for name, sentence in _COUNTERS.items():
            counter = CounterMetricFamily(f"queuefs_{name}", sentence, labels=["queue"])
            for one in queues:
                counter.add_metric([one.path], getattr(one.stats, name))
            yield counter

    def _about_daemon(self) -> Iterator[Metric]:
        yield InfoMetricFamily("queuefs", "This daemon.", value={"version": queuefs.__version__})
        yield GaugeMetricFamily(
            "queuefs_waiting", "Programs blocked in a read or write until something happens.", value=len(self._waiting)
        )
        histogram = HistogramMetricFamily(
            "queuefs_backend_call_seconds", "Calls on the back end, from the call to its answer.", labels=["call"]
        )
        for name, latency in self._measurements.latencies.items():
            sums = [str(float(bound)) for bound in BOUNDS]
            buckets = list(zip([*sums, "+Inf"], accumulate(latency.counts), strict=True))
            histogram.add_metric([name], buckets, latency.sum)
        yield histogram
        errors = CounterMetricFamily("queuefs_backend_errors", "Calls that failed.", labels=["call", "error"])
        for labels, count in sorted(self._measurements.errors.items()):
            errors.add_metric(labels, count)
        yield errors


class _Families(Collector):
    """Metrics that are made already."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


async def _if_there(ticket: Awaitable[Stats]) -> Stats | None:
    """Return the stats; None for a queue that was removed meanwhile."""
    try:
        return await ticket
    except QueueNotFound:
        return None
