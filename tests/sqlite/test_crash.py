"""A daemon killed at any instant loses nothing that it said was done."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from queuefs.backend import Overdue, Settled
from queuefs.message import ROOT, Counts, Ref, Verdict
from tests.sqlite.steps import NOW, ROOM, inside, new_queue, opened, put, stage

PROGRAM = Path(__file__).with_name("crashing.py")
ROUNDS = 6


def work_until_killed(url: str, lines: int) -> dict[str, set[int]]:
    """Run the program, kill it after so many reports, and return the ids of each verb."""
    with subprocess.Popen([sys.executable, PROGRAM, url], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as daemon:
        assert daemon.stdout is not None
        reports = [daemon.stdout.readline() for _ in range(lines)]
        daemon.send_signal(signal.SIGKILL)
        reports += daemon.stdout.readlines()
    assert daemon.returncode == -signal.SIGKILL
    said = defaultdict(set)
    for verb, message in (line.split() for line in reports):
        said[verb.decode()].add(int(message))
    return said


@pytest.mark.parametrize("durability", ["full", "normal"])
async def test_what_was_said_to_be_done_is_done(url: str, durability: str) -> None:
    url = f"{url}?durability={durability}"
    acked: set[int] = set()
    claimed: set[int] = set()
    buried: set[int] = set()
    staged: set[int] = set()
    for number in range(ROUNDS):
        said = work_until_killed(url, 200 + 97 * number)
        acked |= said["acked"]
        claimed |= said["claimed"]
        buried |= {message for message in said["nacked"] if message % 2 == 0}
        staged |= said["staged"]
        async with opened(url) as backend:
            queue = await backend.find_queue(ROOT, "jobs")
            assert queue is not None
            await backend.tick(now=NOW, limit=1000)
            rows = {message.id for message in (*await backend.snapshot(queue.id), *await backend.dead(queue.id))}
            # Acknowledged is gone, and stored and not acknowledged is there, published or not. Each of the two
            # consumers may have been killed between its ack and its report.
            assert not acked & rows
            missing = staged - acked - rows
            assert len(missing) <= 2
            staged -= missing
            assert not inside(backend).first("staged_after", 0)
            assert buried <= {message.id for message in await backend.dead(queue.id)}
            assert all(payload for payload in await backend.payloads(queue.id, sorted(rows)))
    assert acked
    assert claimed
    assert buried
    assert staged


async def test_a_restart_publishes_what_is_whole_and_drops_what_is_in_part(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        empty = await new_queue(backend, "empty")
        pending = await put(backend, queue, b"pending")
        whole = await stage(backend, queue, b"whole")
        part = await stage(backend, queue, b"part", partial=True)
        lifted = await stage(backend, queue, b"was a part", partial=True)
        await backend.append(queue, lifted, b", is whole", offset=10, partial=False, room=ROOM)
        marked = await stage(backend, queue, b"was whole")
        await backend.append(queue, marked, b"", offset=9, partial=True, room=ROOM)
        assert await backend.counts(queue) == Counts(pending=1, processing=0)
        assert not await backend.claim(empty, count=1, lease=1.0, lifo=False, now=1.0)
    async with opened(url) as backend:
        own = await stage(backend, queue, b"of this daemon")
        assert (await backend.tick(now=NOW, limit=1)).adopted == [(queue, whole)]
        rest = await backend.tick(now=NOW, limit=9)
        assert (rest.adopted, rest.next_due) == ([(queue, lifted)], None)
        await backend.discard(queue, own)
        messages = await backend.peek(queue, count=9, lifo=False, now=NOW)
        assert [message.id for message in messages] == [pending, whole, lifted]
        assert messages[2].data == b"was a part, is whole"
        assert await backend.unacked_bytes(queue) == sum(message.size for message in messages)
        assert await put(backend, queue) > max(part, marked)


async def test_leases_and_claims_outlive_a_restart(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        message = await put(backend, queue)
        (claimed,) = await backend.claim(queue, count=1, lease=50.0, lifo=False, now=1000.0)
    async with opened(url) as backend:
        assert await backend.snapshot(queue) == [replace(claimed, data=None)]
        assert (await backend.tick(now=1049.0, limit=9)).next_due == 1.0
        overdue = Overdue(queue=queue, receipt=claimed.receipt, attempt=1, cancelled=False)
        assert (await backend.tick(now=1050.0, limit=9)).overdue == [overdue]
        verdict = Verdict(ref=Ref(message))
        assert await backend.expire(queue, [verdict], now=1049.0) == [Settled.STALE]
        assert await backend.expire(queue, [verdict], now=1050.0) == [Settled.DONE]


async def test_numbers_are_never_used_again(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        message = await put(backend, queue)
        await backend.clear(queue)
        await backend.remove_queue(queue)
    async with opened(url) as backend:
        other = await new_queue(backend)
        assert other > queue
        assert await put(backend, other) > message
