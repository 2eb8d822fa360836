"""Keys, room, pauses, cancelled and dead messages, and what is counted of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from queuefs.backend import Settled
from queuefs.errors import QueueFull, QueueNotEmpty, QueueNotFound
from queuefs.message import Counts, Draft, Ref, Room, Verdict
from tests.sqlite.steps import NOW, ROOM, inside, new_queue, opened, put, stage, staging, take

if TYPE_CHECKING:
    from queuefs.message import Message, MessageId, QueueId
    from queuefs_sqlite import SQLiteBackend

DONE, STALE, UNKNOWN = Settled.DONE, Settled.STALE, Settled.UNKNOWN


async def bury(backend: SQLiteBackend, queue: QueueId, message: Message) -> None:
    verdict = Verdict(ref=message.receipt, dead=True, reason="bad")
    assert await backend.nack(queue, [verdict], now=NOW) == [DONE]


# Keys ---------------------------------------------------------------------------------------------------------------


async def test_a_key_is_held_while_it_is_unacknowledged_and_for_its_window(url: str) -> None:
    async with opened(url) as backend:
        queue, other = await new_queue(backend), await new_queue(backend, "other")
        first = await put(backend, queue, key="k", window=10.0)
        assert await put(backend, queue, key="k", now=NOW + 99) == first
        assert await put(backend, other, key="k") != first
        assert await backend.counts(queue) == Counts(pending=1, processing=0)
        (claimed,) = await take(backend, queue)
        assert await backend.find_key(queue, "k", now=NOW, window=0.0) == first
        await backend.ack(queue, [claimed.receipt], now=NOW)
        assert await backend.find_key(queue, "k", now=NOW, window=0.0) is None
        assert await put(backend, queue, key="k", now=NOW + 9.5, window=10.0) == first
        await backend.tick(now=NOW + 9.5, limit=9)
        assert await backend.find_key(queue, "k", now=NOW + 9.5, window=10.0) == first
        assert await put(backend, queue, key="k", now=NOW + 10, window=10.0) > first
        await backend.tick(now=NOW + 20, limit=9)
        assert inside(backend).db.execute("SELECT count(*) FROM keys").fetchall() == [(0,)]


async def test_a_cleared_key_is_free_at_once_unless_its_window_runs(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        free = await put(backend, queue, key="free")
        kept = await put(backend, queue, key="kept", window=60.0)
        await backend.clear(queue)
        assert await put(backend, queue, key="free") > free
        assert await put(backend, queue, key="kept", window=60.0) == kept
        assert await put(backend, queue, key="kept", window=0.0) > kept


async def test_a_key_of_a_dead_message_is_free_until_it_is_retried(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        first = await put(backend, queue, key="k")
        (claimed,) = await take(backend, queue)
        await bury(backend, queue, claimed)
        second = await put(backend, queue, key="k")
        assert second > first
        await backend.cancel(queue, [second], now=NOW)
        await backend.retry(queue, None, now=NOW)
        assert await put(backend, queue, key="k") == first


async def test_adoption_keeps_to_keys_and_delays(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        first = await put(backend, queue, key="k")
        await stage(backend, queue, b"twice", key="k")
        late = await stage(backend, queue, b"late", delay=5.0, ttl=9.0)
    async with opened(url) as backend:
        assert await backend.counts(queue) == Counts(pending=1, processing=0)
        tick = await backend.tick(now=NOW, limit=9)
        assert (tick.adopted, tick.next_due) == ([(queue, late)], 5.0)
        assert [(m.id, m.due, m.expires_at) for m in await backend.snapshot(queue)] == [
            (first, None, None),
            (late, NOW + 5, NOW + 9),
        ]
        assert (await backend.stats(queue)).enqueued == 2


# Room ---------------------------------------------------------------------------------------------------------------


async def test_staged_messages_take_room(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        last = await put(backend, queue, b"123")
        for room in (Room(messages=1), Room(bytes=5)):
            with pytest.raises(QueueFull):
                await backend.stage(queue, b"456", draft=Draft(), room=room, partial=False, now=NOW)
        room = Room(messages=2, bytes=6)
        staged = await backend.stage(queue, b"456", draft=Draft(), room=room, partial=False, now=NOW)
        assert staged == last + 1
        answers = [
            backend.append(queue, staged, b"7", offset=3, partial=True, room=room),
            backend.append(queue, staged, b"", offset=3, partial=True, room=room),
            backend.append(queue, staged, b"7", offset=3, partial=False, room=Room(bytes=7)),
            backend.stage(queue, b"", draft=Draft(), room=room, partial=False, now=NOW),
        ]
        with pytest.raises(QueueFull):
            await answers[0]
        await answers[1]
        await answers[2]
        with pytest.raises(QueueFull):
            await answers[3]
        await backend.discard(queue, staged)
        await backend.stage(queue, b"456", draft=Draft(), room=room, partial=False, now=NOW)


# By name ------------------------------------------------------------------------------------------------------------


async def test_paused_messages_stay_where_they_are(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        first, second, late = [await put(backend, queue, delay=delay) for delay in (0.0, 0.0, 5.0)]
        assert await backend.pause(queue, [first, late, first, 77]) == [DONE, DONE, DONE, UNKNOWN]  # type: ignore[list-item]
        stats = await backend.stats(queue)
        assert (stats.pending, stats.paused, stats.delayed) == (3, 2, 0)
        assert [m.paused for m in await backend.snapshot(queue)] == [True, False, True]
        assert [message.id for message in await take(backend, queue, 9, now=NOW + 9)] == [second]
        assert (await backend.tick(now=NOW + 9, limit=9)).ripe == []
        assert await backend.pause(queue, [second]) == await backend.resume(queue, [second]) == [STALE]
        assert await take(backend, queue) == []  # from memory
        assert await backend.resume(queue, [first, late, first]) == [DONE] * 3
        assert (await backend.tick(now=NOW + 4, limit=9)).next_due == 1.0
        assert (await backend.tick(now=NOW + 9, limit=9)).ripe == [queue]
        assert [message.id for message in await take(backend, queue, 9)] == [first, late]


@pytest.mark.parametrize("way", ["ack", "nack", "bury", "expire", "undo"])
async def test_a_cancelled_message_is_gone_whichever_way_it_is_settled(url: str, way: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        message, waiting = await put(backend, queue), await put(backend, queue)
        (claimed,) = await take(backend, queue)
        assert await backend.cancel(queue, [message, waiting, message, waiting], now=NOW) == [DONE, DONE, DONE, UNKNOWN]
        assert (await backend.snapshot(queue))[0].cancelled
        assert await backend.extend(queue, [claimed.receipt], lease=5.0, now=NOW) == [Settled.CANCELLED]
        assert [o.cancelled for o in (await backend.tick(now=NOW + 5, limit=9)).overdue] == [True]
        verdict = Verdict(ref=claimed.receipt, delay=3.0, dead=way == "bury")
        settle = {
            "ack": lambda: backend.ack(queue, [claimed.receipt], now=NOW),
            "nack": lambda: backend.nack(queue, [verdict], now=NOW),
            "bury": lambda: backend.nack(queue, [verdict], now=NOW),
            "expire": lambda: backend.expire(queue, [verdict], now=NOW + 5),
            "undo": lambda: backend.undo(queue, [claimed.receipt], now=NOW),
        }
        assert await settle[way]() == [DONE]
        assert await backend.find(queue, [message, waiting]) == [None, None]
        stats = await backend.stats(queue)
        assert (stats.pending, stats.processing, stats.dead, stats.unacked_bytes) == (0, 0, 0, 0)


# Dead messages --------------------------------------------------------------------------------------------------------


async def three_dead(backend: SQLiteBackend, queue: QueueId) -> list[MessageId]:
    for _ in range(3):
        await put(backend, queue, b"12", ttl=50.0)
    claimed = await take(backend, queue, 3)
    for message in claimed:
        await bury(backend, queue, message)
    return [message.id for message in claimed]


async def test_dead_messages_survive_a_clear_and_keep_the_queue(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        dead = await three_dead(backend, queue)
        await put(backend, queue)
        assert await backend.clear(queue) == Counts(pending=1, processing=0)
        with pytest.raises(QueueNotEmpty):
            await backend.remove_queue(queue)
        assert [(m.id, m.reason, m.attempt) for m in await backend.dead(queue)] == [(id, "bad", 1) for id in dead]  # noqa: A001 - its name
        assert await backend.payloads(queue, dead) == [b"12"] * 3
        assert [m and m.id for m in await backend.find(queue, dead)] == dead
        assert await backend.unacked_bytes(queue) == 0
        assert (await backend.tick(now=NOW + 99, limit=9)).lapsed == []
    async with opened(url) as backend:
        assert await backend.drop(queue, dead[:1]) == [DONE]
        assert await backend.drop(queue, [*dead, 99]) == [UNKNOWN, DONE, DONE, UNKNOWN]  # type: ignore[list-item]
        await backend.remove_queue(queue)


async def test_a_retried_message_begins_anew_at_its_old_place(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        dead = await three_dead(backend, queue)
        alive = await put(backend, queue)
        assert await backend.retry(queue, [dead[0], alive, dead[0]], now=NOW) == [DONE, STALE, STALE]
        assert await backend.drop(queue, [alive]) == [STALE]
        assert await backend.retry(queue, None, now=NOW) == [DONE, DONE]
        assert await backend.retry(queue, None, now=NOW) == []
        assert await backend.unacked_bytes(queue) == 7
        again = await take(backend, queue, 9, now=NOW + 99)
        assert [(m.id, m.attempt, m.claims, m.expires_at) for m in again[:3]] == [(n, 1, 2, None) for n in dead]
        assert again[3].id == alive


async def test_to_drop_all_is_one_step_whatever_the_number(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        answers = [staging(backend, queue) for _ in range(500)]
        for answer in answers:
            await backend.publish(queue, await answer, now=NOW, window=0.0)
        claimed = await take(backend, queue, 500)
        verdicts = [Verdict(ref=message.receipt, dead=True) for message in claimed]
        assert await backend.nack(queue, verdicts, now=NOW) == [DONE] * 500
        before = inside(backend).db.total_changes
        dropped = backend.drop(queue, None)
        none = backend.dead(queue)
        removed = backend.remove_queue(queue)
        assert await dropped == [DONE] * 500
        assert await none == []
        await removed
        assert inside(backend).db.total_changes - before < 500
        while (await backend.tick(now=NOW, limit=100)).next_due == 0.0:
            pass
        assert inside(backend).db.execute("SELECT count(*) FROM messages").fetchall() == [(0,)]


# Counts ---------------------------------------------------------------------------------------------------------------


async def test_totals_outlive_a_clear_and_a_restart(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        given = [await put(backend, queue, b"12") for _ in range(6)]
        claimed = await take(backend, queue, 5)
        receipts = [message.receipt for message in claimed]
        await backend.undo(queue, receipts[:1], now=NOW)
        await backend.ack(queue, receipts[1:2], now=NOW)
        await backend.nack(queue, [Verdict(ref=receipts[2], delay=9.0), Verdict(ref=receipts[3], dead=True)], now=NOW)
        await backend.expire(queue, [Verdict(ref=receipts[4], reason="late")], now=NOW + 60)
        assert await backend.check(queue, [Ref(given[4])]) == [STALE]
        await backend.clear(queue)
    async with opened(url) as backend:
        stats = await backend.stats(queue)
        assert (stats.enqueued, stats.dequeued, stats.acked, stats.nacked) == (6, 4, 1, 2)
        assert (stats.expired, stats.buried, stats.dead) == (1, 1, 1)
        assert (stats.pending, stats.processing, stats.delayed, stats.oldest_pending) == (0, 0, 0, None)


async def test_a_config_is_replaced_only_if_it_is_what_was_expected(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        first = backend.set_config(queue, b"a", expected=b"")
        second = backend.set_config(queue, b"b", expected=b"")
        seen = backend.get_queue(queue)
        assert [await first, await second, (await seen).config] == [True, False, b"a"]
        await backend.append(queue, await stage(backend, queue), b"", offset=1, partial=False, room=ROOM)
    async with opened(url) as backend:
        assert (await backend.get_queue(queue)).config == b"a"
        with pytest.raises(QueueNotFound):
            await backend.set_config(queue + 1, b"", expected=b"")  # type: ignore[arg-type]
