"""The contract of upkeep: how leases end, when to come again, and the clock mark.

Where the server's clock counts, tests can't move the time; they use leases of no length, which are over at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from queuefs.backend import Overdue, Settled
from queuefs.clock import ClockMark
from queuefs.lifecycle import State
from queuefs.message import Counts, Draft, MessageId, QueueId, Ref, Verdict
from queuefs.testing.base import (
    FOREVER,
    LEASE,
    START,
    Contract,
    find,
    lose,
    nack,
    new_queue,
    overdue,
    publish,
    put,
    stage,
    take,
    take_one,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuefs.backend import Backend

MARK = ClockMark(boot_id="6d1c2f0e-0000-4000-8000-000000000001", uptime=12345.678901, at=1_700_000_000.25)

DONE, UNKNOWN, STALE = Settled.DONE, Settled.UNKNOWN, Settled.STALE

only_own_time = pytest.mark.usefixtures("only_own_time")


async def expire(
    backend: Backend, queue: QueueId, refs: Sequence[Ref], *, delay: float = 0.0, now: float = START
) -> list[Settled]:
    """Let leases end."""
    return list(await backend.expire(queue, [Verdict(ref=ref, delay=delay) for ref in refs], now=now))


class LeaseContract(Contract):
    """The end of a lease: `tick` reports it, and `expire` says what becomes of the message."""

    @only_own_time
    async def test_a_lease_is_over_at_its_very_end(self, backend: Backend, queue: QueueId) -> None:
        """Not before ``lease_until``, and at that moment already, for both."""
        message = await put(backend, queue)
        claimed = await take_one(backend, queue, lease=LEASE)
        assert claimed.lease_until == START + LEASE
        early = START + LEASE - 2**-7
        assert await overdue(backend, now=early) == []
        assert await expire(backend, queue, [claimed.receipt], now=early) == [STALE]
        assert await backend.counts(queue) == Counts(pending=0, processing=1)
        assert await overdue(backend, now=START + LEASE) == [(queue, Ref(message, 1))]
        assert await expire(backend, queue, [claimed.receipt], now=START + LEASE) == [DONE]
        assert await backend.counts(queue) == Counts(pending=1, processing=0)

    async def test_what_is_overdue_stays_as_it_is(self, backend: Backend, queue: QueueId) -> None:
        """A tick reports it and changes nothing by that; so does the next, until somebody decides."""
        await put(backend, queue)
        await take_one(backend, queue, lease=0.0)
        before = list(await backend.snapshot(queue)), await backend.stats(queue)
        for _ in range(3):
            tick = await backend.tick(now=START, limit=100)
            assert list(tick.overdue) == [
                Overdue(queue=queue, receipt=Ref(before[0][0].id, 1), attempt=1, cancelled=False)
            ]
            assert (list(await backend.snapshot(queue)), await backend.stats(queue)) == before
        assert await expire(backend, queue, [Ref(before[0][0].id)]) == [DONE]
        assert await overdue(backend) == []

    async def test_it_is_reported_with_all_that_decides(self, backend: Backend, queue: QueueId) -> None:
        """Its present claim, its attempt (which is not the same after an undo), and whether it is cancelled."""
        message = await put(backend, queue)
        await backend.undo(queue, [(await take_one(backend, queue)).receipt], now=START)
        await take_one(backend, queue, lease=0.0)
        await backend.cancel(queue, [message], now=START)
        (reported,) = (await backend.tick(now=START, limit=100)).overdue
        assert reported == Overdue(queue=queue, receipt=Ref(message, 2), attempt=1, cancelled=True)

    async def test_a_lost_message_is_pending_again(self, backend: Backend, queue: QueueId) -> None:
        """Attempt and claims stay, the lease is none, and the old receipt is stale, also once it is claimed anew."""
        await put(backend, queue, b"abc")
        old = await lose(backend, queue)
        message = await find(backend, queue, old.id)
        assert (message.state, message.attempt, message.claims, message.lease_until) == (State.PENDING, 1, 1, None)
        assert list(await backend.ack(queue, [old.receipt], now=START)) == [STALE]
        new = await take_one(backend, queue)
        assert (new.data, new.attempt, new.claims) == (b"abc", 2, 2)
        assert list(await backend.ack(queue, [old.receipt, new.receipt], now=START)) == [STALE, DONE]

    async def test_a_lease_that_was_extended_meanwhile_goes_on(self, backend: Backend, queue: QueueId) -> None:
        """Reported, then extended by its holder: to let it end is refused, and the holder keeps it."""
        await put(backend, queue)
        claimed = await take_one(backend, queue, lease=0.0)
        assert await overdue(backend) == [(queue, claimed.receipt)]
        await backend.extend(queue, [claimed.receipt], lease=LEASE, now=START)
        assert await expire(backend, queue, [claimed.receipt]) == [STALE]
        assert await expire(backend, queue, [Ref(claimed.id)]) == [STALE]
        assert list(await backend.ack(queue, [claimed.receipt], now=START)) == [DONE]
        assert await expire(backend, queue, [claimed.receipt]) == [UNKNOWN]

    async def test_a_claim_that_was_settled_meanwhile_is_not_ended(self, backend: Backend, queue: QueueId) -> None:
        """Reported, then given back and claimed anew: the receipt is of another claim, though its lease is over too."""
        await put(backend, queue)
        old = await take_one(backend, queue, lease=0.0)
        await nack(backend, queue, [old.receipt])
        assert await expire(backend, queue, [old.receipt]) == [STALE]
        new = await take_one(backend, queue, lease=0.0)
        assert await expire(backend, queue, [old.receipt]) == [STALE]
        assert await expire(backend, queue, [new.receipt, old.receipt]) == [DONE, STALE]
        assert await backend.counts(queue) == Counts(pending=1, processing=0)

    async def test_each_is_decided_for_itself_and_in_order(self, backend: Backend, queue: QueueId) -> None:
        """To be pending, dead, or left as it is: one call, one answer for each."""
        again, dead, kept, waiting = [await put(backend, queue) for _ in range(4)]
        for lease in (0.0, 0.0, FOREVER):
            await take_one(backend, queue, lease=lease)
        verdicts = [
            Verdict(ref=Ref(kept)),
            Verdict(ref=Ref(dead), dead=True, reason="too often"),
            Verdict(ref=Ref(MessageId(waiting + 1000))),
            Verdict(ref=Ref(again), reason="slow"),
            Verdict(ref=Ref(waiting)),
            Verdict(ref=Ref(again)),
        ]
        answers = await backend.expire(queue, verdicts, now=START)
        assert list(answers) == [STALE, DONE, UNKNOWN, DONE, STALE, STALE]
        states = {each: (await find(backend, queue, each)).state for each in (again, dead, kept, waiting)}
        assert list(states.values()) == [State.PENDING, State.DEAD, State.PROCESSING, State.PENDING]
        assert [(await find(backend, queue, each)).reason for each in (again, dead, kept)] == [
            "slow",
            "too often",
            None,
        ]

    async def test_nothing_but_a_verdict_ends_a_lease(self, backend: Backend, queue: QueueId) -> None:
        """Until then a claim does not hand the message out, and its holder may settle or extend it, however late."""
        for _ in range(2):
            await put(backend, queue)
        first, second = await take(backend, queue, 2, lease=0.0)
        await backend.tick(now=START + LEASE, limit=100)
        assert list(await take(backend, queue, 2, now=START + LEASE)) == []
        assert await backend.counts(queue) == Counts(pending=0, processing=2)
        assert list(await backend.ack(queue, [first.receipt], now=START)) == [DONE]
        extended = await backend.extend(queue, [second.receipt], lease=LEASE, now=START + LEASE)
        assert list(extended) == [DONE]
        assert await overdue(backend, now=START + LEASE) == []
        assert list(await backend.ack(queue, [second.receipt], now=START)) == [DONE]

    @only_own_time
    async def test_an_extended_lease_ends_at_its_new_end(self, backend: Backend, queue: QueueId) -> None:
        """Neither at the old one nor later, whether it became longer or shorter."""
        await put(backend, queue)
        await put(backend, queue)
        longer, shorter = await take(backend, queue, 2, lease=LEASE)
        await backend.extend(queue, [longer.receipt], lease=LEASE, now=START + 4)
        await backend.extend(queue, [shorter.receipt], lease=LEASE / 4, now=START + 4)
        assert await overdue(backend, now=START + 4 + LEASE / 4) == [(queue, shorter.receipt)]
        assert await overdue(backend, now=START + LEASE + 2) == [(queue, shorter.receipt)]
        assert await overdue(backend, now=START + LEASE + 4) == [(queue, shorter.receipt), (queue, longer.receipt)]

    async def test_a_message_that_is_claimed_anew_has_its_new_lease_alone(
        self, backend: Backend, queue: QueueId
    ) -> None:
        """The lease of a claim that was taken back or nacked ends nothing."""
        await put(backend, queue)
        await backend.undo(queue, [(await take_one(backend, queue, lease=0.0)).receipt], now=START)
        await nack(backend, queue, [(await take_one(backend, queue, lease=0.0)).receipt])
        new = await take_one(backend, queue, lease=LEASE)
        assert await overdue(backend, now=START + 1) == []
        assert list(await backend.ack(queue, [new.receipt], now=START)) == [DONE]

    async def test_leases_that_come_and_go_hide_no_other(self, backend: Backend, queue: QueueId) -> None:
        """However many leases began, started anew and were over meanwhile, one that is due is found."""
        given = {await put(backend, queue) for _ in range(3)}
        await take(backend, queue, 3, lease=0.0)
        await put(backend, queue)
        for _ in range(150):
            message = await take_one(backend, queue)
            await backend.extend(queue, [message.receipt], lease=LEASE, now=START)
            await nack(backend, queue, [message.receipt])
        reported = await overdue(backend)
        assert {receipt.id for _, receipt in reported} == given
        assert len(reported) == len(given)
        assert (await backend.tick(now=START, limit=100)).next_due != 0


class UpkeepContract(LeaseContract):
    """Upkeep: `tick`, and the clock mark."""

    async def test_a_tick_reaches_every_queue(self, backend: Backend, queue: QueueId) -> None:
        """It names each message with its queue; children, and queues that were renamed, are no exception."""
        child = await new_queue(backend, "child", parent=queue)
        other = await new_queue(backend, "other")
        expected = []
        for number in (queue, child, other):
            expected.append((number, Ref(await put(backend, number), 1)))
            await take(backend, number, lease=0.0)
        await backend.rename_queue(child, parent=other, name="moved")
        assert sorted(await overdue(backend), key=str) == sorted(expected, key=str)

    @only_own_time
    async def test_the_oldest_deadline_is_reported_first(self, backend: Backend, queue: QueueId) -> None:
        """Also where the limit is lower than there are."""
        for _ in range(4):
            await put(backend, queue)
        leases = [5, 2, 7, 3]
        claimed = [await take_one(backend, queue, lease=lease) for lease in leases]
        order = [claimed[place].receipt for place in (1, 3, 0, 2)]
        for limit in (1, 2, 3, 4, 100):
            tick = await backend.tick(now=START + 10, limit=limit)
            assert [each.receipt for each in tick.overdue] == order[:limit]

    async def test_a_tick_reports_no_more_than_its_limit(self, backend: Backend, queue: QueueId) -> None:
        """Then 0 is the time to the next, for there is more; what is decided makes room for it."""
        given = {await put(backend, queue) for _ in range(5)}
        await take(backend, queue, 5, lease=0.0)
        lost: list[MessageId] = []
        for left in (5, 3):
            tick = await backend.tick(now=START, limit=2)
            assert tick.next_due == 0
            assert len(tick.overdue) == 2  # noqa: PLR2004 - the limit
            assert await backend.counts(queue) == Counts(pending=5 - left, processing=left)
            lost += [each.receipt.id for each in tick.overdue]
            await expire(backend, queue, [each.receipt for each in tick.overdue])
        tick = await backend.tick(now=START, limit=2)
        assert {*lost, *(each.receipt.id for each in tick.overdue)} == given
        assert tick.next_due != 0

    async def test_what_was_reported_is_not_due_again(self, backend: Backend, queue: QueueId) -> None:
        """It does not make the next round come at once; None while nothing else is in sight (a shared store may)."""
        await put(backend, queue)
        await take_one(backend, queue, lease=0.0)
        for _ in range(2):
            due = (await backend.tick(now=START, limit=100)).next_due
            assert due != 0
            assert due is None or backend.traits.shared

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
        await backend.ack(queue, [soon.receipt], now=START)
        assert (await backend.tick(now=START + 4, limit=100)).next_due == 100 * LEASE - 4
        await nack(backend, queue, [late.receipt])
        assert (await backend.tick(now=START + 5, limit=100)).next_due is None

    @only_own_time
    async def test_it_comes_for_whatever_is_due_first(self, backend: Backend, queue: QueueId) -> None:
        """A lease, a delay and a time to live alike (a shared store may want to come sooner)."""
        await put(backend, queue)
        await take_one(backend, queue, lease=LEASE)
        await put(backend, queue, draft=Draft(delay=8))
        await put(backend, queue, draft=Draft(ttl=4))
        for now, expected in [(0, 4), (1, 3), (4, 4), (7, 1), (8, LEASE - 8), (LEASE, None)]:
            due = (await backend.tick(now=START + now, limit=100)).next_due
            if backend.traits.shared:
                assert due is not None
                assert 0 < due <= (expected or FOREVER)
            else:
                assert due == expected, now

    async def test_a_tick_adopts_nothing_of_its_own(self, backend: Backend, queue: QueueId) -> None:
        """What this open store has staged stays staged, however late it is."""
        message = await stage(backend, queue)
        for _ in range(2):
            tick = await backend.tick(now=START + 1000 * LEASE, limit=100)
            assert list(tick.adopted) == []
        assert await backend.counts(queue) == Counts(pending=0, processing=0)
        await publish(backend, queue, message)

    async def test_an_idle_tick_finds_nothing(self, backend: Backend, queue: QueueId) -> None:
        """Pending messages without delay or time to live are no matter of time."""
        await put(backend, queue)
        await stage(backend, queue)
        tick = await backend.tick(now=START + 1000 * LEASE, limit=100)
        assert [list(each) for each in (tick.overdue, tick.lapsed, tick.ripe, tick.adopted)] == [[], [], [], []]

    async def test_the_clock_mark_is_kept(self, backend: Backend) -> None:
        """What was saved last is loaded, to the last bit; none at first, nor where the server's clock counts."""
        assert await backend.load_clock() is None
        await backend.save_clock(ClockMark(boot_id="other", uptime=1.0, at=2.0))
        await backend.save_clock(MARK)
        assert await backend.load_clock() == (None if backend.traits.server_time else MARK)
