"""The server goes away and comes back while it is used."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
import redis
import trio

from queuefs.backend import Settled
from queuefs.errors import BackendError, BackendUnavailable, StoreFull
from queuefs.message import Counts, Owner, Ref
from tests.redis.stores import (
    ANY,
    begin,
    connect,
    look,
    lose,
    nack,
    new_prefix,
    new_queue,
    publish,
    put,
    stage,
    take,
    until,
)
from tests.support.redis_server import RedisServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from queuefs.message import MessageId, QueueId
    from queuefs_redis import RedisBackend
    from tests.conftest import Logs

TIMEOUT = 0.9


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    """A server that the test may harm."""
    server = RedisServer(tmp_path)
    server.start()
    yield server
    server.stop()


@dataclass
class Users:
    """Tasks that use a queue through good and bad times, and what was confirmed to them."""

    backend: RedisBackend
    queue: QueueId
    published: set[MessageId] = field(default_factory=set)
    acked: set[MessageId] = field(default_factory=set)
    #: Messages whose ack failed, so that either is right.
    unsure: set[MessageId] = field(default_factory=set)
    failures: int = 0
    longest: float = 0.0
    stopping: bool = False

    async def produce(self) -> None:
        while not self.stopping:
            begun = time.monotonic()
            try:
                message = await stage(self.backend, self.queue, b"x" * 100)
                await self._publish(message)
            except BackendError:
                self._failed(begun)

    async def _publish(self, message: MessageId) -> None:
        """Publishing is idempotent, so it is tried until it is done, as the service does."""
        while True:
            begun = time.monotonic()
            try:
                await publish(self.backend, self.queue, message)
            except BackendError:
                self._failed(begun)
            else:
                self.published.add(message)
                return

    async def consume(self) -> None:
        while not self.stopping:
            begun = time.monotonic()
            refs = []
            try:
                messages = await take(self.backend, self.queue, 3)
                refs = [message.receipt for message in messages]
                for answer in await self.backend.ack(self.queue, refs, now=0):
                    assert answer is Settled.DONE
                assert not self.acked & {ref.id for ref in refs}
                self.acked |= {ref.id for ref in refs}
            except BackendError:
                self.unsure |= {ref.id for ref in refs}
                self._failed(begun)

    def _failed(self, begun: float) -> None:
        self.failures += 1
        self.longest = max(self.longest, time.monotonic() - begun)


async def until_more(users: Users, count: int) -> None:
    """Wait until *count* more messages have been published and acked."""
    published, acked = len(users.published), len(users.acked)
    await until(lambda: len(users.published) >= published + count and len(users.acked) >= acked + count)


async def test_a_killed_server_loses_nothing_that_was_confirmed(server: RedisServer, logs: Logs) -> None:
    logs.expect("redis away", count=2)
    async with connect(server.port, new_prefix(), timeout=TIMEOUT) as backend, trio.open_nursery() as nursery:
        users = Users(backend, await new_queue(backend))
        for _ in range(8):
            nursery.start_soon(users.produce)
            nursery.start_soon(users.consume)
        for _ in range(2):
            await until_more(users, 100)
            server.kill()
            failures = users.failures
            await until(lambda least=failures + 32: users.failures >= least)  # type: ignore[misc]  # a default binds it
            await trio.to_thread.run_sync(server.start)
        await until_more(users, 100)
        users.stopping = True
        await until(lambda: not nursery.child_tasks)
        kept = {message.id for message in await backend.snapshot(users.queue)}
        assert users.published - users.acked - users.unsure <= kept
        assert not users.acked & kept
        assert users.longest < TIMEOUT * 1.5
        assert await backend.audit() == []


async def test_a_short_outage_is_waited_for(server: RedisServer, logs: Logs) -> None:
    """A server that is back within the timeout has cost time, and no error."""
    logs.expect("redis away")
    async with connect(server.port, new_prefix()) as backend:
        queue = await new_queue(backend)
        server.kill()
        staging = begin(backend, queue, b"x")
        await trio.to_thread.run_sync(server.start)
        await publish(backend, queue, await staging)
        assert await backend.counts(queue) == Counts(pending=1, processing=0)


async def test_a_server_that_is_away_is_an_error_within_the_timeout(server: RedisServer, logs: Logs) -> None:
    """Also for a call that had to wait behind one that failed; and nothing of it is in doubt."""
    logs.expect("redis away")
    async with connect(server.port, new_prefix(), timeout=TIMEOUT) as backend:
        queue = await new_queue(backend)
        server.kill()
        longest = 0.0

        async def call() -> None:
            nonlocal longest
            begun = time.monotonic()
            with pytest.raises(BackendUnavailable):
                await backend.counts(queue)
            longest = max(longest, time.monotonic() - begun)

        async with trio.open_nursery() as nursery:
            for _ in range(10):
                nursery.start_soon(call)
                await trio.sleep(TIMEOUT / 10)
        assert longest < TIMEOUT * 1.2
        server.start()
        assert await backend.counts(queue) == Counts(pending=0, processing=0)


async def test_a_server_that_hangs_is_an_error_within_the_timeout(server: RedisServer, logs: Logs) -> None:
    logs.expect("redis away")
    async with connect(server.port, new_prefix(), timeout=TIMEOUT) as backend:
        queue = await new_queue(backend)
        server.pause()
        begun = time.monotonic()
        with pytest.raises(BackendError):
            await put(backend, queue)
        assert time.monotonic() - begun < TIMEOUT * 1.5
        server.resume()
        message = await put(backend, queue)
        assert [each.id for each in await look(backend, queue, 9)] == [message]


async def test_forgotten_scripts_are_given_again(server: RedisServer) -> None:
    with redis.Redis(port=server.port) as client:
        async with connect(server.port, new_prefix()) as backend:
            queue = await new_queue(backend)
            client.script_flush()
            staging = [begin(backend, queue, b"x") for _ in range(20)]
            messages = [await each for each in staging]
            assert messages == list(range(1, 21))
            client.script_flush()
            assert await backend.counts(queue) == Counts(pending=0, processing=0)
            client.script_flush()
            for message in messages:
                await publish(backend, queue, message)
            assert await backend.counts(queue) == Counts(pending=20, processing=0)


async def test_scripts_that_are_forgotten_over_and_over_confuse_nobody(server: RedisServer) -> None:
    """Another client flushes them and a third gives them again, in the midst of batches."""
    stop = False

    def disturb() -> None:
        with redis.Redis(port=server.port) as client:
            while not stop:
                client.script_flush()
                time.sleep(0.002)  # or hardly a batch would get through

    async with (
        connect(server.port, "disturbed", timeout=10) as first,
        connect(server.port, "disturbed", timeout=10) as second,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(trio.to_thread.run_sync, disturb)
        try:
            queue = await new_queue(first)
            for backend in (first, second):
                staging = [begin(backend, queue, b"x" * 1000) for _ in range(40)]
                publishing = [publish(backend, queue, await each) for each in staging]
                for each in publishing:
                    await each
            assert await first.counts(queue) == Counts(pending=80, processing=0)
        finally:
            stop = True


async def test_a_full_server_takes_no_message_and_lets_the_others_go(server: RedisServer) -> None:
    with redis.Redis(port=server.port) as client:
        async with connect(server.port, new_prefix()) as backend:
            queue, target = await new_queue(backend), await new_queue(backend, "target")
            for _ in range(4):
                await put(backend, queue, b"x" * 1000)
            staged = await stage(backend, queue, b"abc")
            dropped = await stage(backend, queue, b"abc")
            client.config_set("maxmemory", "1mb")
            with pytest.raises(StoreFull):
                await stage(backend, queue)
            with pytest.raises(StoreFull):
                await backend.append(queue, staged, b"def", offset=3, partial=False, room=ANY)
            with pytest.raises(StoreFull):
                await new_queue(backend, "other")
            await backend.tick(now=0, limit=10)
            await publish(backend, queue, staged)
            await backend.discard(queue, dropped)
            messages = await take(backend, queue, 4)
            refs = [message.receipt for message in messages]
            assert await backend.extend(queue, refs[3:], lease=0, now=0) == [Settled.DONE]
            assert len((await lose(backend, queue)).overdue) == 1
            assert await nack(backend, queue, refs[2:3]) == [Settled.DONE]
            assert await backend.undo(queue, refs[1:2], now=0) == [Settled.DONE]
            assert await backend.ack(queue, refs[:1], now=0) == [Settled.DONE]
            ids = [message.id for message in messages]
            assert await backend.take(queue, ids[1:2], lease=9, now=0) == [Settled.DONE]
            assert await backend.undo(queue, [Ref(ids[1])], now=0) == [Settled.DONE]
            assert await backend.bury(queue, ids[1:2]) == [Settled.DONE]
            assert await backend.retry(queue, None, now=0) == [Settled.DONE]
            assert await backend.pause(queue, ids[2:3]) == [Settled.DONE]
            assert await backend.move(queue, ids[1], target=target, room=ANY) is Settled.DONE
            assert await backend.move(target, ids[1], target=queue, room=ANY) is Settled.DONE
            await backend.set_file_owner(queue, "enqueue", Owner(uid=1, gid=1, mode=0o600))
            assert await backend.clear(queue) == Counts(pending=4, processing=0)
            await backend.rename_queue(queue, parent=(await backend.get_queue(queue)).parent, name="renamed")
            await backend.remove_queue(queue)
            client.config_set("maxmemory", "0")
            assert await stage(backend, await new_queue(backend)) == dropped + 1  # a refused one has cost no id
            assert await backend.audit() == []


async def test_a_server_that_became_a_replica_is_unavailable_until_it_is_master_again(server: RedisServer) -> None:
    with redis.Redis(port=server.port) as client:
        async with connect(server.port, new_prefix()) as backend:
            queue = await new_queue(backend)
            client.replicaof("127.0.0.1", "1")
            with pytest.raises(BackendUnavailable):
                await stage(backend, queue)
            assert await backend.counts(queue) == Counts(pending=0, processing=0)
            client.replicaof("NO", "ONE")
            message = await put(backend, queue)
            assert [each.id for each in await look(backend, queue, 9)] == [message]


async def test_a_changed_password_is_an_error_and_a_restored_one_ends_it(server: RedisServer, logs: Logs) -> None:
    logs.expect("redis away")
    async with connect(server.port, new_prefix(), timeout=TIMEOUT) as backend:
        queue = await new_queue(backend)
        with redis.Redis(port=server.port) as client:
            client.config_set("requirepass", "other")
            client.client_kill_filter(_type="normal", skipme=True)
            with pytest.raises(BackendError):
                await stage(backend, queue)
            client.config_set("requirepass", "")
        assert await stage(backend, queue) == 1
