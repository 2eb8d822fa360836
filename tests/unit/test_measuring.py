"""What is noted of the back end's calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from queuefs.errors import BackendUnavailable, QueueFull
from queuefs.measuring import BOUNDS, Latency, Measurements, measured
from queuefs.message import ROOT, Counts, Draft, Owner, QueueId, Room
from queuefs.ticket import at_once
from queuefs_memory import MemoryBackend

if TYPE_CHECKING:
    from queuefs.backend import Backend


class Failing(MemoryBackend):
    """Can't be reached when it shall clear."""

    @at_once
    def clear(self, queue: QueueId) -> Counts:
        raise BackendUnavailable(f"queue {queue} is out of reach")


def test_a_time_is_counted_where_it_belongs() -> None:
    latency = Latency()
    for seconds in (0.0, BOUNDS[0], BOUNDS[0] * 1.01, 1e6):
        latency.note(seconds)

    assert latency.counts[:2] == [2, 1]
    assert latency.counts[-1] == 1
    assert sum(latency.counts) == 4
    assert latency.sum == pytest.approx(1e6, abs=1)


async def test_calls_do_what_they_did_and_are_counted() -> None:
    measurements = Measurements()
    backend = measured(cast("Backend", MemoryBackend()), measurements)

    with pytest.raises(LookupError):
        await backend.stats(QueueId(7))

    assert backend.traits.instant
    assert sum(measurements.latencies["stats"].counts) == 1
    assert not measurements.errors


async def test_failures_of_the_back_end_are_counted_by_kind() -> None:
    measurements = Measurements()
    backend = measured(cast("Backend", Failing()), measurements)

    with pytest.raises(BackendUnavailable):
        await backend.clear(QueueId(1))
    assert measurements.errors == {("clear", "BackendUnavailable"): 1}


async def test_a_refusal_is_no_failure() -> None:

    measurements = Measurements()
    backend = measured(cast("Backend", MemoryBackend()), measurements)
    queue = await backend.create_queue(ROOT, "q", owner=Owner(uid=0, gid=0, mode=0o755), now=0.0)
    with pytest.raises(QueueFull):
        await backend.stage(queue.id, b"xx", draft=Draft(), room=Room(messages=0, bytes=1), partial=False, now=0.0)
    assert not measurements.errors
