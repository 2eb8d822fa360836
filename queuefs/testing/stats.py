"""The contract of stats: counts and totals that add up, from one snapshot."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from queuefs.backend import Settled
from queuefs.message import Draft, MessageId, QueueId, Ref, Room, Stats, Verdict
from queuefs.testing.base import (
    BRIEF,
    FOREVER,
    LATER,
    START,
    Contract,
    bury,
    lose,
    nack,
    new_queue,
    publish,
    put,
    put_dead,
    stage,
    take,
    take_one,
)
from queuefs.testing.walk import Walk

if TYPE_CHECKING:
    from queuefs.backend import Backend

NOTHING = Stats(
    pending=0,
    processing=0,
    delayed=0,
    paused=0,
    dead=0,
    done=0,
    unacked_bytes=0,
    oldest_pending=None,
    enqueued=0,
    dequeued=0,
    acked=0,
    nacked=0,
    expired=0,
    buried=0,
)


class StatsContract(Contract):
    """`stats`."""

    async def test_a_new_queue_has_done_nothing(self, backend: Backend, queue: QueueId) -> None:
        """All counts and totals are 0; what is staged is in none, nor what another queue does."""
        other = await new_queue(backend, "other", parent=queue)
        await put_dead(backend, other)
        await put(backend, other, draft=Draft(delay=FOREVER))
        assert await backend.stats(queue) == NOTHING
        staged = await stage(backend, queue)
        assert await backend.stats(queue) == NOTHING
        await backend.discard(queue, staged)
        assert await backend.stats(queue) == NOTHING

    async def test_every_step_is_in_its_total(self, backend: Backend, queue: QueueId) -> None:
        """What its holder gives back is nacked, what a lease ended is expired; either way it may be buried too."""
        for _ in range(5):
            await put(backend, queue, b"ab")
        await take_one(backend, queue)
        await backend.ack(queue, [Ref((await take_one(backend, queue)).id)], now=START)
        await nack(backend, queue, [(await take_one(backend, queue)).receipt])
        await lose(backend, queue)
        await bury(backend, queue, await take_one(backend, queue))
        lost = await take_one(backend, queue, lease=0.0)
        await backend.expire(queue, [Verdict(ref=lost.receipt, dead=True)], now=LATER)
        stats = await backend.stats(queue)
        assert (stats.pending, stats.processing, stats.dead, stats.unacked_bytes) == (1, 1, 2, 4)
        assert (stats.enqueued, stats.dequeued, stats.acked) == (5, 6, 1)
        assert (stats.nacked, stats.expired, stats.buried) == (2, 2, 2)

    async def test_an_undone_claim_never_was(self, backend: Backend, queue: QueueId) -> None:
        """It is taken back from `dequeued`, and is no nack."""
        await put(backend, queue)
        before = await backend.stats(queue)
        claimed = await take_one(backend, queue)
        assert (await backend.stats(queue)).dequeued == 1
        await backend.undo(queue, [claimed.receipt, claimed.receipt], now=START)
        assert await backend.stats(queue) == before

    async def test_what_was_not_done_is_in_no_total(self, backend: Backend, queue: QueueId) -> None:
        """Stale and unknown ones, extended leases, checks."""
        message = await put(backend, queue)
        claimed = await take_one(backend, queue, lease=FOREVER)
        before = await backend.stats(queue)
        stale = [Ref(message, 7), Ref(MessageId(message + 1000))]
        await backend.ack(queue, stale, now=START)
        await nack(backend, queue, stale)
        await backend.undo(queue, stale, now=START)
        await backend.expire(queue, [Verdict(ref=ref) for ref in (*stale, claimed.receipt)], now=START)
        await backend.extend(queue, [claimed.receipt], lease=FOREVER, now=START)
        await backend.check(queue, [claimed.receipt])
        await backend.retry(queue, [message], now=START)
        assert await backend.stats(queue) == before

    async def test_a_cancelled_message_is_in_the_total_of_how_it_was_settled(
        self, backend: Backend, queue: QueueId
    ) -> None:
        """But it is not buried, for it is gone."""
        for _ in range(4):
            await put(backend, queue)
        acked, nacked, lost, undone = await take(backend, queue, 4, lease=0.0)
        await backend.cancel(queue, [each.id for each in (acked, nacked, lost, undone)], now=START)
        await backend.ack(queue, [acked.receipt], now=START)
        await bury(backend, queue, nacked)
        await backend.expire(queue, [Verdict(ref=lost.receipt, dead=True)], now=LATER)
        await backend.undo(queue, [undone.receipt], now=START)
        stats = await backend.stats(queue)
        assert (stats.enqueued, stats.dequeued, stats.acked) == (4, 3, 1)
        assert (stats.nacked, stats.expired, stats.buried, stats.dead) == (1, 1, 0, 0)

    async def test_totals_stay_when_messages_go(self, backend: Backend, queue: QueueId) -> None:
        """`clear`, `cancel`, `drop` and the end of a life take no total back; a retry is no second enqueue."""
        await put_dead(backend, queue)
        await backend.retry(queue, None, now=START)
        await bury(backend, queue, await take_one(backend, queue))
        await backend.drop(queue, None)
        await backend.cancel(queue, [await put(backend, queue)], now=START)
        await put(backend, queue, draft=Draft(ttl=BRIEF))
        await backend.tick(now=LATER, limit=10)
        await put(backend, queue)
        await backend.clear(queue)
        stats = await backend.stats(queue)
        assert stats == replace(NOTHING, enqueued=4, dequeued=2, nacked=2, buried=2)

    async def test_delayed_and_paused_are_told_apart(self, backend: Backend, queue: QueueId) -> None:
        """What is paused counts as paused alone, due or not; both are pending."""
        delayed, both = [await put(backend, queue, draft=Draft(delay=FOREVER)) for _ in range(2)]
        paused, free = [await put(backend, queue) for _ in range(2)]
        await backend.pause(queue, [both, paused])
        stats = await backend.stats(queue)
        assert (stats.pending, stats.delayed, stats.paused) == (4, 1, 2)
        await backend.resume(queue, [both])
        stats = await backend.stats(queue)
        assert (stats.pending, stats.delayed, stats.paused) == (4, 2, 1)
        await backend.cancel(queue, [delayed, paused, free], now=START)
        stats = await backend.stats(queue)
        assert (stats.pending, stats.delayed, stats.paused) == (1, 1, 0)
        await backend.clear(queue)
        stats = await backend.stats(queue)
        assert (stats.pending, stats.delayed, stats.paused) == (0, 0, 0)

    async def test_a_delay_that_is_over_is_none(self, backend: Backend, queue: QueueId) -> None:
        """At the latest when a tick has said so."""
        for _ in range(2):
            await put(backend, queue, draft=Draft(delay=BRIEF))
        await backend.tick(now=LATER, limit=10)
        stats = await backend.stats(queue)
        assert (stats.pending, stats.delayed) == (2, 0)
        await take(backend, queue, 9, now=LATER)
        stats = await backend.stats(queue)
        assert (stats.pending, stats.processing, stats.delayed) == (0, 2, 0)

    async def test_a_message_given_back_with_a_delay_is_delayed(self, backend: Backend, queue: QueueId) -> None:
        """Until it is handed out, or gone."""
        message = await put(backend, queue)
        await take_one(backend, queue)
        await nack(backend, queue, [Ref(message)], delay=FOREVER)
        assert (await backend.stats(queue)).delayed == 1
        await backend.clear(queue)
        assert (await backend.stats(queue)).delayed == 0

    async def test_the_oldest_is_the_one_that_was_enqueued_first(self, backend: Backend, queue: QueueId) -> None:
        """Among all that are pending, whatever their priority, delayed and paused ones included; None if none is."""
        given = []
        for second, priority in enumerate((-1, 5, 0, 0)):
            message = await backend.stage(
                queue, b"x", draft=Draft(priority=priority), room=Room(), partial=False, now=START + second
            )
            given.append(message)
        for message in (given[2], given[0], given[3], given[1]):
            await publish(backend, queue, message, now=START + 10)
        times = [each.enqueued_at for each in await backend.find(queue, given) if each]
        assert await self._oldest(backend, queue) == times[0]
        await backend.pause(queue, given[:1])
        assert await self._oldest(backend, queue) == times[0]
        await backend.cancel(queue, given[:1], now=START)
        assert await self._oldest(backend, queue) == times[1]
        claimed = await take_one(backend, queue)
        assert await self._oldest(backend, queue) == times[2]
        await nack(backend, queue, [claimed.receipt], delay=FOREVER)
        assert await self._oldest(backend, queue) == times[1]
        await backend.cancel(queue, given[1:3], now=START)
        assert await self._oldest(backend, queue) == times[3]
        await take_one(backend, queue)
        assert await self._oldest(backend, queue) is None
        await nack(backend, queue, [Ref(given[3])])
        assert await self._oldest(backend, queue) == times[3]

    @pytest.mark.parametrize("seed", [1, 2, 3])
    async def test_totals_add_up_whatever_happens(self, backend: Backend, queue: QueueId, seed: int) -> None:
        """After every step of a random walk, all numbers are those that the answers add up to."""
        other = await new_queue(backend, "other")
        walk = Walk(backend, queue, other, random.Random(seed))  # noqa: S311 - the same each time
        for _ in range(200):
            await walk.step()
            await walk.compare()
        assert walk.stats.buried > 0
        assert walk.stats.acked > 0

    async def test_all_numbers_are_of_one_moment(self, backend: Backend, queue: QueueId) -> None:
        """Between two calls without waiting, none of a step is in it and all of it after."""
        await put(backend, queue, b"abc")
        before = backend.stats(queue)
        claiming = backend.claim(queue, count=1, lease=1.0, lifo=False, now=START)
        between = backend.stats(queue)
        acking = backend.ack(queue, [Ref(MessageId(1)), *(Ref(each.id) for each in await claiming)], now=START)
        after = backend.stats(queue)
        stats = [await each for each in (before, between, after)]
        assert [(each.pending, each.processing, each.unacked_bytes) for each in stats] == [
            (1, 0, 3),
            (0, 1, 3),
            (0, 0, 0),
        ]
        assert [(each.dequeued, each.acked) for each in stats] == [(0, 0), (1, 0), (1, 1)]
        assert Settled.DONE in await acking

    async def _oldest(self, backend: Backend, queue: QueueId) -> float | None:
        return (await backend.stats(queue)).oldest_pending
