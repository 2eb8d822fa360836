"""The contract of upkeep: how leases end, and the clock mark.

Where the server's clock counts, tests can't move the time; they use leases of no length, which are over at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from queuefs.backend import Settled
from queuefs.clock import ClockMark
from queuefs.lifecycle import State
from queuefs.message import Counts, MessageId, QueueId
from queuefs.testing.base import LEASE, START, Contract, find, lose, new_queue, put, take, take_one

if TYPE_CHECKING:
    from queuefs.backend import Backend

MARK = ClockMark(boot_id="6d1c2f0e-0000-4000-8000-000000000001", uptime=12345.678901, at=1_700_000_000.25)


only_own_time = pytest.mark.usefixtures("only_own_time")


class UpkeepContract(Contract):
    """Upkeep: `tick`, and the clock mark."""

    @only_own_time
    async def test_a_lease_is_over_at_its_very_end(self, backend: Backend, queue: QueueId) -> None:
        """Not before ``lease_until``, and at that moment already."""
        message = await put(backend, queue)
        claimed = await take_one(backend, queue, lease=LEASE)
        assert claimed.lease_until == START + LEASE
        early = await backend.tick(now=START + LEASE - 2**-7, limit=100)
        assert list(early.expired) == []
        assert await backend.counts(queue) == Counts(pending=0, processing=1)
        tick = await backend.tick(now=START + LEASE, limit=100)
        assert list(tick.expired) == [(queue, message)]
        assert await backend.counts(queue) == Counts(pending=1, processing=0)

    async def test_a_lost_message_is_pending_again(self, backend: Backend, queue: QueueId) -> None:
        """Attempt and claims stay, the lease is none, and the old receipt is stale, also once it is claimed anew."""
        await put(backend, queue, b"abc")
        old = await lose(backend, queue)
        message = await find(backend, queue, old.id)
        assert (message.state, message.attempt, message.claims, message.lease_until) == (State.PENDING, 1, 1, None)
        assert list(await backend.ack(queue, [old.receipt])) == [Settled.STALE]
        new = await take_one(backend, queue)
        assert (new.data, new.attempt, new.claims) == (b"abc", 2, 2)
        assert list(await backend.ack(queue, [old.receipt, new.receipt])) == [Settled.STALE, Settled.DONE]

    async def test_nothing_but_a_tick_ends_a_lease(self, backend: Backend, queue: QueueId) -> None:
        """Until then a claim does not hand the message out, and its holder may settle or extend it, however late."""
        for _ in range(2):
            await put(backend, queue)
        first, second = await take(backend, queue, 2, lease=0.0)
        assert list(await take(backend, queue, 2, now=START + LEASE)) == []
        assert await backend.counts(queue) == Counts(pending=0, processing=2)
        assert list(await backend.ack(queue, [first.receipt])) == [Settled.DONE]
        extended = await backend.extend(queue, [second.receipt], lease=LEASE, now=START + LEASE)
        assert list(extended) == [Settled.DONE]
        assert list((await backend.tick(now=START + LEASE, limit=100)).expired) == []
        assert list(await backend.ack(queue, [second.receipt])) == [Settled.DONE]

    @only_own_time
    async def test_an_extended_lease_ends_at_its_new_end(self, backend: Backend, queue: QueueId) -> None:
        """Neither at the old one nor later, whether it became longer or shorter."""
        await put(backend, queue)
        await put(backend, queue)
        longer, shorter = await take(backend, queue, 2, lease=LEASE)
        await backend.extend(queue, [longer.receipt], lease=LEASE, now=START + 4)
        await backend.extend(queue, [shorter.receipt], lease=LEASE / 4, now=START + 4)
        tick = await backend.tick(now=START + 4 + LEASE / 4, limit=100)
        assert list(tick.expired) == [(queue, shorter.id)]
        assert list((await backend.tick(now=START + LEASE + 2, limit=100)).expired) == []
        tick = await backend.tick(now=START + LEASE + 4, limit=100)
        assert list(tick.expired) == [(queue, longer.id)]

    async def test_a_message_that_is_claimed_anew_has_its_new_lease_alone(
        self, backend: Backend, queue: QueueId
    ) -> None:
        """The lease of a claim that was taken back or nacked ends nothing."""
        await put(backend, queue)
        for settle in (backend.undo, backend.nack):
            old = await take_one(backend, queue, lease=0.0)
            await settle(queue, [old.receipt])
        new = await take_one(backend, queue, lease=LEASE)
        assert list((await backend.tick(now=START + 1, limit=100)).expired) == []
        assert list(await backend.ack(queue, [new.receipt])) == [Settled.DONE]

    async def test_leases_that_come_and_go_hide_no_other(self, backend: Backend, queue: QueueId) -> None:
        """However many leases began, started anew and were over meanwhile, one that is due is found."""
        given = {await put(backend, queue) for _ in range(3)}
        await take(backend, queue, 3, lease=0.0)
        await put(backend, queue)
        for _ in range(150):
            message = await take_one(backend, queue)
            await backend.extend(queue, [message.receipt], lease=LEASE, now=START)
            await backend.nack(queue, [message.receipt])
        tick = await backend.tick(now=START, limit=100)
        assert {message for _, message in tick.expired} == given
        assert (await backend.tick(now=START, limit=100)).next_due != 0

    async def test_a_tick_reaches_every_queue(self, backend: Backend, queue: QueueId) -> None:
        """It names each message with its queue; children, and queues that were renamed, are no exception."""
        child = await new_queue(backend, "child", parent=queue)
        other = await new_queue(backend, "other")
        expected = []
        for number in (queue, child, other):
            expected.append((number, await put(backend, number)))
            await take(backend, number, lease=0.0)
        await backend.rename_queue(child, parent=other, name="moved")
        tick = await backend.tick(now=START, limit=100)
        assert sorted(tick.expired) == sorted(expected)
        assert list((await backend.tick(now=START, limit=100)).expired) == []

    async def test_a_tick_does_no_more_than_its_limit(self, backend: Backend, queue: QueueId) -> None:
        """At most *limit* messages, and 0 for the time to the next while more is due."""
        given = {await put(backend, queue) for _ in range(5)}
        await take(backend, queue, 5, lease=0.0)
        lost: list[tuple[QueueId, MessageId]] = []
        for _ in range(2):
            tick = await backend.tick(now=START, limit=2)
            assert tick.next_due == 0
            lost += tick.expired
            assert len(tick.expired) == 2  # noqa: PLR2004 - the limit
        assert await backend.counts(queue) == Counts(pending=4, processing=1)
        tick = await backend.tick(now=START, limit=2)
        assert {message for _, message in [*lost, *tick.expired]} == given
        assert tick.next_due != 0
        assert await backend.counts(queue) == Counts(pending=5, processing=0)

    async def test_a_tick_says_when_to_come_again(self, backend: Backend, queue: QueueId) -> None:
        """The seconds until the next lease ends; None while nothing is in sight (a shared store may have its own)."""
        if not backend.traits.shared:
            assert (await backend.tick(now=START, limit=100)).next_due is None
        for _ in range(2):
            await put(backend, queue)
        late, soon = await take_one(backend, queue, lease=100 * LEASE), await take_one(backend, queue, lease=LEASE)
        due = (await backend.tick(now=START + 2, limit=100)).next_due
        assert due is not None
        if backend.traits.server_time or backend.traits.shared:
            assert 0 < due <= LEASE
            return
        assert due == LEASE - 2
        await backend.extend(queue, [soon.receipt], lease=LEASE, now=START + 2)
        assert (await backend.tick(now=START + 3, limit=100)).next_due == LEASE - 1
        await backend.ack(queue, [soon.receipt])
        assert (await backend.tick(now=START + 4, limit=100)).next_due == 100 * LEASE - 4
        await backend.nack(queue, [late.receipt])
        assert (await backend.tick(now=START + 5, limit=100)).next_due is None

    async def test_a_tick_adopts_nothing_of_its_own(self, backend: Backend, queue: QueueId) -> None:
        """What this open store has staged stays staged, however late it is."""
        message = await backend.stage(queue, b"x", partial=False, priority=0, now=START)
        tick = await backend.tick(now=START + 1000 * LEASE, limit=100)
        assert list(tick.adopted) == []
        assert await backend.counts(queue) == Counts(pending=0, processing=0)
        await backend.publish(queue, message)

    async def test_the_clock_mark_is_kept(self, backend: Backend) -> None:
        """What was saved last is loaded, to the last bit; none at first, nor where the server's clock counts."""
        assert await backend.load_clock() is None
        await backend.save_clock(ClockMark(boot_id="other", uptime=1.0, at=2.0))
        await backend.save_clock(MARK)
        assert await backend.load_clock() == (None if backend.traits.server_time else MARK)
