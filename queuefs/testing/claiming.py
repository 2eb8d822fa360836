"""The contract of claiming: what is handed out, in which order, and what a claim leaves on the message."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from queuefs.backend import Settled
from queuefs.lifecycle import State
from queuefs.message import MAX_PRIORITY, MIN_PRIORITY, Counts, MessageId, QueueId, Ref, Verdict
from queuefs.testing.base import (
    BRIEF,
    LATER,
    LEASE,
    START,
    Contract,
    find,
    ids,
    lose,
    nack,
    new_queue,
    peek,
    pending,
    publish,
    put,
    stage,
    take,
    take_one,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuefs.backend import Backend


#: The ways in which a message comes back.
WAYS_BACK = ["nack", "undo", "expire", "delay", "retry", "resume"]


async def bring_back(backend: Backend, queue: QueueId, messages: Sequence[MessageId], how: str, *, lifo: bool) -> None:
    """Take messages away and let them come back, one after the other as they are named; the others stay."""
    if how == "resume":
        for change in (backend.pause, backend.resume):
            for message in messages:
                await change(queue, [message])
        return
    claimed = await take(backend, queue, 100, lease=0.0, lifo=lifo, now=LATER)
    await backend.undo(queue, [each.receipt for each in claimed if each.id not in messages], now=START)
    for message in messages:
        match how:
            case "nack":
                await nack(backend, queue, [Ref(message)])
            case "undo":
                await backend.undo(queue, [Ref(message)], now=START)
            case "expire":
                await backend.expire(queue, [Verdict(ref=Ref(message))], now=LATER)
            case "delay":
                await nack(backend, queue, [Ref(message)], delay=BRIEF)
            case _:
                await backend.nack(queue, [Verdict(ref=Ref(message), dead=True)], now=START)
                await backend.retry(queue, [message], now=START)


class ClaimingContract(Contract):
    """Claiming: `claim`, `undo` and the order."""

    async def test_an_empty_queue_gives_nothing(self, backend: Backend, queue: QueueId) -> None:
        """A claim without pending messages returns none."""
        assert list(await take(backend, queue, 3)) == []
        await put(backend, queue)
        await take(backend, queue)
        assert list(await take(backend, queue, 3)) == []

    async def test_a_claim_moves_a_message_to_processing(self, backend: Backend, queue: QueueId) -> None:
        """Both counts change together; attempt and claims are one higher, and the lease begins."""
        number = await put(backend, queue, b"hello", priority=-3)
        message = await take_one(backend, queue, lease=LEASE)
        assert (message.id, message.state, message.data, message.size) == (number, State.PROCESSING, b"hello", 5)
        assert (message.priority, message.attempt, message.claims) == (-3, 1, 1)
        assert message.receipt == Ref(number, 1)
        assert await backend.counts(queue) == Counts(pending=0, processing=1)
        (shown,) = await backend.snapshot(queue)
        assert (shown.state, shown.lease_until, shown.attempt) == (State.PROCESSING, message.lease_until, 1)

    async def test_a_lease_is_counted_from_the_claim(self, backend: Backend, queue: QueueId) -> None:
        """``lease_until`` = now + lease, for each message of the claim; by the server's clock where that counts."""
        for _ in range(3):
            await put(backend, queue)
        short, other = await take(backend, queue, 2, lease=LEASE, now=START + 1)
        (long,) = await take(backend, queue, lease=100 * LEASE, now=START + 1)
        assert short.lease_until is not None
        assert short.lease_until == other.lease_until
        assert long.lease_until is not None
        if backend.traits.server_time:
            assert 0 <= long.lease_until - short.lease_until - 99 * LEASE < LEASE
            assert 0 <= short.lease_until - short.enqueued_at - LEASE < LEASE
        else:
            assert short.lease_until == START + 1 + LEASE
            assert long.lease_until == START + 1 + 100 * LEASE

    async def test_a_claim_takes_no_more_than_asked(self, backend: Backend, queue: QueueId) -> None:
        """The first *count* are returned in order, or all if there are fewer."""
        given = [await put(backend, queue) for _ in range(5)]
        assert ids(await take(backend, queue, 3)) == given[:3]
        assert await backend.counts(queue) == Counts(pending=2, processing=3)
        assert ids(await take(backend, queue, 3)) == given[3:]

    async def test_nothing_is_handed_out_twice(self, backend: Backend, queue: QueueId) -> None:
        """What is in processing is not claimed again while it is under its lease."""
        given = [await put(backend, queue) for _ in range(4)]
        assert [message.id for _ in given for message in await take(backend, queue)] == given
        assert list(await take(backend, queue)) == []

    async def test_claims_keep_to_their_queue(self, backend: Backend, queue: QueueId) -> None:
        """Neither a sibling's nor a child's messages are handed out."""
        await put(backend, await new_queue(backend, "other"))
        await put(backend, await new_queue(backend, "child", parent=queue))
        assert list(await take(backend, queue, 10)) == []

    async def test_higher_priority_comes_first_then_lower_id(self, backend: Backend, queue: QueueId) -> None:
        """All priorities from the lowest to the highest."""
        priorities = [0, MAX_PRIORITY, -1, MIN_PRIORITY, 1, 0, MAX_PRIORITY, MIN_PRIORITY, 10, 9, -10, -9, 0]
        given = [(-priority, await put(backend, queue, priority=priority)) for priority in priorities]
        expected = [message for _, message in sorted(given)]
        assert ids(await backend.snapshot(queue)) == expected
        assert ids(await peek(backend, queue, 20)) == expected
        assert ids(await take(backend, queue, 5)) == expected[:5]
        assert ids(await take(backend, queue, 20)) == expected[5:]

    async def test_last_in_first_out_is_for_equals(self, backend: Backend, queue: QueueId) -> None:
        """The highest priority is first all the same; among equals the highest id. It is the claim that says so."""
        priorities = [0, 5, 0, -5, 5, 0]
        given = [(priority, await put(backend, queue, priority=priority)) for priority in priorities]
        expected = [message for _, message in sorted(given, reverse=True)]
        assert ids(await peek(backend, queue, 9, lifo=True)) == expected
        assert ids(await peek(backend, queue, 2, lifo=True)) == expected[:2]
        assert ids(await take(backend, queue, 3, lifo=True)) == expected[:3]
        late = await put(backend, queue)
        assert ids(await take(backend, queue, lifo=True)) == [late]
        assert ids(await take(backend, queue)) == [given[0][1]]
        assert ids(await take(backend, queue, 9, lifo=True)) == [given[2][1], given[3][1]]

    async def test_the_place_is_that_of_the_stage_not_of_the_publication(
        self, backend: Backend, queue: QueueId
    ) -> None:
        """A message that is published late stands where its id belongs."""
        given = [await stage(backend, queue) for _ in range(6)]
        for place in (3, 5, 0):
            await publish(backend, queue, given[place])
        assert ids(await take(backend, queue)) == [given[0]]
        for place in (4, 1, 2):
            await publish(backend, queue, given[place])
        assert ids(await take(backend, queue, 9)) == given[1:]

    @pytest.mark.parametrize("lifo", [False, True])
    @pytest.mark.parametrize("how", WAYS_BACK)
    async def test_whatever_makes_a_message_pending_again_brings_it_back_to_its_place(
        self,
        backend: Backend,
        queue: QueueId,
        how: str,
        lifo: bool,  # noqa: FBT001 - a parameter
    ) -> None:
        """However it comes back, alone or with others: the order of handing out is that of before."""
        priorities = [0, 5, 0, 5, -5, 0]
        given = [(-priority, await put(backend, queue, priority=priority)) for priority in priorities]
        expected = [message for _, message in sorted(given, key=lambda it: (it[0], -it[1] if lifo else it[1]))]
        for places in ([2], [0], [3, 1], [5, 0, 4], [0, 1, 2, 3, 4, 5]):
            await bring_back(backend, queue, [expected[place] for place in places], how, lifo=lifo)
            assert await pending(backend, queue) == [message for _, message in sorted(given)]
            assert ids(await peek(backend, queue, 9, lifo=lifo, now=LATER)) == expected
        assert ids(await take(backend, queue, 9, lifo=lifo, now=LATER)) == expected

    @pytest.mark.parametrize("lifo", [False, True])
    async def test_the_order_is_always_that_of_a_sorted_list(
        self,
        backend: Backend,
        queue: QueueId,
        lifo: bool,  # noqa: FBT001 - a parameter
    ) -> None:
        """Whatever came, went and came back before."""
        choose = random.Random(5)  # noqa: S311 - the same each time
        waiting: list[tuple[int, MessageId]] = []
        held: dict[MessageId, int] = {}

        def place(entry: tuple[int, MessageId]) -> tuple[int, int]:
            return -entry[0], -entry[1] if lifo else entry[1]

        for _ in range(200):
            step = choose.random()
            if step < 3 / 8:
                priority = choose.choice([0, 0, 0, 1, -1])
                waiting.append((priority, await put(backend, queue, priority=priority)))
            elif step < 6 / 8:
                waiting.sort(key=place)
                claimed = ids(await take(backend, queue, 2, lifo=lifo))
                assert claimed == [message for _, message in waiting[:2]]
                held |= {message: priority for priority, message in waiting[:2]}
                del waiting[:2]
            elif held:
                message = choose.choice(sorted(held))
                await nack(backend, queue, [Ref(message)])
                waiting.append((held.pop(message), message))

    async def test_a_claim_taken_back_was_no_attempt(self, backend: Backend, queue: QueueId) -> None:
        """`undo`: pending again, attempt one lower, claims as it is, so the old receipt stays void."""
        await put(backend, queue, b"again")
        first = await take_one(backend, queue)
        assert list(await backend.undo(queue, [first.receipt], now=START)) == [Settled.DONE]
        undone = await find(backend, queue, first.id)
        assert (undone.state, undone.attempt, undone.claims, undone.lease_until) == (State.PENDING, 0, 1, None)
        second = await take_one(backend, queue)
        assert (second.attempt, second.claims, second.data) == (1, 2, b"again")
        assert await find(backend, queue, first.id) == replace(second, data=None)
        assert list(await backend.ack(queue, [first.receipt], now=START)) == [Settled.STALE]
        assert list(await backend.ack(queue, [second.receipt], now=START)) == [Settled.DONE]

    async def test_a_nack_or_the_end_of_a_lease_was_an_attempt(self, backend: Backend, queue: QueueId) -> None:
        """Attempt and claims stay, and the next claim counts on."""
        await put(backend, queue)
        first = await take_one(backend, queue)
        await nack(backend, queue, [first.receipt])
        pending_again = await find(backend, queue, first.id)
        assert (pending_again.state, pending_again.attempt, pending_again.claims) == (State.PENDING, 1, 1)
        second = await lose(backend, queue)
        assert (second.attempt, second.claims) == (2, 2)
        pending_again = await find(backend, queue, first.id)
        assert (pending_again.state, pending_again.attempt, pending_again.claims) == (State.PENDING, 2, 2)
        assert pending_again.lease_until is None
        third = await take_one(backend, queue)
        assert (third.attempt, third.claims) == (3, 3)

    async def test_a_returned_message_stays_as_it_was(self, backend: Backend, queue: QueueId) -> None:
        """It is a value, not the back end's own object: nothing that follows shows in it."""
        await put(backend, queue, b"abc")
        (peeked,) = await peek(backend, queue, 1)
        (shown,) = await backend.snapshot(queue)
        claimed = await take_one(backend, queue)
        until = claimed.lease_until
        await backend.extend(queue, [claimed.receipt], lease=10 * LEASE, now=START)
        await nack(backend, queue, [claimed.receipt])
        assert (peeked.state, peeked.attempt, peeked.data) == (State.PENDING, 0, b"abc")
        assert (shown.state, shown.attempt, shown.data) == (State.PENDING, 0, None)
        assert (claimed.state, claimed.attempt, claimed.lease_until) == (State.PROCESSING, 1, until)
