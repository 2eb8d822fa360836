"""A daemon that was killed is known to be dead at once on its own machine; elsewhere when it has been silent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import redis

from queuefs_redis.places import has_ended, this_place
from tests.redis.stores import connect, die, look, new_prefix, new_queue, stage

if TYPE_CHECKING:
    from tests.support.redis_server import RedisServer

_DAEMON = """
import sys, trio
from tests.redis.stores import begin, connect

async def main(port, prefix, queue):
    async with connect(port, prefix) as backend:
        await begin(backend, queue, b"whole")
        await begin(backend, queue, b"par", partial=True)
        if sys.argv[4] == "tick":
            await backend.tick(now=0, limit=9)
        print("ready", flush=True)
        await trio.sleep_forever()

trio.run(main, int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
"""


@pytest.mark.parametrize("heard", ["tick", "new"])
async def test_what_a_killed_one_had_staged_is_adopted_at_once(redis_server: RedisServer, heard: str) -> None:
    prefix = new_prefix()
    async with connect(redis_server.port, prefix) as backend:
        queue = await new_queue(backend)
        own = await stage(backend, queue)
        command = [sys.executable, "-c", _DAEMON, str(redis_server.port), prefix, str(queue), heard]
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=os.getcwd()) as daemon:
            assert daemon.stdout is not None
            assert daemon.stdout.readline() == b"ready\n"
            assert (await backend.tick(now=0, limit=9)).adopted == []
            daemon.send_signal(signal.SIGKILL)
            daemon.wait()
            assert (await backend.tick(now=0, limit=9)).adopted == [(queue, own + 1)]
        assert [each.data for each in await look(backend, queue)] == [b"whole"]
        with redis.Redis(port=redis_server.port) as client:
            assert list(client.hgetall(f"{{{prefix}}}:places")) == [backend.daemon.encode()]
        assert (await backend.tick(now=0, limit=9)).adopted == []
        assert await backend.audit() == []


async def test_one_whose_process_lives_is_not_taken_for_dead(redis_server: RedisServer) -> None:
    prefix = new_prefix()
    async with connect(redis_server.port, prefix) as backend:
        queue = await new_queue(backend)
        async with connect(redis_server.port, prefix) as other:
            await stage(other, queue)
            await die(other)
        assert (await backend.tick(now=0, limit=9)).adopted == []


def test_only_a_process_that_could_be_seen_is_known_to_have_ended() -> None:
    boot, namespace, pid, start = this_place().split()
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    assert has_ended(f"{boot} {namespace} {ended.pid} 1")
    assert has_ended(f"{boot} {namespace} {pid} {int(start) - 1}")  # another process got its number
    assert not has_ended(this_place())
    assert not has_ended(f"{boot} {namespace}1 {ended.pid} 1")
    assert not has_ended(f"{boot[::-1]} {namespace} {ended.pid} 1")
    assert not has_ended("-")
    assert not has_ended("")
