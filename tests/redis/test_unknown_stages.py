"""A message whose writer was never told its id is dropped; any other is left alone."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
import redis
import trio

from queuefs.errors import BackendError, OutcomeUnknown
from tests.redis.stores import connect, die, new_prefix, new_queue, put, stage
from tests.support.lossy_proxy import LossyProxy
from tests.support.redis_server import RedisServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from queuefs.message import MessageId, QueueId
    from queuefs_redis import RedisBackend
    from tests.conftest import Logs

TIMEOUT = 0.9


@pytest.fixture
def proxy(redis_server: RedisServer) -> Iterator[LossyProxy]:
    with LossyProxy(redis_server.port) as proxy:
        yield proxy


@pytest.fixture
def prefix(logs: Logs) -> str:
    logs.expect("redis away")
    return new_prefix()


async def stage_in_vain(proxy: LossyProxy, backend: RedisBackend, queue: QueueId) -> None:
    """Stage a message whose writer never learns its id."""
    proxy.lose_replies(1000, silent=True)
    with pytest.raises(OutcomeUnknown):
        await stage(backend, queue, b"lost")
    proxy.lose_replies(0)


async def staged(server: RedisServer, prefix: str) -> set[MessageId]:
    """Return what is staged by whatever daemon."""
    with redis.Redis(port=server.port) as client:
        keys = await trio.to_thread.run_sync(client.keys, f"{{{prefix}}}:stages:*")
        return {int(id_) for key in keys for id_ in client.hkeys(key)}  # type: ignore[misc]  # redis-py's types


async def test_its_queue_can_be_removed(proxy: LossyProxy, prefix: str) -> None:
    async with connect(proxy.port, prefix, timeout=TIMEOUT) as backend:
        queue = await new_queue(backend)
        await stage_in_vain(proxy, backend, queue)
        await backend.remove_queue(queue)
        assert await backend.audit() == []


async def test_a_round_of_upkeep_drops_it(redis_server: RedisServer, proxy: LossyProxy, prefix: str) -> None:
    async with connect(proxy.port, prefix, timeout=TIMEOUT) as backend:
        queue = await new_queue(backend)
        await stage_in_vain(proxy, backend, queue)
        assert await staged(redis_server, prefix) == {1}
        await backend.tick(now=0, limit=9)
        assert await staged(redis_server, prefix) == set()
        assert await backend.audit() == []


async def test_messages_being_written_are_left_alone(redis_server: RedisServer, proxy: LossyProxy, prefix: str) -> None:
    """By the same daemon and by another, before and after."""
    async with connect(proxy.port, prefix, timeout=TIMEOUT) as backend, connect(redis_server.port, prefix) as other:
        queue = await new_queue(backend)
        before = await stage(backend, queue, b"abc")
        partial = await backend.stage(queue, b"", partial=True, priority=0, now=0)
        foreign = await stage(other, queue, b"foreign")
        await stage_in_vain(proxy, backend, queue)
        after = await stage(backend, queue, b"after")
        assert await staged(redis_server, prefix) == {before, partial, foreign, after}
        await backend.append(queue, before, b"def", offset=3, partial=False)
        await backend.append(queue, partial, b"whole", offset=0, partial=False)
        for message in (before, partial, after):
            await backend.publish(queue, message)
        await other.publish(queue, foreign)
        assert [each.data for each in await other.peek(queue, count=9)] == [b"abcdef", b"whole", b"foreign", b"after"]
        assert await backend.audit() == []


@pytest.mark.parametrize("keep", [0, 40, 100, 300])
async def test_of_a_batch_that_is_answered_in_part_the_rest_is_dropped(
    redis_server: RedisServer, proxy: LossyProxy, prefix: str, keep: int
) -> None:
    async with connect(proxy.port, prefix, timeout=TIMEOUT) as backend:
        queue = await new_queue(backend)
        proxy.lose_replies(1000, silent=True, keep=keep)
        known = set()
        for staging in [backend.stage(queue, b"%d" % n, partial=False, priority=0, now=0) for n in range(100)]:
            with suppress(BackendError):
                known.add(await staging)
        proxy.lose_replies(0)
        assert bool(known) == bool(keep)
        assert known < await staged(redis_server, prefix)
        await backend.tick(now=0, limit=9)
        assert await staged(redis_server, prefix) == known
        for message in known:
            await backend.publish(queue, message)
        assert {each.id for each in await backend.snapshot(queue)} == known
        assert await backend.audit() == []


async def test_what_is_staged_behind_the_look_is_kept_when_it_is_asked_again(
    redis_server: RedisServer, proxy: LossyProxy, prefix: str
) -> None:
    """A repetition of the batch must not take its own stages for those of another."""
    async with connect(proxy.port, prefix, timeout=TIMEOUT) as backend:
        queue = await new_queue(backend)
        await stage_in_vain(proxy, backend, queue)
        proxy.lose_replies()
        message = await stage(backend, queue, b"kept")
        assert await staged(redis_server, prefix) == {message}
        await backend.publish(queue, message)
        assert [each.data for each in await backend.peek(queue, count=9)] == [b"kept"]


async def test_one_whose_publication_is_in_doubt_is_published(proxy: LossyProxy, prefix: str) -> None:
    async with connect(proxy.port, prefix, timeout=TIMEOUT) as backend:
        queue = await new_queue(backend)
        message = await stage(backend, queue)
        proxy.lose_replies(1000, silent=True)
        with pytest.raises(OutcomeUnknown):
            await backend.publish(queue, message)
        proxy.lose_replies(0)
        await backend.publish(queue, message)
        assert [each.id for each in await backend.snapshot(queue)] == [message]


async def test_a_daemon_that_closes_in_order_drops_it(
    redis_server: RedisServer, proxy: LossyProxy, prefix: str
) -> None:
    async with connect(redis_server.port, prefix) as other:
        async with connect(proxy.port, prefix, timeout=TIMEOUT) as leaving:
            queue = await new_queue(leaving)
            message = await stage(leaving, queue, b"whole")
            await stage_in_vain(proxy, leaving, queue)
        assert [each.id for each in await other.snapshot(queue)] == [message]
        assert await staged(redis_server, prefix) == set()
        assert await other.audit() == []


async def test_an_adopter_cannot_know_and_publishes_it(
    redis_server: RedisServer, proxy: LossyProxy, prefix: str
) -> None:
    async with connect(redis_server.port, prefix, server_time=False) as other:
        async with connect(proxy.port, prefix, timeout=TIMEOUT, server_time=False) as dead:
            queue = await new_queue(dead)
            await stage_in_vain(proxy, dead, queue)
            await die(dead)
        for now in (0, 10, 20):
            await other.tick(now=now, limit=9)
        assert [each.data for each in await other.peek(queue, count=9)] == [b"lost"]


@pytest.mark.parametrize("restarts", [False, True], ids=["hung", "killed"])
async def test_a_server_that_was_away_for_long(tmp_path: Path, prefix: str, restarts: bool) -> None:  # noqa: FBT001 - a parameter
    """What it carries out when it goes on counts too, and so does what it had carried out before it was killed."""
    server = RedisServer(tmp_path, options=("--appendfsync", "always"))
    server.start()
    try:
        with LossyProxy(server.port) as proxy:
            async with connect(proxy.port, prefix, timeout=TIMEOUT) as backend:
                queue = await new_queue(backend)
                if restarts:
                    proxy.lose_replies(silent=True)
                    staging = backend.stage(queue, b"lost", partial=False, priority=0, now=0)
                    while not await staged(server, prefix):
                        pass
                    server.kill()
                else:
                    server.pause()
                    staging = backend.stage(queue, b"lost", partial=False, priority=0, now=0)
                with pytest.raises(OutcomeUnknown):
                    await staging
                if restarts:
                    await trio.to_thread.run_sync(server.start)
                else:
                    server.resume()
                await backend.remove_queue(queue)
                assert await staged(server, prefix) == set()
    finally:
        server.stop()


class TestLeaving:
    async def test_nothing_is_done_twice_when_the_reply_is_lost(
        self, redis_server: RedisServer, proxy: LossyProxy
    ) -> None:
        prefix = new_prefix()
        async with connect(redis_server.port, prefix) as other:
            async with connect(proxy.port, prefix, timeout=TIMEOUT) as leaving:
                queue = await new_queue(leaving)
                message = await stage(leaving, queue)
                proxy.lose_replies()
            assert proxy.lost == 1
            assert [each.id for each in await other.snapshot(queue)] == [message]
            assert await other.audit() == []

    async def test_what_comes_after_it_on_an_old_connection_does_nothing(self, redis_server: RedisServer) -> None:
        prefix = new_prefix()
        async with connect(redis_server.port, prefix) as other:
            async with connect(redis_server.port, prefix) as leaving:
                queue = await new_queue(leaving)
                await put(leaving, queue)
                line = leaving._line
                connection = line._run.__self__  # type: ignore[attr-defined]  # a bound method
                last = connection._batch
            with redis.Redis(port=redis_server.port) as client:
                from queuefs_redis.scripts import SCRIPTS  # noqa: PLC0415 - only this test looks inside

                who = (f"{{{prefix}}}:", leaving.daemon, last)
                client.evalsha(SCRIPTS["begin"].sha, 1, *who)
                late = client.evalsha(SCRIPTS["stage"].sha, 1, *who, 0, queue, 0, 0, "-", "", b"x", 0)
                assert late == b"-late"
                assert 0 < client.ttl(f"{{{prefix}}}:answers:{leaving.daemon}") <= 3600
            assert await staged(redis_server, prefix) == set()
            await other.clear(queue)
            await other.remove_queue(queue)
