"""The contract of the dead: messages that are set aside, retried and dropped."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from queuefs.backend import Settled
from queuefs.errors import QueueNotEmpty
from queuefs.lifecycle import State
from queuefs.message import Counts, Draft, QueueId, Ref, Verdict
from queuefs.testing.base import (
    BRIEF,
    FOREVER,
    LATER,
    START,
    Contract,
    bury,
    find,
    ids,
    new_queue,
    overdue,
    put,
    put_dead,
    stage,
    state_of,
    take,
    take_one,
)
from queuefs.testing.settling import VERBS, settle

if TYPE_CHECKING:
    from queuefs.backend import Backend

DONE, UNKNOWN, STALE = Settled.DONE, Settled.UNKNOWN, Settled.STALE


class DeadContract(Contract):
    """The dead: how messages come there, and leave."""

    async def test_a_message_is_set_aside(self, backend: Backend, queue: QueueId) -> None:
        """It is in neither count and no sum, but shown among the dead as it was; nobody holds it, nobody gets it."""
        draft = Draft(priority=3, key="key", extra=b"\0\xff")
        message = await put(backend, queue, b"abc", draft=draft)
        claimed = await take_one(backend, queue)
        await bury(backend, queue, claimed, reason="no such file")
        assert await backend.counts(queue) == Counts(pending=0, processing=0)
        assert await backend.unacked_bytes(queue) == 0
        assert list(await backend.snapshot(queue)) == []
        assert list(await take(backend, queue, 9)) == []
        (dead,) = await backend.dead(queue)
        expected = replace(claimed, state=State.DEAD, data=None, lease_until=None, reason="no such file")
        assert dead == expected
        assert await find(backend, queue, message) == dead
        assert list(await backend.payloads(queue, [message])) == [b"abc"]
        assert await overdue(backend, now=START + FOREVER) == []

    @pytest.mark.parametrize("verb", VERBS)
    async def test_what_is_dead_is_not_settled(self, backend: Backend, queue: QueueId, verb: str) -> None:
        """It is not unacknowledged: unknown, by id and by receipt."""
        dead = await put_dead(backend, queue)
        before = list(await backend.dead(queue))
        assert await settle(backend, verb, queue, [Ref(dead.id), dead.receipt]) == [UNKNOWN, UNKNOWN]
        assert list(await backend.dead(queue)) == before

    async def test_an_ended_lease_may_be_the_last(self, backend: Backend, queue: QueueId) -> None:
        """`expire` sets aside as `nack` does."""
        message = await put(backend, queue)
        await take_one(backend, queue, lease=0.0)
        verdict = Verdict(ref=Ref(message), dead=True, reason="lease ended")
        assert list(await backend.expire(queue, [verdict], now=LATER)) == [DONE]
        (dead,) = await backend.dead(queue)
        assert (dead.id, dead.attempt, dead.reason, dead.lease_until) == (message, 1, "lease ended", None)

    async def test_a_verdict_of_death_knows_no_delay(self, backend: Backend, queue: QueueId) -> None:
        """The dead wait for nobody; retried, it is handed out at once."""
        message = await put(backend, queue)
        await take_one(backend, queue)
        await backend.nack(queue, [Verdict(ref=Ref(message), dead=True, delay=FOREVER)], now=START)
        assert list((await backend.tick(now=START, limit=100)).ripe) == []
        await backend.retry(queue, [message], now=START)
        assert (await take_one(backend, queue)).id == message

    async def test_a_reason_is_kept(self, backend: Backend, queue: QueueId) -> None:
        """What was said last, byte for byte; none at first, and a verdict without one leaves what was there."""
        message = await put(backend, queue)
        assert (await find(backend, queue, message)).reason is None
        reasons = ["a\nb\0", None, "é\U0001f600", None, ""]
        for said, shown in zip(reasons, ["a\nb\0", "a\nb\0", "é\U0001f600", "é\U0001f600", ""], strict=True):
            await take_one(backend, queue)
            await backend.nack(queue, [Verdict(ref=Ref(message), reason=said)], now=START)
            assert (await find(backend, queue, message)).reason == shown
        assert (await take_one(backend, queue)).reason == ""

    async def test_clear_spares_the_dead(self, backend: Backend, queue: QueueId) -> None:
        """They are not among what it removes, and not counted."""
        dead = await put_dead(backend, queue)
        await put(backend, queue)
        assert await backend.clear(queue) == Counts(pending=1, processing=0)
        assert ids(await backend.dead(queue)) == [dead.id]

    async def test_a_queue_with_dead_messages_is_not_removed(self, backend: Backend, queue: QueueId) -> None:
        """It raises `QueueNotEmpty`, also while one is written; dropped, they are in nobody's way."""
        dead = await put_dead(backend, queue)
        staged = await stage(backend, queue)
        with pytest.raises(QueueNotEmpty):
            await backend.remove_queue(queue)
        await backend.discard(queue, staged)
        with pytest.raises(QueueNotEmpty):
            await backend.remove_queue(queue)
        await backend.drop(queue, [dead.id])
        await backend.remove_queue(queue)

    async def test_the_dead_are_ordered_by_id(self, backend: Backend, queue: QueueId) -> None:
        """Whatever their priority and whenever they died; each queue has its own, all without payloads."""
        other = await new_queue(backend, "other")
        await put_dead(backend, other)
        given = [await put(backend, queue, priority=priority) for priority in (0, 9, -9, 5)]
        for message in await take(backend, queue, 9):
            await bury(backend, queue, message)
        assert ids(await backend.dead(queue)) == given
        assert {each.data for each in await backend.dead(queue)} == {None}

    async def test_a_retried_message_begins_anew(self, backend: Backend, queue: QueueId) -> None:
        """Pending at its place, attempt 0; claims go on, so that the receipts of before stay void."""
        message = await put(backend, queue, b"abc", draft=Draft(delay=BRIEF, ttl=FOREVER))
        await put(backend, queue)
        old = await take_one(backend, queue, now=LATER)
        await backend.nack(queue, [Verdict(ref=old.receipt)], now=LATER)
        old = await take_one(backend, queue, now=LATER)
        await bury(backend, queue, old, reason="why")
        assert list(await backend.retry(queue, [message], now=LATER)) == [DONE]
        shown = await find(backend, queue, message)
        assert (shown.state, shown.attempt, shown.claims) == (State.PENDING, 0, 2)
        assert (shown.due, shown.expires_at, shown.lease_until, shown.reason) == (None, None, None, "why")
        assert await backend.counts(queue) == Counts(pending=2, processing=0)
        assert await backend.unacked_bytes(queue) == 4  # noqa: PLR2004 - as above
        assert list(await backend.dead(queue)) == []
        new = await take_one(backend, queue, now=LATER)
        assert (new.id, new.data, new.attempt, new.receipt) == (message, b"abc", 1, Ref(message, 3))
        assert list(await backend.ack(queue, [old.receipt], now=START)) == [STALE]

    async def test_all_are_retried_or_dropped(self, backend: Backend, queue: QueueId) -> None:
        """With None there is one answer for each; none where none is dead; another queue's stay."""
        other = await new_queue(backend, "other")
        await put_dead(backend, other)
        given = [await put(backend, queue) for _ in range(3)]
        await put(backend, queue)
        for message in await take(backend, queue, 3):
            await bury(backend, queue, message)
        assert list(await backend.retry(queue, None, now=START)) == [DONE] * 3
        assert list(await backend.retry(queue, None, now=START)) == []
        claimed = await take(backend, queue, 3)
        assert ids(claimed) == given
        for message in claimed:
            await bury(backend, queue, message)
        assert list(await backend.drop(queue, None)) == [DONE] * 3
        assert list(await backend.drop(queue, None)) == []
        assert await backend.counts(queue) == Counts(pending=1, processing=0)
        assert len(await backend.dead(other)) == 1

    async def test_a_dropped_message_is_gone(self, backend: Backend, queue: QueueId) -> None:
        """For good."""
        dead = await put_dead(backend, queue)
        assert list(await backend.drop(queue, [dead.id])) == [DONE]
        assert list(await backend.dead(queue)) == []
        assert await state_of(backend, queue, dead.id, size=1) is State.GONE
        assert list(await backend.payloads(queue, [dead.id])) == [None]
