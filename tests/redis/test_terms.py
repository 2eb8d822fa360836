"""What the contract leaves to the store: the server's own clock, and indexes that nobody sees but `audit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import redis

from queuefs.backend import Settled
from queuefs.errors import QueueFull
from queuefs.message import Draft, Ref, Room, Verdict
from tests.redis.stores import ANY, begin, connect, look, lose, new_prefix, new_queue, publish, put, stage, take

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from queuefs_redis import RedisBackend
    from tests.support.redis_server import RedisServer

DONE, UNKNOWN, STALE, CANCELLED = Settled.DONE, Settled.UNKNOWN, Settled.STALE, Settled.CANCELLED


@pytest.fixture
async def backend(redis_server: RedisServer) -> AsyncIterator[RedisBackend]:
    """A store by the callers' time, which is looked through after the test."""
    async with connect(redis_server.port, new_prefix(), server_time=False) as backend:
        yield backend
        assert await backend.audit() == []


async def test_delayed_ones_come_when_they_are_due_and_at_their_place(backend: RedisBackend) -> None:
    queue = await new_queue(backend)
    late = await put(backend, queue, draft=Draft(delay=10, priority=5), now=100)
    later = await put(backend, queue, draft=Draft(delay=20), now=100)
    plain = await put(backend, queue, now=100)
    assert (await backend.stats(queue)).delayed == 2
    assert (await backend.tick(now=106, limit=9)).next_due == 4
    assert [each.id for each in await look(backend, queue, now=109)] == [plain]
    tick = await backend.tick(now=110, limit=9)
    assert (tick.ripe, tick.next_due) == ([queue], 5)
    assert (await backend.stats(queue)).delayed == 1
    assert [each.id for each in await look(backend, queue, now=120)] == [late, later, plain]
    assert (await backend.tick(now=120, limit=9)).ripe == [queue]
    assert (await backend.tick(now=120, limit=9)).ripe == []
    (claimed,) = await take(backend, queue, now=120)
    assert (claimed.id, claimed.due) == (late, None)


async def test_who_outlives_its_time_is_passed_over_and_lapses(backend: RedisBackend) -> None:
    queue = await new_queue(backend)
    short = await put(backend, queue, draft=Draft(ttl=10), now=100)
    held = await put(backend, queue, draft=Draft(ttl=10, priority=1), now=100)
    plain = await put(backend, queue, now=100)
    (claimed,) = await take(backend, queue, now=100)
    assert (claimed.id, claimed.expires_at) == (held, 110)
    assert [each.id for each in await look(backend, queue, now=110)] == [plain]
    assert [each.id for each in await take(backend, queue, 5, now=110)] == [plain]
    assert (await backend.counts(queue)).pending == 1
    assert (await backend.stats(queue)).oldest_pending == 100
    assert (await backend.tick(now=110, limit=9)).lapsed == [(queue, short)]
    await backend.nack(queue, [Verdict(ref=Ref(held))], now=111)
    assert await take(backend, queue, now=111) == []
    assert (await backend.tick(now=111, limit=9)).lapsed == [(queue, held)]
    assert await backend.unacked_bytes(queue) == 1


async def test_the_last_is_first(backend: RedisBackend) -> None:
    queue = await new_queue(backend)
    ids = [await put(backend, queue, draft=Draft(priority=n % 3)) for n in range(12)]
    order = sorted(ids, key=lambda id_: (-((id_ - 1) % 3), -id_))
    for count in (1, 4, 5, 12, 20):
        assert [each.id for each in await look(backend, queue, count, lifo=True)] == order[:count]
    assert [each.id for each in await take(backend, queue, 7, lifo=True)] == order[:7]
    assert [each.id for each in await take(backend, queue, 7, lifo=True)] == order[7:]


async def test_a_key_is_held_while_its_message_is_unacknowledged_and_for_its_window(backend: RedisBackend) -> None:
    queue = await new_queue(backend)
    draft = Draft(key="a b\n", extra=b"x y \n\0")
    first = await put(backend, queue, draft=draft, now=100, window=10)
    second = await stage(backend, queue, draft=draft)
    assert await publish(backend, queue, second, now=101, window=10) == first
    assert await publish(backend, queue, second, now=101, window=10) == second  # is not staged any more
    (message,) = await take(backend, queue)
    assert (message.key, message.extra, message.reason) == ("a b\n", b"x y \n\0", None)
    await backend.ack(queue, [message.receipt], now=0)
    assert await backend.find_key(queue, "a b\n", now=109.9, window=10) == first
    assert await backend.find_key(queue, "a b\n", now=110, window=10) is None
    assert await backend.find_key(queue, "a b\n", now=105, window=0) is None
    third = await put(backend, queue, draft=draft, now=109, window=0)
    await backend.clear(queue)
    assert await backend.find_key(queue, "a b\n", now=109, window=0) is None
    await backend.tick(now=110, limit=9)
    assert await backend.find_key(queue, "a b\n", now=109, window=100) is None
    assert await put(backend, queue, draft=draft, now=111) == third + 1


