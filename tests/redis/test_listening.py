"""What a daemon hears of the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
import redis
import trio

from queuefs.backend import Settled
from queuefs.lifecycle import Verb
from queuefs.message import ROOT, Draft, Ref, Retention, Room, Verdict
from tests.redis.stores import (
    LEASE,
    OWNER,
    begin,
    connect,
    lose,
    nack,
    new_prefix,
    new_queue,
    put,
    stage,
    take,
    until,
)
from tests.support.redis_server import RedisServer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from queuefs.backend import Transition
    from queuefs.message import MessageId, QueueId
    from queuefs_redis import RedisBackend
    from tests.conftest import Logs


@dataclass
class Ear:
    """What was heard."""

    heard: list[tuple[QueueId | None, Verb | None, MessageId | None]] = field(default_factory=list)

    def __call__(self, transitions: Sequence[Transition]) -> None:
        self.heard += [(each.queue, each.verb, each.message) for each in transitions]

    async def listen(self, backend: RedisBackend, other: RedisBackend) -> None:
        """Let *backend* listen, and return once it hears *other*."""
        backend.listen(self)
        name = 0
        while not self.heard:
            name += 1
            await other.remove_queue(await new_queue(other, f"mark-{name}"))
            await trio.sleep(0.01)
        await self.settled(other)

    async def settled(self, other: RedisBackend) -> list[tuple[Verb | None, MessageId | None]]:
        """Return what came up to now, and forget it: a mark made now comes behind all of it."""
        mark = await new_queue(other, "mark")
        await until(lambda: any(queue == mark for queue, _, _ in self.heard))
        found = [(verb, message) for queue, verb, message in self.heard if queue != mark]
        self.heard.clear()
        await other.remove_queue(mark)
        await until(lambda: len(self.heard) == 1)
        self.heard.clear()
        return found


async def test_every_step_is_told_by_name(redis_server: RedisServer) -> None:
    prefix = new_prefix()
    async with connect(redis_server.port, prefix) as other, connect(redis_server.port, prefix) as backend:
        queue = await new_queue(other)
        ear = Ear()
        await ear.listen(backend, other)

        first = await stage(other, queue)
        assert await ear.settled(other) == []
        await other.publish(queue, first, now=0, window=0)
        assert await ear.settled(other) == [(Verb.PUBLISH, first)]
        second = await put(other, queue, draft=Draft(key="k"))
        third = await stage(other, queue, draft=Draft(key="k"))
        assert await other.publish(queue, third, now=0, window=0) == second
        assert await ear.settled(other) == [(Verb.PUBLISH, second), (Verb.REPEAT, third)]
        await other.discard(queue, await stage(other, queue))
        assert await ear.settled(other) == [(Verb.DISCARD, third + 1)]
        claimed = await take(other, queue, 2)
        await other.undo(queue, [claimed[0].receipt], now=0)
        await nack(other, queue, [Ref(second), Ref(first)])
        assert await ear.settled(other) == [
            (Verb.DEQUEUE, first),
            (Verb.DEQUEUE, second),
            (Verb.UNDO, first),
            (Verb.NACK, second),
        ]
        await other.pause(queue, [first])
        await other.pause(queue, [first])
        await other.resume(queue, [first])
        await take(other, queue, lease=0)
        await lose(other, queue)
        assert await ear.settled(other) == [
            (Verb.PAUSE, first),
            (Verb.PAUSE, first),
            (Verb.RESUME, first),
            (Verb.DEQUEUE, first),
            (Verb.EXPIRE, first),
        ]
        await take(other, queue, 2)
        await other.nack(queue, [Verdict(ref=Ref(first), dead=True)], now=0)
        await other.ack(queue, [Ref(second)], now=0)
        await other.retry(queue, [first], now=0)
        await take(other, queue)
        await other.cancel(queue, [first], now=0)
        await nack(other, queue, [Ref(first)])
        assert await ear.settled(other) == [
            (Verb.DEQUEUE, first),
            (Verb.DEQUEUE, second),
            (Verb.BURY, first),
            (Verb.ACK, second),
            (Verb.RETRY, first),
            (Verb.DEQUEUE, first),
            (Verb.CANCEL, first),
            (Verb.CANCEL, first),
        ]


async def test_a_message_that_leaves_is_told_where_it_was_and_where_it_is(redis_server: RedisServer) -> None:
    prefix = new_prefix()
    async with connect(redis_server.port, prefix) as other, connect(redis_server.port, prefix) as backend:
        queue, target = await new_queue(other), await new_queue(other, "target")
        ear = Ear()
        await ear.listen(backend, other)
        first, second = await put(other, queue), await put(other, queue)
        await ear.settled(other)
        assert await other.move(queue, first, target=target, room=Room()) is Settled.DONE
        await until(lambda: {(queue, Verb.MOVE, first), (target, Verb.PUBLISH, first)} <= set(ear.heard))
        await ear.settled(other)
        await other.take(queue, [second], lease=LEASE, now=0)
        await other.undo(queue, [Ref(second)], now=0)
        await other.bury(queue, [second])
        await other.retry(queue, [second], now=0)
        keep = Retention(records=1, seconds=99)
        await other.cancel(queue, [second], now=0, keep=keep)
        await other.cancel(target, [first], now=0, keep=keep)
        await other.prune(queue, None)
        assert await ear.settled(other) == [
            (Verb.DEQUEUE, second),
            (Verb.UNDO, second),
            (Verb.BURY, second),
            (Verb.RETRY, second),
            (Verb.CANCEL, second),
            (Verb.CANCEL, first),
            (Verb.PRUNE, second),
        ]


async def test_what_happens_to_queues_is_told_without_a_verb(redis_server: RedisServer) -> None:
    prefix = new_prefix()
    async with connect(redis_server.port, prefix) as other, connect(redis_server.port, prefix) as backend:
        ear = Ear()
        queue = await new_queue(other)
        await ear.listen(backend, other)
        await put(other, queue)
        await other.clear(queue)
        assert await ear.settled(other) == [(Verb.PUBLISH, 1), (Verb.CLEAR, None)]
        for change in (
            lambda: other.set_config(queue, b"lease = 5", expected=b""),
            lambda: other.rename_queue(queue, parent=ROOT, name="work"),
            lambda: other.set_owner(queue, OWNER),
            lambda: other.set_file_owner(queue, "enqueue", OWNER),
            lambda: other.remove_queue(queue),
        ):
            await change()
            assert await ear.settled(other) == [(None, None)]


async def test_upkeep_tells_what_it_did(redis_server: RedisServer) -> None:
    prefix = new_prefix()
    async with (
        connect(redis_server.port, prefix, server_time=False) as other,
        connect(redis_server.port, prefix, server_time=False) as backend,
    ):
        queue = await new_queue(other)
        ear = Ear()
        await ear.listen(backend, other)
        short = await put(other, queue, draft=Draft(ttl=5))
        late = await put(other, queue, draft=Draft(delay=7))
        await ear.settled(other)
        await other.tick(now=5, limit=9)
        assert await ear.settled(other) == [(Verb.LAPSE, short)]
        await other.tick(now=7, limit=9)
        assert await ear.settled(other) == [(None, None)]
        assert [each.id for each in await take(other, queue, now=7)] == [late]


async def test_own_steps_are_left_out(redis_server: RedisServer) -> None:
    prefix = new_prefix()
    async with connect(redis_server.port, prefix) as other, connect(redis_server.port, prefix) as backend:
        ear = Ear()
        await ear.listen(backend, other)
        queue = await new_queue(backend)
        await put(backend, queue)
        assert await ear.settled(other) == []


async def test_more_than_a_thousand_at_once_are_told_without_their_names(redis_server: RedisServer) -> None:
    prefix = new_prefix()
    async with connect(redis_server.port, prefix) as other, connect(redis_server.port, prefix) as backend:
        queue = await new_queue(other)
        staging = [begin(other, queue) for _ in range(1001)]
        publishing = [other.publish(queue, await each, now=0, window=0) for each in staging]
        for each in publishing:
            await each
        ear = Ear()
        await ear.listen(backend, other)
        await other.claim(queue, count=1001, lease=LEASE, lifo=False, now=0)
        assert await ear.settled(other) == [(Verb.DEQUEUE, None)]


async def test_after_an_outage_anything_may_have_happened(tmp_path: Path, logs: Logs) -> None:
    server = RedisServer(tmp_path)
    server.start()
    logs.expect("redis away", count=2)
    prefix = new_prefix()
    try:
        async with (
            connect(server.port, prefix, timeout=0.9) as other,
            connect(server.port, prefix, timeout=0.9) as backend,
        ):
            queue = await new_queue(other)
            ear = Ear()
            await ear.listen(backend, other)
            server.kill()
            for each in (other, backend):
                with pytest.raises(Exception, match="can't be reached"):  # so that the log is the same each time
                    await each.counts(queue)
            await trio.to_thread.run_sync(server.start)
            await until(lambda: (None, None, None) in ear.heard)
            ear.heard.clear()
            message = await put(other, queue)
            await until(lambda: ear.heard == [(queue, Verb.PUBLISH, message)])
    finally:
        server.stop()


async def test_a_subscription_ends_with_its_store_also_when_the_server_hangs(tmp_path: Path, logs: Logs) -> None:
    server = RedisServer(tmp_path)
    server.start()
    logs.expect("redis away")
    logs.expect("redis left without notice")
    try:
        with trio.fail_after(10):
            async with connect(server.port, new_prefix(), timeout=0.3) as backend:
                backend.listen(lambda _transitions: None)
                with redis.Redis(port=server.port) as client:
                    await until(lambda: bool(client.pubsub_channels()))
                server.pause()
    finally:
        server.resume()
        server.stop()
