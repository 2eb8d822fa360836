"""The contract of time to wait and time to live: delays, `ripe`, and messages that lapse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from queuefs.backend import Settled
from queuefs.lifecycle import State
from queuefs.message import Counts, Draft, QueueId, Ref, Verdict
from queuefs.testing.base import (
    BRIEF,
    FOREVER,
    LATER,
    LEASE,
    START,
    Contract,
    bury,
    find,
    ids,
    nack,
    new_queue,
    peek,
    pending,
    publish,
    put,
    stage,
    state_of,
    take,
    take_one,
)

if TYPE_CHECKING:
    from queuefs.backend import Backend

#: The last moment before another, by a test's clock.
INSTANT = 2.0**-7

only_own_time = pytest.mark.usefixtures("only_own_time")


class DelayContract(Contract):
    """Delays: what is pending and can't be handed out yet."""

    async def test_a_delayed_message_is_pending_and_not_handed_out(self, backend: Backend, queue: QueueId) -> None:
        """It is counted and shown, with the moment at which it is due; neither claim nor peek return it."""
        message = await put(backend, queue, b"abc", draft=Draft(delay=FOREVER))
        assert await backend.counts(queue) == Counts(pending=1, processing=0)
        assert await backend.unacked_bytes(queue) == 3  # noqa: PLR2004 - as above
        shown = await find(backend, queue, message)
        assert (shown.state, shown.attempt, shown.expires_at) == (State.PENDING, 0, None)
        assert shown.due is not None
        if backend.traits.server_time:
            assert 0 <= shown.due - shown.enqueued_at - FOREVER < LEASE
        else:
            assert shown.due == START + FOREVER
        assert list(await backend.snapshot(queue)) == [shown]
        assert list(await take(backend, queue)) == []
        assert list(await peek(backend, queue)) == []

    async def test_without_a_delay_there_is_nothing_to_wait_for(self, backend: Backend, queue: QueueId) -> None:
        """Such a message has no moment at which it is due."""
        assert (await find(backend, queue, await put(backend, queue))).due is None

    @pytest.mark.parametrize("lifo", [False, True])
    async def test_it_stops_nobody_behind_it(self, backend: Backend, queue: QueueId, lifo: bool) -> None:  # noqa: FBT001 - a parameter
        """However many stand at the head of the line, and however high their priority."""
        for priority in (5, 0, 0):
            for _ in range(20):
                await put(backend, queue, draft=Draft(priority=priority, delay=FOREVER))
        given = [await put(backend, queue, priority=-1) for _ in range(2)]
        for _ in range(20):
            await put(backend, queue, draft=Draft(delay=FOREVER))
        given = given[::-1] if lifo else given
        assert ids(await peek(backend, queue, 9, lifo=lifo)) == given
        assert ids(await take(backend, queue, 9, lifo=lifo)) == given

    @only_own_time
    async def test_a_delay_is_over_at_its_very_end(self, backend: Backend, queue: QueueId) -> None:
        """``due`` <= now: handed out at that moment, without a tick, and not before; it counts from the publication."""
        message = await stage(backend, queue, draft=Draft(delay=8))
        await publish(backend, queue, message, now=START + 2)
        assert (await find(backend, queue, message)).due == START + 10
        early = START + 10 - INSTANT
        assert list(await peek(backend, queue, now=early)) == []
        assert list(await take(backend, queue, now=early)) == []
        assert ids(await peek(backend, queue, now=START + 10)) == [message]
        claimed = await take_one(backend, queue, now=START + 10)
        assert (claimed.id, claimed.due) == (message, None)
        await nack(backend, queue, [claimed.receipt], now=START + 10)
        assert (await find(backend, queue, message)).due is None

    async def test_a_short_delay_is_over_soon(self, backend: Backend, queue: QueueId) -> None:
        """On any clock."""
        message = await put(backend, queue, draft=Draft(delay=BRIEF))
        assert (await take_one(backend, queue, now=LATER)).id == message

    @only_own_time
    async def test_whoever_has_waited_is_at_its_place(self, backend: Backend, queue: QueueId) -> None:
        """By priority and id, not by the moment at which its delay was over; the same for what was given back."""
        drafts = [Draft(delay=9), Draft(), Draft(priority=1, delay=5), Draft(delay=1), Draft(priority=1), Draft()]
        given = [await put(backend, queue, draft=draft) for draft in drafts]
        expected = [given[place] for place in (2, 4, 0, 1, 3, 5)]
        assert await pending(backend, queue) == expected
        assert ids(await peek(backend, queue, 9, now=START + 1)) == [given[place] for place in (4, 1, 3, 5)]
        assert ids(await peek(backend, queue, 9, now=START + 5)) == [given[place] for place in (2, 4, 1, 3, 5)]
        claimed = await take(backend, queue, 9, now=START + 9)
        assert ids(claimed) == expected
        for place, message in enumerate(claimed):
            await nack(backend, queue, [message.receipt], delay=9 - place, now=START + 9)
        assert ids(await take(backend, queue, 9, now=START + 18)) == expected

    @only_own_time
    async def test_a_message_given_back_with_a_delay_waits(self, backend: Backend, queue: QueueId) -> None:
        """``due`` = now + delay, for a nack and for the end of a lease; none where no delay is asked for."""
        message = await put(backend, queue)
        for settle in (backend.nack, backend.expire):
            claimed = await take_one(backend, queue, lease=0, now=START + 10)
            verdict = Verdict(ref=claimed.receipt, delay=4)
            assert list(await settle(queue, [verdict], now=START + 11)) == [Settled.DONE]
            shown = await find(backend, queue, message)
            assert (shown.state, shown.due, shown.lease_until) == (State.PENDING, START + 15, None)
            assert await backend.counts(queue) == Counts(pending=1, processing=0)
            assert list(await take(backend, queue, now=START + 15 - INSTANT)) == []
            claimed = await take_one(backend, queue, lease=0, now=START + 15)
            assert list(await settle(queue, [Verdict(ref=claimed.receipt)], now=START + 15)) == [Settled.DONE]
            assert (await find(backend, queue, message)).due is None

    async def test_a_claim_taken_back_does_not_wait_again(self, backend: Backend, queue: QueueId) -> None:
        """Its delay was over when it was claimed."""
        message = await put(backend, queue, draft=Draft(delay=BRIEF))
        claimed = await take_one(backend, queue, now=LATER)
        await backend.undo(queue, [claimed.receipt], now=START)
        assert (await find(backend, queue, message)).due is None
        assert (await take_one(backend, queue, now=LATER)).id == message

    async def test_a_tick_names_the_queues_in_which_a_delay_ended(self, backend: Backend, queue: QueueId) -> None:
        """So that whoever waits there is woken; each once."""
        other, third = await new_queue(backend, "other"), await new_queue(backend, "third")
        for number in (queue, other):
            await put(backend, number, draft=Draft(delay=BRIEF))
            await put(backend, number, draft=Draft(delay=BRIEF))
        await put(backend, third, draft=Draft(delay=FOREVER))
        await put(backend, third)
        assert sorted((await backend.tick(now=LATER, limit=100)).ripe) == sorted([queue, other])
        assert list((await backend.tick(now=LATER, limit=100)).ripe) == []
        assert len(await take(backend, queue, 9, now=LATER)) == 2  # noqa: PLR2004 - as above

    @only_own_time
    async def test_a_tick_comes_when_a_delay_ends(self, backend: Backend, queue: QueueId) -> None:
        """Not before it, and at that moment already."""
        await put(backend, queue, draft=Draft(delay=8))
        tick = await backend.tick(now=START + 8 - INSTANT, limit=100)
        assert list(tick.ripe) == []
        assert tick.next_due == INSTANT or (backend.traits.shared and tick.next_due)
        assert list((await backend.tick(now=START + 8, limit=100)).ripe) == [queue]

    @only_own_time
    async def test_a_tick_does_not_stop_at_its_limit_for_good(self, backend: Backend, queue: QueueId) -> None:
        """What it leaves is due at once, and found by the next; a claim finds all of it before."""
        for _ in range(5):
            await put(backend, queue, draft=Draft(delay=1))
        assert len(await peek(backend, queue, 9, now=LATER)) == 5  # noqa: PLR2004 - as above
        for _ in range(10):
            if (tick := await backend.tick(now=LATER, limit=2)).next_due != 0:
                break
        assert tick.next_due != 0
        assert (await backend.stats(queue)).delayed == 0