async def test_dead_ones_give_their_key_back_and_hold_it_again_with_others(backend: RedisBackend) -> None:
    queue = await new_queue(backend)
    draft = Draft(key="k", extra=b"more")
    first = await put(backend, queue, b"first", draft)
    await take(backend, queue)
    assert await backend.nack(queue, [Verdict(ref=Ref(first), dead=True, reason="too bad")], now=0) == [DONE]
    second = await put(backend, queue, b"second", draft)
    assert second == first + 1
    (dead,) = await backend.dead(queue)
    assert (dead.id, dead.state.value, dead.reason, dead.extra, dead.key) == (first, "dead", "too bad", b"more", "k")
    assert await backend.payloads(queue, [first]) == [b"first"]
    assert await backend.retry(queue, [first, second], now=0) == [DONE, STALE]
    assert await backend.find_key(queue, "k", now=0, window=0) == first
    for message in await take(backend, queue, 2):
        assert message.attempt == 1
        assert message.reason == ("too bad" if message.id == first else None)
        await backend.ack(queue, [message.receipt], now=0)
        found = await backend.find_key(queue, "k", now=0, window=0)
        assert found == (second if message.id == first else None)
    assert await backend.retry(queue, None, now=0) == []


async def test_all_dead_ones_at_once(backend: RedisBackend) -> None:
    queue = await new_queue(backend)
    ids = [await put(backend, queue, b"%d" % n) for n in range(4)]
    await take(backend, queue, 4)
    await backend.nack(queue, [Verdict(ref=Ref(id_), dead=True) for id_ in ids], now=0)
    assert await backend.drop(queue, [ids[0], ids[0], 77]) == [DONE, UNKNOWN, UNKNOWN]  # type: ignore[list-item]  # a plain number
    assert await backend.retry(queue, [ids[1]], now=0) == [DONE]
    assert (await backend.find(queue, ids))[0] is None
    assert await backend.drop(queue, None) == [DONE, DONE]
    assert [message and message.state.value for message in await backend.find(queue, ids)] == [
        None,
        "pending",
        None,
        None,
    ]
    stats = await backend.stats(queue)
    assert (stats.pending, stats.dead, stats.buried, stats.enqueued, stats.unacked_bytes) == (1, 0, 4, 4, 1)


async def test_room_counts_what_is_staged_and_what_is_held(backend: RedisBackend) -> None:
    queue = await new_queue(backend)
    room = Room(messages=3, bytes=10)
    held = await put(backend, queue, b"123")
    await take(backend, queue)
    await put(backend, queue, b"456", Draft(delay=9))
    staged = await begin(backend, queue, b"78", room=room)
    with pytest.raises(QueueFull):
        await begin(backend, queue, b"", room=room)
    with pytest.raises(QueueFull):
        await backend.append(queue, staged, b"9ab", offset=2, partial=False, room=room)
    await backend.append(queue, staged, b"9a", offset=2, partial=False, room=room)
    await backend.ack(queue, [Ref(held)], now=0)
    assert await begin(backend, queue, b"bcd", room=room) == staged + 1
    await backend.discard(queue, staged)
    with pytest.raises(QueueFull):
        await begin(backend, queue, b"12345", room=room)
    await begin(backend, queue, b"1234", room=room)
    await begin(backend, queue, b"1234", room=ANY)


async def test_pausing_and_cancelling(backend: RedisBackend) -> None:
    queue = await new_queue(backend)
    first, second, third = [await put(backend, queue, draft=Draft(delay=d), now=0) for d in (0, 5, 0)]
    assert await backend.pause(queue, [first, second, first]) == [DONE] * 3
    assert [each.id for each in await take(backend, queue, 3, now=9)] == [third]
    stats = await backend.stats(queue)
    assert (stats.paused, stats.delayed, stats.pending) == (2, 0, 2)
    assert await backend.pause(queue, [third]) == [STALE]
    assert await backend.resume(queue, [second, second]) == [DONE] * 2
    assert [each.id for each in await look(backend, queue, now=4)] == []
    assert [each.id for each in await look(backend, queue, now=5)] == [second]
    assert await backend.cancel(queue, [first, first, third, third], now=0) == [DONE, UNKNOWN, DONE, DONE]
    assert await backend.extend(queue, [Ref(third)], lease=5, now=9) == [CANCELLED]
    (message,) = [each for each in await backend.find(queue, [third]) if each]
    assert (message.cancelled, message.lease_until) == (True, 14)
    tick = await backend.tick(now=14, limit=9)
    assert [(each.receipt, each.cancelled, each.attempt) for each in tick.overdue] == [(Ref(third, 1), True, 1)]
    assert await backend.undo(queue, [Ref(third)], now=0) == [DONE]
    assert await backend.find(queue, [third]) == [None]


