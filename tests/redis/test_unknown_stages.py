"""A message whose writer was never told its id is dropped; any other is left alone."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
import redis
import trio

from queuefs.backend import Transition
from queuefs.errors import BackendError, OutcomeUnknown
from queuefs.lifecycle import Verb
from queuefs.message import Draft, MessageId, Room
from tests.redis.stores import ANY, PLAIN, begin, connect, die, look, new_prefix, new_queue, publish, put, stage, until
from tests.support.lossy_proxy import LossyProxy
from tests.support.redis_server import RedisServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from queuefs.message import QueueId
    from queuefs_redis import RedisBackend
    from tests.conftest import Logs

TIMEOUT = 0.9

#: What the script is told of a stage that asks for nothing.
_PLAIN = (0, 0, "", "", "", 0, "-", 0, 0, 0, "-", "")


@pytest.fixture
def proxy(redis_server: RedisServer) -> Iterator[LossyProxy]:
    with LossyProxy(redis_server.port) as proxy:
        yield proxy


@pytest.fixture
def prefix(logs: Logs) -> str:
    logs.expect("redis away")
    return new_prefix()


async def stage_in_vain(proxy: LossyProxy, backend: RedisBackend, queue: QueueId, draft: Draft = PLAIN) -> None:
    """Stage a message whose writer never learns its id."""
    proxy.lose_replies(1000, silent=True)
    with pytest.raises(OutcomeUnknown):
        await stage(backend, queue, b"lost", draft)
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


async def test_its_room_is_free_again_and_everybody_hears_it(
    redis_server: RedisServer, proxy: LossyProxy, prefix: str
) -> None:
    """The daemon that staged it, too: it did not do it knowingly, and may have writers that wait for the room."""
    heard: list[tuple[str, Transition]] = []
    async with connect(proxy.port, prefix, timeout=TIMEOUT) as backend, connect(redis_server.port, prefix) as other:
        queue = await new_queue(backend)
        backend.listen(lambda transitions: heard.extend(("own", each) for each in transitions))
        other.listen(lambda transitions: heard.extend(("other", each) for each in transitions))
        with redis.Redis(port=redis_server.port) as client:
            await until(lambda: client.pubsub_numsub(f"{{{prefix}}}:did")[0][1] == 2)
        await stage_in_vain(proxy, backend, queue, Draft(key="k"))
        message = await begin(backend, queue, b"1234", Draft(key="k"), room=Room(messages=1, bytes=4))
        gone = Transition(queue=queue, verb=Verb.DISCARD, message=MessageId(1))
        await until(lambda: {("own", gone), ("other", gone)} <= set(heard))
        assert await publish(backend, queue, message, window=9) == message
        assert await backend.audit() == []


async def test_messages_being_written_are_left_alone(redis_server: RedisServer, proxy: LossyProxy, prefix: str) -> None:
    """By the same daemon and by another, before and after."""
    async with connect(proxy.port, prefix, timeout=TIMEOUT) as backend, connect(redis_server.port, prefix) as other:
        queue = await new_queue(backend)
        before = await stage(backend, queue, b"abc")
        partial = await begin(backend, queue, b"", partial=True)
        foreign = await stage(other, queue, b"foreign")
        await stage_in_vain(proxy, backend, queue)
        after = await stage(backend, queue, b"after")
        assert await staged(redis_server, prefix) == {before, partial, foreign, after}
        await backend.append(queue, before, b"def", offset=3, partial=False, room=ANY)
        await backend.append(queue, partial, b"whole", offset=0, partial=False, room=ANY)
        for message in (before, partial, after):
            await publish(backend, queue, message)
        await publish(other, queue, foreign)
        assert [each.data for each in await look(other, queue)] == [b"abcdef", b"whole", b"foreign", b"after"]
        assert await backend.audit() == []


@pytest.mark.parametrize("keep", [0, 40, 100, 300])
async def test_of_a_batch_that_is_answered_in_part_the_rest_is_dropped(
    redis_server: RedisServer, proxy: LossyProxy, prefix: str, keep: int
) -> None:
    async with connect(proxy.port, prefix, timeout=TIMEOUT) as backend:
        queue = await new_queue(backend)
        proxy.lose_replies(1000, silent=True, keep=keep)
        known = set()
        for staging in [begin(backend, queue, b"%d" % n) for n in range(100)]:
            with suppress(BackendError):
                known.add(await staging)
        proxy.lose_replies(0)
        assert bool(known) == bool(keep)
        assert known < await staged(redis_server, prefix)
        await backend.tick(now=0, limit=9)
        assert await staged(redis_server, prefix) == known
        for message in known:
            await publish(backend, queue, message)
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
        await publish(backend, queue, message)
        assert [each.data for each in await look(backend, queue)] == [b"kept"]


async def test_one_whose_publication_is_in_doubt_is_published(proxy: LossyProxy, prefix: str) -> None:
    async with connect(proxy.port, prefix, timeout=TIMEOUT) as backend:
        queue = await new_queue(backend)
        message = await stage(backend, queue)
        proxy.lose_replies(1000, silent=True)
        with pytest.raises(OutcomeUnknown):
            await publish(backend, queue, message)
        proxy.lose_replies(0)
        await publish(backend, queue, message)
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
        assert [each.data for each in await look(other, queue)] == [b"lost"]


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
                    staging = begin(backend, queue, b"lost")
                    while not await staged(server, prefix):
                        pass
                    server.kill()
                else:
                    server.pause()
                    staging = begin(backend, queue, b"lost")
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
                late = client.evalsha(SCRIPTS["stage"].sha, 1, *who, 0, queue, *_PLAIN, b"x")
                assert late == b"-late"
                assert 0 < client.ttl(f"{{{prefix}}}:answers:{leaving.daemon}") <= 3600
            assert await staged(redis_server, prefix) == set()
            await other.clear(queue)
            await other.remove_queue(queue)
