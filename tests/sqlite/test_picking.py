"""Which messages are handed out, and in which order, whatever else lies in the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from queuefs.message import Ref, Verdict
from tests.sqlite.steps import NOW, inside, new_queue, opened, put, take

if TYPE_CHECKING:
    from queuefs.message import MessageId, QueueId
    from queuefs_sqlite import SQLiteBackend
    from tests.conftest import Logs


async def peeked(
    backend: SQLiteBackend, queue: QueueId, count: int = 99, *, lifo: bool = False, now: float = NOW
) -> list[MessageId]:
    return [message.id for message in await backend.peek(queue, count=count, lifo=lifo, now=now)]


async def taken(
    backend: SQLiteBackend, queue: QueueId, count: int = 99, *, lifo: bool = False, now: float = NOW
) -> list[MessageId]:
    return [message.id for message in await take(backend, queue, count, lifo=lifo, now=now)]


@pytest.mark.parametrize(("lifo", "order"), [(False, [3, 5, 1, 4, 2]), (True, [5, 3, 4, 1, 2])])
async def test_the_highest_priority_is_first_whichever_way(url: str, lifo: bool, order: list[int]) -> None:  # noqa: FBT001 - a parameter
    async with opened(url) as backend:
        queue = await new_queue(backend)
        for priority in (0, -7, 100, 0, 100):
            await put(backend, queue, priority=priority)
        assert await peeked(backend, queue, lifo=lifo) == order
        assert await peeked(backend, queue, 3, lifo=lifo) == order[:3]
        assert [await taken(backend, queue, n, lifo=lifo) for n in (1, 2, 9)] == [order[:1], order[1:3], order[3:]]


@pytest.mark.parametrize("lifo", [False, True])
async def test_delays_that_end_find_their_place_without_a_round_of_upkeep(url: str, lifo: bool) -> None:  # noqa: FBT001 - as above
    async with opened(url) as backend:
        queue = await new_queue(backend)
        late, other, high, ready = [
            await put(backend, queue, delay=delay, priority=priority)
            for delay, priority in ((20.0, 0), (10.0, 0), (10.0, 1), (0.0, 0))
        ]
        assert await peeked(backend, queue) == await peeked(backend, queue, now=NOW + 9.9) == [ready]
        both = [ready, other] if lifo else [other, ready]
        assert await peeked(backend, queue, lifo=lifo, now=NOW + 10) == [high, *both]
        assert (await backend.stats(queue)).delayed == 3  # a look changes nothing
        assert await taken(backend, queue, 1, lifo=lifo, now=NOW + 10) == [high]
        stats = await backend.stats(queue)
        assert (stats.pending, stats.delayed, stats.oldest_pending) == (3, 1, NOW)
        # Whoever waits for the second must be told, though a claim has met it first.
        tick = await backend.tick(now=NOW + 10, limit=9)
        assert (tick.ripe, tick.next_due) == ([queue], 10.0)
        assert (await backend.tick(now=NOW + 10, limit=9)).ripe == []
        assert (await backend.tick(now=NOW + 20, limit=9)).ripe == [queue]
        assert await peeked(backend, queue, now=NOW + 20) == [late, other, ready]


async def test_messages_that_ripen_by_the_thousand_keep_their_order(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("queuefs_sqlite.picking._RIPEN", 3)
    async with opened(url) as backend:
        queue = await new_queue(backend)
        given = [await put(backend, queue, delay=50.0 - number, priority=number % 2) for number in range(20)]
        order = given[1::2] + given[::2]
        assert await peeked(backend, queue, now=NOW + 60) == order
        assert [await taken(backend, queue, 4, now=NOW + 60) for _ in range(2)] == [order[:4], order[4:8]]
        assert (await backend.tick(now=NOW + 60, limit=2)).next_due == 0.0
        assert await taken(backend, queue, 99, now=NOW + 60) == order[8:]


async def test_what_was_lapsed_is_passed_over_and_removed_by_upkeep(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        ends = [await put(backend, queue, b"12", ttl=10.0, priority=number) for number in range(4)]
        delayed = await put(backend, queue, b"12", ttl=10.0, delay=5.0)
        stays = await put(backend, queue, b"12")
        held = await put(backend, queue, b"12", ttl=10.0)
        assert await backend.pause(queue, [held])
        (claimed,) = await take(backend, queue)
        assert claimed.expires_at == NOW + 10
        for lifo in (False, True):
            assert await peeked(backend, queue, lifo=lifo, now=NOW + 10) == [stays]
        first = await backend.tick(now=NOW + 10, limit=2)
        assert (len(first.lapsed), first.next_due) == (2, 0.0)
        rest = await backend.tick(now=NOW + 10, limit=9)
        assert sorted([*first.lapsed, *rest.lapsed]) == [(queue, message) for message in (*ends[:-1], delayed, held)]
        assert await backend.unacked_bytes(queue) == 4
        assert (await backend.stats(queue)).paused == 0
        # One in processing is safe until it is given back.
        await backend.nack(queue, [Verdict(ref=Ref(claimed.id))], now=NOW + 11)
        assert await peeked(backend, queue, now=NOW + 11) == [stays]
        assert (await backend.tick(now=NOW + 11, limit=9)).lapsed == [(queue, claimed.id)]


@pytest.mark.parametrize("lifo", [False, True])
async def test_damaged_ones_in_front_stop_nobody(url: str, logs: Logs, lifo: bool) -> None:  # noqa: FBT001 - as above
    async with opened(url) as backend:
        queue = await new_queue(backend)
        given = [await put(backend, queue, priority=number // 4) for number in range(12)]
        delayed = await put(backend, queue, delay=1.0, priority=9)
        spoilt = [*given[5:], delayed]
        db = inside(backend).db
        db.execute(f"UPDATE body SET data = x'00' WHERE id IN ({','.join(map(str, spoilt))})")
        logs.expect("payload damaged", count=len(spoilt))
        order = [given[4], *(reversed(given[:4]) if lifo else given[:4])]
        assert await peeked(backend, queue, 1, lifo=lifo, now=NOW + 1) == order[:1]
        assert await taken(backend, queue, 3, lifo=lifo, now=NOW + 1) == order[:3]
        assert await taken(backend, queue, 3, lifo=lifo, now=NOW + 1) == order[3:]
        db.execute("UPDATE body SET data = x'78'")


async def test_what_lies_in_trash_holds_nothing_up(url: str) -> None:
    async with opened(url) as backend:
        gone, queue = await new_queue(backend, "gone"), await new_queue(backend)
        for _ in range(3):
            for delay, ttl in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)):
                await put(backend, gone, delay=delay, ttl=ttl)
        await take(backend, gone, 2)
        cleared = backend.clear(gone)
        removed = backend.remove_queue(gone)
        await cleared
        await removed
        for delay, ttl in ((0.0, 2.0), (2.0, 0.0), (0.0, 0.0)):
            await put(backend, queue, delay=delay, ttl=ttl)
        (claimed,) = await backend.claim(queue, count=1, lease=2.0, lifo=True, now=NOW)
        tick = await backend.tick(now=NOW + 100, limit=9)
        assert [len(tick.lapsed), tick.ripe] == [1, [queue]]
        assert [overdue.receipt for overdue in tick.overdue] == [claimed.receipt]
        while (await backend.tick(now=NOW, limit=9)).next_due == 0.0:
            pass
        assert inside(backend).trash == []
