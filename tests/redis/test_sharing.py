"""Several daemons on one server."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import redis
import trio

from queuefs.backend import Settled
from queuefs.errors import QueueExists
from queuefs.message import ROOT, Counts, MessageId
from tests.redis.stores import OWNER, begin, connect, die, look, nack, new_prefix, new_queue, put, stage, take

if TYPE_CHECKING:
    from queuefs_redis import RedisBackend
    from tests.support.redis_server import RedisServer


async def test_no_message_has_two_holders(redis_server: RedisServer) -> None:
    """Two daemons, eight consumers each, and producers beside them: each message is acked once, by one."""
    total = 600
    holders: dict[MessageId, int] = {}
    prefix = new_prefix()
    async with connect(redis_server.port, prefix) as first, connect(redis_server.port, prefix) as second:
        queue = await new_queue(first)

        async def produce(backend: RedisBackend) -> None:
            for n in range(total // 4):
                await put(backend, queue, b"%d" % n)

        async def consume(backend: RedisBackend) -> None:
            while len(holders) < total:
                for message in await take(backend, queue, 2):
                    assert message.id not in holders
                    holders[message.id] = message.claims
                    if message.id % 10 == 0 and message.claims == 1:
                        del holders[message.id]
                        await nack(backend, queue, [message.receipt])
                    else:
                        assert await backend.ack(queue, [message.receipt], now=0) == [Settled.DONE]

        with trio.fail_after(20):
            async with trio.open_nursery() as nursery:
                for backend in (first, second):
                    for _ in range(2):
                        nursery.start_soon(produce, backend)
                    for _ in range(8):
                        nursery.start_soon(consume, backend)
        assert await first.counts(queue) == Counts(pending=0, processing=0)
        assert await second.audit() == []


async def test_a_queue_is_made_by_one_of_two(redis_server: RedisServer) -> None:
    prefix = new_prefix()
    async with connect(redis_server.port, prefix) as first, connect(redis_server.port, prefix) as second:
        made = []

        async def make(backend: RedisBackend, name: str) -> None:
            with suppress(QueueExists):
                made.append((await backend.create_queue(ROOT, name, owner=OWNER, now=0)).name)

        names = [f"q{n}" for n in range(20)]
        async with trio.open_nursery() as nursery:
            for name in names:
                nursery.start_soon(make, first, name)
                nursery.start_soon(make, second, name)
        assert sorted(made) == sorted(names)
        assert sorted(queue.name for queue in await first.children(ROOT)) == sorted(names)


class TestTheDead:
    """By a clock that the test moves."""

    async def test_their_stages_are_published_or_dropped(self, redis_server: RedisServer) -> None:
        prefix = new_prefix()
        async with connect(redis_server.port, prefix, server_time=False) as other:
            queue = await new_queue(other)
            async with connect(redis_server.port, prefix, server_time=False) as dead:
                whole = await stage(dead, queue, b"whole", now=100)
                await begin(dead, queue, b"par", partial=True, now=100)
                await die(dead)
            for now in (100, 105, 110, 114.9):
                assert (await other.tick(now=now, limit=9)).adopted == []
            tick = await other.tick(now=115, limit=9)
            assert tick.adopted == [(queue, whole)]
            assert [each.data for each in await look(other, queue, 9)] == [b"whole"]
            assert await other.audit() == []
            await other.clear(queue)
            await other.remove_queue(queue)

    async def test_after_an_outage_everybody_is_given_time_to_be_heard(self, redis_server: RedisServer) -> None:
        prefix = new_prefix()
        async with (
            connect(redis_server.port, prefix, server_time=False) as first,
            connect(redis_server.port, prefix, server_time=False) as second,
        ):
            queue = await new_queue(first)
            message = await stage(first, queue)
            for now in (100.0, 105.0, 110.0, 115.0):
                await first.tick(now=now, limit=9)
                await second.tick(now=now, limit=9)
            for now in (1000.0, 1005.0, 1010.0, 1014.9):
                assert (await second.tick(now=now, limit=9)).adopted == []
            await first.tick(now=1014.9, limit=9)
            for now in (1015.0, 1020.0, 1025.0, 1029.8):
                assert (await second.tick(now=now, limit=9)).adopted == []
            assert (await second.tick(now=1029.9, limit=9)).adopted == [(queue, message)]

    async def test_they_are_adopted_in_rounds_of_the_limit(self, redis_server: RedisServer) -> None:
        prefix = new_prefix()
        async with connect(redis_server.port, prefix, server_time=False) as other:
            queue = await new_queue(other)
            async with connect(redis_server.port, prefix, server_time=False) as dead:
                staged = {await stage(dead, queue, now=100) for _ in range(5)}
                await die(dead)
            for now in (100, 110):
                await other.tick(now=now, limit=2)
            ticks = [await other.tick(now=115, limit=2) for _ in range(3)]
            assert [len(tick.adopted) for tick in ticks] == [2, 2, 1]
            assert [tick.next_due for tick in ticks[:2]] == [0, 0]
            assert {message for tick in ticks for _, message in tick.adopted} == staged

    async def test_who_closes_in_order_leaves_nothing_to_wait_for(self, redis_server: RedisServer) -> None:
        prefix = new_prefix()
        async with connect(redis_server.port, prefix) as other:
            queue = await new_queue(other)
            async with connect(redis_server.port, prefix) as leaving:
                message = await stage(leaving, queue)
                await begin(leaving, queue, b"par", partial=True, now=0)
            assert [each.id for each in await other.snapshot(queue)] == [message]
            assert await other.audit() == []

    async def test_they_are_forgotten_after_an_hour(self, redis_server: RedisServer) -> None:
        prefix = new_prefix()
        async with connect(redis_server.port, prefix, server_time=False) as other:
            queue = await new_queue(other)
            async with connect(redis_server.port, prefix, server_time=False) as dead:
                await stage(dead, queue, now=100)
                await die(dead)
            for now in range(100, 4000, 10):
                await other.tick(now=now, limit=9)
            with redis.Redis(port=redis_server.port) as client:
                assert not list(client.scan_iter(f"*{dead.daemon}*"))
                assert client.zrange(f"{{{prefix}}}:daemons", 0, -1) == [other.daemon.encode()]
                assert list(client.hgetall(f"{{{prefix}}}:beating")) == [other.daemon.encode()]

    async def test_the_next_beat_is_due_within_five_seconds(self, redis_server: RedisServer) -> None:
        async with connect(redis_server.port, new_prefix(), server_time=False) as backend:
            assert (await backend.tick(now=100, limit=9)).next_due == 5
            queue = await new_queue(backend)
            await put(backend, queue)
            await take(backend, queue, 1, lease=2, now=100)
            assert (await backend.tick(now=101, limit=9)).next_due == 1
