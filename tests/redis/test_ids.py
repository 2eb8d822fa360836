"""Message ids are 63 bits wide, and a double of Lua's holds 53."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
import redis
import trio

from queuefs.backend import Settled
from queuefs.errors import BackendUnavailable, IdsExhausted
from queuefs.message import MAX_MESSAGE_ID, Ref
from tests.redis.stores import connect, lose, nack, new_prefix, new_queue, publish, put, stage, take
from tests.support.redis_server import RedisServer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Logs


@pytest.mark.parametrize("last", [9, 99, 2**53 - 2, 2**53 + 1, 10**18 - 2, MAX_MESSAGE_ID - 8])
async def test_ids_beyond_a_double_stay_apart_and_in_order(redis_server: RedisServer, last: int) -> None:
    prefix = new_prefix()
    async with connect(redis_server.port, prefix) as backend:
        queue = await new_queue(backend)
        with redis.Redis(port=redis_server.port) as client:
            client.set(f"{{{prefix}}}:last-id", last)
        messages = [await stage(backend, queue, b"%d" % n) for n in range(5)]
        assert messages == list(range(last + 1, last + 6))
        for message in reversed(messages):
            await publish(backend, queue, message)
        claimed = await take(backend, queue, 4)
        assert [message.id for message in claimed] == messages[:4]
        assert [message.data for message in claimed] == [b"0", b"1", b"2", b"3"]
        assert await backend.ack(queue, [Ref(messages[1]), claimed[0].receipt], now=0) == [Settled.DONE, Settled.DONE]
        assert await nack(backend, queue, [Ref(messages[2])]) == [Settled.DONE]
        await take(backend, queue, 1, lease=0, now=0)
        assert [each.receipt.id for each in (await lose(backend, queue)).overdue] == [messages[2]]
        assert [message.id for message in await backend.snapshot(queue)] == messages[2:]
        assert await backend.payloads(queue, messages) == [None, None, b"2", b"3", b"4"]
        assert await backend.audit() == []


async def test_the_last_id_is_the_last(redis_server: RedisServer) -> None:
    """It ends for good, also when there is no message left."""
    prefix = new_prefix()
    async with connect(redis_server.port, prefix) as backend:
        queue = await new_queue(backend)
        with redis.Redis(port=redis_server.port) as client:
            client.set(f"{{{prefix}}}:last-id", MAX_MESSAGE_ID - 1)
        assert await put(backend, queue) == MAX_MESSAGE_ID
        for _ in range(2):
            with pytest.raises(IdsExhausted):
                await stage(backend, queue)
            await backend.clear(queue)
    async with connect(redis_server.port, prefix) as backend:
        other = await new_queue(backend, "other")
        with pytest.raises(IdsExhausted):
            await stage(backend, other)


async def test_a_server_with_an_older_copy_of_its_data_gives_no_id_twice(tmp_path: Path, logs: Logs) -> None:
    """What this daemon has seen given is not given again, of messages and of queues."""
    server = RedisServer(tmp_path)
    server.start()
    logs.expect("redis away", count=1)
    try:
        async with connect(server.port, new_prefix(), timeout=0.9) as backend:
            queue = await new_queue(backend)
            await stage(backend, queue)
            copy = tmp_path / "copy"
            shutil.copytree(tmp_path / "appendonlydir", copy)
            last = [await stage(backend, queue) for _ in range(20)][-1]
            other = await new_queue(backend, "other")
            server.kill()
            with pytest.raises(BackendUnavailable):
                await backend.counts(queue)
            shutil.rmtree(tmp_path / "appendonlydir")
            shutil.copytree(copy, tmp_path / "appendonlydir")
            await trio.to_thread.run_sync(server.start)
            assert await stage(backend, queue) == last + 1
            assert await new_queue(backend, "other") == other + 1
    finally:
        server.stop()