async def test_what_is_overdue_is_reported_until_it_is_judged(backend: RedisBackend) -> None:
    queue, other = await new_queue(backend), await new_queue(backend, "other")
    ids = {}
    for n, where in enumerate([queue, other, queue, other, queue]):
        ids[n] = await put(backend, where)
        await take(backend, where, lease=10 + n, now=100)
    await put(backend, queue)
    await take(backend, queue, lease=18, now=100)
    for _ in range(2):
        tick = await backend.tick(now=116, limit=9)
        assert [each.receipt.id for each in tick.overdue] == list(ids.values())
        assert tick.next_due == 2
    tick = await backend.tick(now=116, limit=3)
    assert [each.receipt.id for each in tick.overdue] == list(ids.values())[:3]
    assert tick.next_due == 0
    early = [Verdict(ref=Ref(ids[2])), Verdict(ref=Ref(ids[4])), Verdict(ref=Ref(ids[0], 9)), Verdict(ref=Ref(ids[1]))]
    assert await backend.expire(queue, early, now=113.9) == [DONE, STALE, STALE, UNKNOWN]
    assert await backend.extend(queue, [Ref(ids[4])], lease=1, now=116) == [DONE]
    tick = await backend.tick(now=116, limit=9)
    assert [each.receipt.id for each in tick.overdue] == [ids[0], ids[1], ids[3]]
    assert tick.next_due == 1


async def test_the_oldest_is_found_wherever_it_stands(backend: RedisBackend) -> None:
    queue = await new_queue(backend)
    assert (await backend.stats(queue)).oldest_pending is None
    ids = [
        await put(backend, queue, draft=draft, now=100 + n)
        for n, draft in enumerate([Draft(delay=5), Draft(priority=3), Draft(), Draft(priority=-3), Draft()])
    ]
    await backend.pause(queue, [ids[4]])
    for n, id_ in enumerate(ids):
        assert (await backend.stats(queue)).oldest_pending == 100 + n
        assert await backend.cancel(queue, [id_], now=0) == [DONE]
        assert await backend.audit() == []
    assert (await backend.stats(queue)).oldest_pending is None


async def test_a_config_is_replaced_by_who_knows_it(backend: RedisBackend) -> None:
    queue = await new_queue(backend, "a b")
    assert (await backend.get_queue(queue)).config == b""
    assert await backend.set_config(queue, b"lease = 5\n\xff ", expected=b"")
    assert not await backend.set_config(queue, b"other", expected=b"")
    found = await backend.get_queue(queue)
    assert (found.config, found.name) == (b"lease = 5\n\xff ", "a b")
    assert await backend.set_config(queue, b"", expected=found.config)


async def test_the_server_s_clock_counts_delays_and_times_to_live(redis_server: RedisServer) -> None:
    async with connect(redis_server.port, new_prefix()) as backend:
        queue = await new_queue(backend)
        late = await put(backend, queue, draft=Draft(delay=100))
        lost = await put(backend, queue, draft=Draft(ttl=1e-6))
        soon = await put(backend, queue, draft=Draft(delay=1e-6))
        stats = await backend.stats(queue)
        assert (stats.pending, stats.delayed) == (3, 1)
        assert [each.id for each in await take(backend, queue, 9, lease=0)] == [soon]
        tick = await lose(backend, queue)
        assert tick.lapsed == [(queue, lost)]
        assert tick.next_due is not None
        assert tick.next_due > 4
        assert await backend.cancel(queue, [late, soon], now=0) == [DONE, DONE]
        assert await backend.audit() == []


async def test_a_killed_claimer_s_keys_and_places_go_with_clear(redis_server: RedisServer) -> None:
    """Nothing is left of a queue that was used in every way, once it is removed."""
    prefix = new_prefix()
    async with connect(redis_server.port, prefix) as backend:
        queue = await new_queue(backend)
        for n, draft in enumerate([Draft(key="k", ttl=9), Draft(delay=9), Draft(priority=2), Draft()]):
            await put(backend, queue, b"%d" % n, draft, window=9)
        await backend.pause(queue, [4])  # type: ignore[list-item]  # a plain number
        await take(backend, queue)
        assert (await backend.clear(queue)).unacked == 4
        assert await backend.audit() == []
        await backend.remove_queue(queue)
        with redis.Redis(port=redis_server.port) as client:
            left = {key.split(b":", 1)[1] for key in client.scan_iter(f"{{{prefix}}}:*")}
        assert left == {
            b"layout",
            b"last-id",
            b"last-queue",
            b"unacked",
            b"daemons",
            b"places",
            b"answers:" + backend.daemon.encode(),
        }
