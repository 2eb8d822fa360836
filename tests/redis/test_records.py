"""Records of messages that are done: how many there are, who drops them, and what a full server keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fakeredis
import pytest
import redis

from queuefs.backend import Settled
from queuefs.errors import StoreFull
from queuefs.lifecycle import Verb
from queuefs.message import Counts, Ended, Outcome, Record, Ref, Retention, Status
from queuefs_redis import RedisBackend
from tests.redis.stores import begin, connect, new_prefix, new_queue, publish, put, stage, take, until
from tests.support.redis_server import RedisServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from queuefs.backend import Transition
    from queuefs.message import MessageId, QueueId

DONE, UNKNOWN = Settled.DONE, Settled.UNKNOWN
KEEP = Retention(records=5, seconds=60)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    """A server that the test may harm."""
    server = RedisServer(tmp_path)
    server.start()
    yield server
    server.stop()


async def finish(
    backend: RedisBackend, queue: QueueId, number: int = 1, *, now: float = 0, keep: Retention | None = KEEP
) -> list[MessageId]:
    """Put *number* messages, claim and ack them."""
    staged = [await each for each in [begin(backend, queue) for _ in range(number)]]
    for each in [publish(backend, queue, id_) for id_ in staged]:
        await each
    ids = [each.id for each in await take(backend, queue, number)]
    assert await backend.ack(queue, [Ref(id_) for id_ in ids], now=now, keep=keep) == [DONE] * number
    return ids


async def recorded(backend: RedisBackend, queue: QueueId, *, now: float = 0, limit: int = 9999) -> list[MessageId]:
    """Return whose records are shown, by pages of *limit*."""
    found: list[MessageId] = []
    after: Ended | None = None
    while page := await backend.records(queue, after=after, limit=limit, now=now):
        found += [each.id for each in page]
        after = page[-1].ended
    return found


def kept(server: RedisServer, prefix: str, queue: QueueId) -> tuple[int, int]:
    """Return how many records and ends there are."""
    with redis.Redis(port=server.port) as client:
        return client.hlen(f"{{{prefix}}}:q:{queue}:done"), client.zcard(f"{{{prefix}}}:q:{queue}:ends")


async def test_later_ones_take_the_place_of_earlier_ones_at_once_and_upkeep_reports_them(
    redis_server: RedisServer,
) -> None:
    """However many are acked between two rounds, no more are kept."""
    prefix = new_prefix()
    async with connect(redis_server.port, prefix, server_time=False) as backend:
        queue = await new_queue(backend)
        ids = await finish(backend, queue, 300)
        assert kept(redis_server, prefix, queue) == (5, 5)
        assert await recorded(backend, queue, limit=2) == ids[:-6:-1]
        ticks = [await backend.tick(now=0, limit=200) for _ in range(3)]
        assert [len(tick.terminated) for tick in ticks] == [200, 95, 0]
        assert ticks[0].next_due == 0
        assert [id_ for tick in ticks for _, id_ in tick.terminated] == ids[:-5]
        assert (await backend.tick(now=59, limit=9)).next_due == 1
        tick = await backend.tick(now=60, limit=9)
        assert tick.terminated == [(queue, id_) for id_ in ids[-5:]]
        assert kept(redis_server, prefix, queue) == (0, 0)
        assert await backend.audit() == []


async def test_very_many_that_shall_be_no_more_go_in_rounds_and_are_shown_no_more(redis_server: RedisServer) -> None:
    prefix = new_prefix()
    async with connect(redis_server.port, prefix, server_time=False) as backend:
        queue = await new_queue(backend)
        ids = await finish(backend, queue, 1500, keep=Retention(records=9999, seconds=60))
        assert (await backend.stats(queue)).done == 1500
        last = (await finish(backend, queue, keep=Retention(records=2, seconds=60)))[0]
        assert kept(redis_server, prefix, queue) == (501, 501)
        assert await recorded(backend, queue) == [last, ids[-1]]
        assert await backend.find_records(queue, [ids[-2]], now=0) == [None]
        assert await backend.prune(queue, [ids[-2]]) == [UNKNOWN]
        assert (await backend.stats(queue)).done == 2
        tick = await backend.tick(now=0, limit=9999)
        assert sorted(id_ for _, id_ in tick.terminated) == ids[:-1]
        assert kept(redis_server, prefix, queue) == (2, 2)


async def test_what_a_removed_queue_had_dropped_is_not_reported(redis_server: RedisServer) -> None:
    prefix = new_prefix()
    async with connect(redis_server.port, prefix, server_time=False) as backend:
        first, second = await new_queue(backend), await new_queue(backend, "second")
        await finish(backend, first, 7)
        (dropped, *_) = await finish(backend, second, 6)
        await backend.remove_queue(first)
        assert (await backend.tick(now=0, limit=99)).terminated == [(second, dropped)]
        await backend.remove_queue(second)
        with redis.Redis(port=redis_server.port) as client:
            assert not list(client.scan_iter(f"{{{prefix}}}:q:*"))
            assert not client.exists(f"{{{prefix}}}:retention", f"{{{prefix}}}:terminated")


async def test_pages_are_in_the_order_of_their_ends_and_then_of_their_ids(redis_server: RedisServer) -> None:
    """Also behind one that is gone, and those that came together."""
    async with connect(redis_server.port, new_prefix(), server_time=False) as backend:
        queue = await new_queue(backend)
        keep = Retention(records=99, seconds=60)
        ids = [id_ for now in (1, 2, 2, 3) for id_ in await finish(backend, queue, 4, now=now, keep=keep)]
        order = sorted(zip((1, 1, 1, 1, *[2] * 8, 3, 3, 3, 3), ids, strict=True), reverse=True)
        assert await recorded(backend, queue, limit=3, now=3) == [id_ for _, id_ in order]
        assert await backend.prune(queue, [ids[5]]) == [DONE]
        page = await backend.records(queue, after=Ended(2, ids[5]), limit=2, now=3)
        assert [each.id for each in page] == [ids[4], ids[3]]
        page = await backend.records(queue, after=Ended(2.5, ids[0]), limit=1, now=3)
        assert [each.id for each in page] == [ids[11]]
        assert await backend.prune(queue, None) == [DONE] * 15
        assert await backend.prune(queue, None) == []


async def test_the_server_s_clock_dates_them(redis_server: RedisServer) -> None:
    async with connect(redis_server.port, new_prefix()) as backend:
        queue = await new_queue(backend)
        (id_,) = await finish(backend, queue)
        (record,) = await backend.records(queue, after=None, limit=9, now=0)
        assert record.claimed_at is not None
        assert record.enqueued_at <= record.claimed_at <= record.finished_at
        with redis.Redis(port=redis_server.port) as client:
            assert abs(record.finished_at - client.time()[0]) < 60
        await finish(backend, queue, keep=Retention(records=5, seconds=1e-6))
        assert await recorded(backend, queue) == []
        assert (await backend.stats(queue)).done == 0
        assert id_ in [each for _, each in (await backend.tick(now=0, limit=9)).terminated]


async def test_a_full_server_settles_and_keeps_no_record(server: RedisServer) -> None:
    """It would need memory, and there is none; what was kept before is kept."""
    prefix = new_prefix()
    outcome = Outcome(status=Status.FAILED, detail=b"x" * 100_000)
    with redis.Redis(port=server.port) as client:
        async with connect(server.port, prefix) as backend:
            queue = await new_queue(backend)
            (before,) = await finish(backend, queue)
            ids = [await put(backend, queue, b"x" * 1000) for _ in range(4)]
            staged = await stage(backend, queue)
            await take(backend, queue, 4)
            await backend.cancel(queue, ids[1:2], now=0)
            client.config_set("maxmemory", "1mb")
            with pytest.raises(StoreFull):
                await stage(backend, queue)
            assert await backend.ack(queue, [Ref(ids[0])], now=0, keep=KEEP, outcome=outcome) == [DONE]
            assert await backend.undo(queue, [Ref(ids[1])], now=0, keep=KEEP) == [DONE]
            other = Retention(records=7, seconds=60)
            refs = [Ref(id_) for id_ in ids[2:]]
            assert await backend.ack(queue, refs, now=0, keep=other, outcome=outcome) == [DONE] * 2
            await publish(backend, queue, staged)
            assert await backend.cancel(queue, [staged], now=0, keep=other) == [DONE]
            assert await recorded(backend, queue) == [before]
            assert await backend.counts(queue) == Counts(pending=0, processing=0)
            client.config_set("maxmemory", "0")
            (after,) = await finish(backend, queue, keep=other)
            assert await recorded(backend, queue) == [after, before]
            assert await backend.audit() == []


async def test_others_hear_of_records_that_are_gone(redis_server: RedisServer) -> None:
    prefix = new_prefix()
    heard: list[tuple[Verb | None, MessageId | None]] = []
    async with (
        connect(redis_server.port, prefix, server_time=False) as other,
        connect(redis_server.port, prefix, server_time=False) as backend,
    ):
        queue = await new_queue(other)

        def note(transitions: Sequence[Transition]) -> None:
            heard.extend((each.verb, each.message) for each in transitions)

        backend.listen(note)
        with redis.Redis(port=redis_server.port) as client:
            await until(lambda: client.pubsub_numsub(f"{{{prefix}}}:did")[0][1] == 1)
        ids = await finish(other, queue, 7)
        tick = await other.tick(now=0, limit=9)
        assert [id_ for _, id_ in tick.terminated] == ids[:2]
        await other.prune(queue, ids[3:4])
        wanted = {(Verb.TERMINATE, ids[0]), (Verb.TERMINATE, ids[1]), (Verb.PRUNE, ids[3])}
        await until(lambda: wanted <= set(heard))
        assert (await backend.tick(now=0, limit=9)).terminated == []


async def test_a_record_from_another_store_is_as_it_was(redis_server: RedisServer) -> None:
    record = Record(
        id=77,  # type: ignore[arg-type]  # a plain number
        status=Status.TIMEOUT,
        size=12,
        priority=-4,
        attempt=3,
        enqueued_at=1.5,
        claimed_at=None,
        finished_at=2.25,
        key="a b\n",
        reason="",
        extra=b" \n\0 1 2 3",
        detail=b"- \xff\n 9",
    )
    async with connect(redis_server.port, new_prefix(), server_time=False) as backend:
        queue = await new_queue(backend)
        await backend.restore_record(queue, record, keep=KEEP)
        assert await backend.records(queue, after=None, limit=1, now=3) == [record]
        assert await backend.find_records(queue, [record.id], now=3) == [record]
        assert await stage(backend, queue) == 78
        assert await backend.audit() == []


async def test_of_a_server_that_says_nothing_of_its_memory_the_messages_are_known() -> None:
    server = fakeredis.FakeServer()
    async with RedisBackend.connect(lambda: fakeredis.FakeRedis(server=server)) as backend:
        queue = await new_queue(backend)
        await put(backend, queue)
        space = await backend.space()
        assert (space.used, space.free, space.messages) == (0, 0, 1)


async def test_memory_that_is_free_is_up_to_the_limit(server: RedisServer) -> None:
    with redis.Redis(port=server.port) as client:
        async with connect(server.port, new_prefix()) as backend:
            queue = await new_queue(backend)
            whole = client.info("memory")["total_system_memory"]
            space = await backend.space()
            assert 0 < space.used < whole
            assert space.used + space.free == whole
            client.config_set("maxmemory", "100mb")
            await put(backend, queue, b"x" * 1_000_000)
            later = await backend.space()
            assert later.used + later.free == 100 << 20
            assert later.used > space.used + 1_000_000
            client.config_set("maxmemory", "1mb")
            assert (await backend.space()).free == 0
