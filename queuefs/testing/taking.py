"""The contract of taking: claims by name, whatever stands before."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from queuefs.backend import Settled
from queuefs.lifecycle import State
from queuefs.message import Counts, Draft, MessageId, QueueId, Ref, Verdict
from queuefs.testing.base import (
    BRIEF,
    FOREVER,
    LATER,
    LEASE,
    START,
    Contract,
    find,
    ids,
    nack,
    overdue,
    pending,
    put,
    take,
    take_one,
)
from queuefs.testing.due import INSTANT

if TYPE_CHECKING:
    from queuefs.backend import Backend

DONE, UNKNOWN, STALE = Settled.DONE, Settled.UNKNOWN, Settled.STALE

only_own_time = pytest.mark.usefixtures("only_own_time")


async def take_by_id(
    backend: Backend, queue: QueueId, *messages: MessageId, lease: float = LEASE, now: float = START
) -> list[Settled]:
    """Claim messages by name."""
    return list(await backend.take(queue, messages, lease=lease, now=now))


class TakeContract(Contract):
    """`take`."""

    async def test_a_message_is_taken_whatever_stands_before_it(self, backend: Backend, queue: QueueId) -> None:
        """It is in processing as if it had been claimed, and the others are handed out as if it had never been."""
        given = [await put(backend, queue, priority=priority) for priority in (5, 0, 0, -5, 0)]
        assert await take_by_id(backend, queue, given[3], given[1]) == [DONE, DONE]
        assert await backend.counts(queue) == Counts(pending=3, processing=2)
        assert (await backend.stats(queue)).dequeued == 2  # noqa: PLR2004 - as above
        for message in (given[1], given[3]):
            taken = await find(backend, queue, message)
            assert (taken.state, taken.attempt, taken.claims) == (State.PROCESSING, 1, 1)
        assert ids(await take(backend, queue, 9)) == [given[0], given[2], given[4]]

    async def test_it_is_a_claim_like_any_other(self, backend: Backend, queue: QueueId) -> None:
        """With a lease and a time of its own, and a receipt that is of this claim alone."""
        message = await put(backend, queue, b"abc")
        await nack(backend, queue, [(await take_one(backend, queue)).receipt])
        assert await take_by_id(backend, queue, message, lease=2 * LEASE, now=START + 1) == [DONE]
        taken = await find(backend, queue, message)
        assert (taken.receipt, taken.attempt) == (Ref(message, 2), 2)
        assert taken.lease_until is not None
        assert taken.claimed_at is not None
        assert taken.lease_until - taken.claimed_at == pytest.approx(2 * LEASE)
        if not backend.traits.server_time:
            assert taken.claimed_at == START + 1
        assert list(await backend.payloads(queue, [message])) == [b"abc"]
        refs = [Ref(message, 1), Ref(message, 2)]
        assert list(await backend.ack(queue, refs, now=START + 1)) == [STALE, DONE]

    async def test_its_lease_ends(self, backend: Backend, queue: QueueId) -> None:
        """And it is lost as any other."""
        message = await put(backend, queue)
        await take_by_id(backend, queue, message, lease=0.0)
        assert await overdue(backend) == [(queue, Ref(message, 1))]
        assert list(await backend.expire(queue, [Verdict(ref=Ref(message))], now=START)) == [DONE]
        assert await pending(backend, queue) == [message]

    async def test_a_delayed_message_is_taken(self, backend: Backend, queue: QueueId) -> None:
        """It is due no more: its delay ends nothing later, and it does not wait again."""
        short, long = [await put(backend, queue, draft=Draft(delay=delay)) for delay in (BRIEF, FOREVER)]
        assert await take_by_id(backend, queue, long, short) == [DONE, DONE]
        assert [(await find(backend, queue, message)).due for message in (short, long)] == [None, None]
        assert (await backend.stats(queue)).delayed == 0
        assert list((await backend.tick(now=LATER, limit=100)).ripe) == []
        await backend.undo(queue, [Ref(long)], now=START)
        assert (await take_one(backend, queue)).id == long

    async def test_what_is_not_free_is_not_taken(self, backend: Backend, queue: QueueId) -> None:
        """Stale if it is paused or in processing, and left as it is; resumed, it can be taken."""
        held, paused = await put(backend, queue), await put(backend, queue)
        await take_one(backend, queue)
        await backend.pause(queue, [paused])
        before = list(await backend.snapshot(queue))
        assert await take_by_id(backend, queue, held, paused) == [STALE, STALE]
        assert list(await backend.snapshot(queue)) == before
        await backend.resume(queue, [paused])
        assert await take_by_id(backend, queue, paused, paused) == [DONE, STALE]

    async def test_what_has_lapsed_is_unknown(self, backend: Backend, queue: QueueId) -> None:
        """Also before a tick has removed it, and paused or not."""
        given = [await put(backend, queue, draft=Draft(ttl=BRIEF)) for _ in range(2)]
        await backend.pause(queue, given[:1])
        assert await take_by_id(backend, queue, *given, now=LATER) == [UNKNOWN, UNKNOWN]
        assert len((await backend.tick(now=LATER, limit=100)).lapsed) == len(given)

    @only_own_time
    async def test_a_life_is_over_for_takers_at_its_very_end(self, backend: Backend, queue: QueueId) -> None:
        """Before it, it is taken, and does not lapse while it is held."""
        first, second = [await put(backend, queue, draft=Draft(ttl=8)) for _ in range(2)]
        assert await take_by_id(backend, queue, first, now=START + 8 - INSTANT) == [DONE]
        assert await take_by_id(backend, queue, first, second, now=START + 8) == [STALE, UNKNOWN]
        assert list((await backend.tick(now=START + 8, limit=100)).lapsed) == [(queue, second)]
        assert (await find(backend, queue, first)).state is State.PROCESSING

    @pytest.mark.parametrize("lifo", [False, True])
    async def test_a_taken_message_comes_back_to_its_place(
        self,
        backend: Backend,
        queue: QueueId,
        lifo: bool,  # noqa: FBT001 - a parameter
    ) -> None:
        """Whatever was taken, and in whichever order it is given back."""
        given = [await put(backend, queue, priority=priority) for priority in (0, 1, 0, 1, 0)]
        order = [1, 3, 0, 2, 4] if not lifo else [3, 1, 4, 2, 0]
        for places in ([2], [4, 1], [0, 3, 2, 1], [1, 0, 4, 3, 2]):
            await take_by_id(backend, queue, *(given[place] for place in places))
            for place in reversed(places):
                await backend.undo(queue, [Ref(given[place])], now=START)
            peeked = await backend.peek(queue, count=9, lifo=lifo, now=START)
            assert ids(peeked) == [given[place] for place in order]

    @pytest.mark.usefixtures("only_durable")
    async def test_a_message_that_cant_be_read_is_taken(self, backend: Backend, queue: QueueId, url: str) -> None:
        """Nobody has asked for its payload."""
        message = await put(backend, queue, b"first")
        before = await find(backend, queue, message)
        await self.damage_payload(backend, url, message)
        assert await take_by_id(backend, queue, message) == [DONE]
        taken = await find(backend, queue, message)
        assert taken == replace(
            before,
            state=State.PROCESSING,
            attempt=1,
            claims=1,
            lease_until=taken.lease_until,
            claimed_at=taken.claimed_at,
        )
        assert list(await backend.ack(queue, [taken.receipt], now=START)) == [DONE]