class LifeContract(Contract):
    """Time to live: what is gone if it is pending when its time is over."""

    async def test_a_time_to_live_is_shown(self, backend: Backend, queue: QueueId) -> None:
        """``expires_at`` is so long after the publication; none where none is asked for. A claim does not change it."""
        message = await put(backend, queue, draft=Draft(ttl=FOREVER))
        shown = await find(backend, queue, message)
        assert shown.expires_at is not None
        if backend.traits.server_time:
            assert 0 <= shown.expires_at - shown.enqueued_at - FOREVER < LEASE
        else:
            assert shown.expires_at == START + FOREVER
        claimed = await take_one(backend, queue)
        assert claimed.expires_at == shown.expires_at
        await nack(backend, queue, [claimed.receipt])
        assert (await find(backend, queue, message)).expires_at == shown.expires_at
        assert (await find(backend, queue, await put(backend, queue))).expires_at is None

    @only_own_time
    async def test_a_life_is_over_at_its_very_end(self, backend: Backend, queue: QueueId) -> None:
        """``expires_at`` <= now: not handed out at that moment, though a tick has not removed it; before, it is."""
        message = await stage(backend, queue, draft=Draft(ttl=8))
        await publish(backend, queue, message, now=START + 2)
        before = START + 10 - INSTANT
        tick = await backend.tick(now=before, limit=100)
        assert list(tick.lapsed) == []
        assert tick.next_due == INSTANT or (backend.traits.shared and tick.next_due)
        claimed = await take_one(backend, queue, now=before)
        await backend.undo(queue, [claimed.receipt], now=START)
        assert list(await peek(backend, queue, now=START + 10)) == []
        assert list(await take(backend, queue, now=START + 10)) == []
        assert await backend.counts(queue) == Counts(pending=1, processing=0)
        assert list((await backend.tick(now=START + 10, limit=100)).lapsed) == [(queue, message)]
        assert await backend.counts(queue) == Counts(pending=0, processing=0)

    async def test_a_lapsed_message_is_gone(self, backend: Backend, queue: QueueId) -> None:
        """From both counts, the sum of bytes and every view; it is reported once, and is no ack."""
        message = await put(backend, queue, b"abc", draft=Draft(ttl=BRIEF))
        assert list((await backend.tick(now=LATER, limit=100)).lapsed) == [(queue, message)]
        assert list((await backend.tick(now=LATER, limit=100)).lapsed) == []
        assert await backend.counts(queue) == Counts(pending=0, processing=0)
        assert await backend.unacked_bytes(queue) == 0
        assert list(await backend.snapshot(queue)) == []
        assert list(await backend.dead(queue)) == []
        assert await state_of(backend, queue, message, size=3) is State.GONE
        assert list(await backend.payloads(queue, [message])) == [None]
        assert list(await backend.ack(queue, [Ref(message)], now=START)) == [Settled.UNKNOWN]
        await backend.remove_queue(queue)

    async def test_what_is_delayed_or_paused_lapses_too(self, backend: Backend, queue: QueueId) -> None:
        """It is pending; so does what is both, and its delay ends nothing later."""
        delayed, paused, both = [
            await put(backend, queue, draft=Draft(ttl=BRIEF, delay=delay)) for delay in (LEASE, 0, LEASE)
        ]
        await backend.pause(queue, [paused, both])
        tick = await backend.tick(now=LATER, limit=100)
        assert sorted(tick.lapsed) == [(queue, delayed), (queue, paused), (queue, both)]
        tick = await backend.tick(now=START + 2 * LEASE, limit=100)
        assert list(tick.ripe) == []
        assert (await backend.stats(queue)).delayed == 0
        assert await backend.audit() == []

    @pytest.mark.parametrize("lifo", [False, True])
    async def test_whose_life_is_over_stops_nobody_behind_it(
        self,
        backend: Backend,
        queue: QueueId,
        lifo: bool,  # noqa: FBT001 - a parameter
    ) -> None:
        """A claim passes over it, also before a tick; and a tick removes it all the same."""
        for _ in range(20):
            await put(backend, queue, draft=Draft(priority=1, ttl=BRIEF))
        message = await put(backend, queue)
        for _ in range(20):
            await put(backend, queue, draft=Draft(ttl=BRIEF))
        assert ids(await peek(backend, queue, 9, lifo=lifo, now=LATER)) == [message]
        assert ids(await take(backend, queue, 9, lifo=lifo, now=LATER)) == [message]
        assert await backend.counts(queue) == Counts(pending=40, processing=1)
        assert len((await backend.tick(now=LATER, limit=100)).lapsed) == 40  # noqa: PLR2004 - as above

    @only_own_time
    async def test_what_is_in_processing_does_not_lapse(self, backend: Backend, queue: QueueId) -> None:
        """Its holder may settle it, however late; given back, it lapses at the next tick and is not handed out."""
        given = [await put(backend, queue, draft=Draft(ttl=8)) for _ in range(4)]
        claimed = await take(backend, queue, 4, lease=LEASE)
        late = START + LEASE
        assert list((await backend.tick(now=late, limit=100)).lapsed) == []
        await backend.ack(queue, [claimed[0].receipt], now=START)
        await nack(backend, queue, [claimed[1].receipt], now=late)
        await backend.undo(queue, [claimed[2].receipt], now=START)
        assert list(await backend.expire(queue, [Verdict(ref=claimed[3].receipt)], now=late)) == [Settled.DONE]
        assert await backend.counts(queue) == Counts(pending=3, processing=0)
        assert list(await take(backend, queue, 9, now=late)) == []
        tick = await backend.tick(now=late, limit=100)
        assert sorted(tick.lapsed) == [(queue, message) for message in given[1:]]

    @only_own_time
    async def test_the_dead_do_not_lapse(self, backend: Backend, queue: QueueId) -> None:
        """And one that is retried has no end of its life any more."""
        message = await put(backend, queue, draft=Draft(ttl=8))
        await bury(backend, queue, await take_one(backend, queue))
        assert list((await backend.tick(now=START + 100, limit=100)).lapsed) == []
        await backend.retry(queue, [message], now=START + 100)
        assert (await find(backend, queue, message)).expires_at is None
        assert list((await backend.tick(now=START + 100, limit=100)).lapsed) == []
        assert (await take_one(backend, queue, now=START + 100)).id == message

    async def test_many_lapse_by_and_by(self, backend: Backend, queue: QueueId) -> None:
        """A round removes about as many as its limit, and says that there is more; each is named once."""
        given = [await put(backend, queue, draft=Draft(ttl=BRIEF)) for _ in range(10)]
        lapsed = []
        for _ in range(20):
            tick = await backend.tick(now=LATER, limit=3)
            lapsed += [message for _, message in tick.lapsed]
            if tick.next_due != 0:
                break
            assert len(lapsed) < len(given)
        assert sorted(lapsed) == given
        assert await backend.counts(queue) == Counts(pending=0, processing=0)
