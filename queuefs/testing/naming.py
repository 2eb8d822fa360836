"""The contract of the verbs that name messages; of them, pause, resume and cancel."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from queuefs.backend import Settled
from queuefs.lifecycle import State
from queuefs.message import MAX_MESSAGE_ID, Counts, Draft, MessageId, QueueId, Ref, Verdict
from queuefs.testing.base import (
    ANY,
    BRIEF,
    FOREVER,
    LATER,
    LEASE,
    START,
    Contract,
    find,
    ids,
    nack,
    new_queue,
    overdue,
    peek,
    pending,
    put,
    put_dead,
    stage,
    state_of,
    take,
    take_one,
)
from queuefs.testing.settling import VERBS, settle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuefs.backend import Backend

DONE, UNKNOWN, STALE, CANCELLED = Settled.DONE, Settled.UNKNOWN, Settled.STALE, Settled.CANCELLED

#: All methods that take ids.
NAMING = ["take", "pause", "resume", "cancel", "bury", "retry", "drop"]
by_name = pytest.mark.parametrize("verb", NAMING)

#: What settles a message, so that one that is cancelled is gone.
SETTLING = ["ack", "nack", "bury", "undo", "expire"]


async def call(  # noqa: PLR0911 - a table
    backend: Backend, verb: str, queue: QueueId, messages: Sequence[MessageId]
) -> list[Settled]:
    """Call the method *verb* and return its answers."""
    match verb:
        case "take":
            return list(await backend.take(queue, messages, lease=LEASE, now=START))
        case "bury":
            return list(await backend.bury(queue, messages))
        case "pause":
            return list(await backend.pause(queue, messages))
        case "resume":
            return list(await backend.resume(queue, messages))
        case "cancel":
            return list(await backend.cancel(queue, messages, now=START))
        case "retry":
            return list(await backend.retry(queue, messages, now=START))
        case _:
            return list(await backend.drop(queue, messages))


class NamingContract(Contract):
    """What holds for all that take ids."""

    @by_name
    async def test_what_is_not_in_the_queue_is_unknown(self, backend: Backend, queue: QueueId, verb: str) -> None:
        """Never given, staged, another queue's, acknowledged, dropped."""
        other = await new_queue(backend, "other")
        elsewhere, dead = await put_dead(backend, other), await put_dead(backend, queue)
        await backend.drop(queue, [dead.id])
        await put(backend, queue)
        acked = await take_one(backend, queue)
        await backend.ack(queue, [acked.receipt], now=START)
        staged = await stage(backend, queue)
        theirs = await put(backend, other)
        messages = [MessageId(MAX_MESSAGE_ID), staged, elsewhere.id, theirs, acked.id, dead.id]
        assert await call(backend, verb, queue, messages) == [UNKNOWN] * len(messages)
        assert (await find(backend, other, theirs)).paused is False
        assert [each.id for each in await backend.dead(other)] == [elsewhere.id]
        assert await state_of(backend, queue, staged, size=1) is State.STAGED

    @by_name
    async def test_each_named_is_answered_for_itself_and_in_order(
        self, backend: Backend, queue: QueueId, verb: str
    ) -> None:
        """Good ones take effect, whatever stands between them; the same one twice is no error."""
        dead, claimed = await put_dead(backend, queue), await put(backend, queue)
        await take_one(backend, queue)
        waiting = await put(backend, queue)
        nothing = MessageId(MAX_MESSAGE_ID)
        expected = {
            "take": [DONE, UNKNOWN, STALE, UNKNOWN, STALE],
            "bury": [DONE, UNKNOWN, STALE, UNKNOWN, UNKNOWN],
            "pause": [DONE, UNKNOWN, STALE, UNKNOWN, DONE],
            "resume": [DONE, UNKNOWN, STALE, UNKNOWN, DONE],
            "cancel": [DONE, UNKNOWN, DONE, UNKNOWN, UNKNOWN],
            "retry": [STALE, UNKNOWN, STALE, DONE, STALE],
            "drop": [STALE, UNKNOWN, STALE, DONE, STALE],
        }
        assert await call(backend, verb, queue, [waiting, nothing, claimed, dead.id, waiting]) == expected[verb]
        assert await call(backend, verb, queue, [dead.id]) == [STALE if verb == "retry" else UNKNOWN]
        assert await call(backend, verb, queue, []) == []
        assert await backend.audit() == []

    @by_name
    async def test_many_are_named_in_one_call(self, backend: Backend, queue: QueueId, verb: str) -> None:
        """A thousand at once, which is more than a statement of some stores takes as parameters."""
        many = 1100
        staging = [backend.stage(queue, b"", draft=Draft(), room=ANY, partial=False, now=START) for _ in range(many)]
        given = [await each for each in staging]
        for answer in [backend.publish(queue, each, now=START, window=0) for each in given]:
            await answer
        if verb in {"retry", "drop"}:
            verdicts = [Verdict(ref=each.receipt, dead=True) for each in await take(backend, queue, many)]
            assert list(await backend.nack(queue, verdicts, now=START)) == [DONE] * many
            assert len(await backend.dead(queue)) == many
        assert await call(backend, verb, queue, given) == [DONE] * many


class PauseContract(Contract):
    """`pause` and `resume`."""

    async def test_a_paused_message_is_pending_and_not_handed_out(self, backend: Backend, queue: QueueId) -> None:
        """It is counted and shown; neither claim nor peek return it, and none behind it is stopped."""
        first, second, third = [await put(backend, queue, priority=priority) for priority in (5, 0, 0)]
        before = await find(backend, queue, first)
        for _ in range(2):  # again is done again
            assert list(await backend.pause(queue, [first, third])) == [DONE, DONE]
        assert await find(backend, queue, first) == replace(before, paused=True)
        assert await backend.counts(queue) == Counts(pending=3, processing=0)
        assert await pending(backend, queue) == [first, second, third]
        for lifo in (False, True):
            assert ids(await peek(backend, queue, 9, lifo=lifo)) == [second]
        assert ids(await take(backend, queue, 9)) == [second]
        assert list(await take(backend, queue, 9)) == []

    async def test_a_resumed_message_is_at_its_place(self, backend: Backend, queue: QueueId) -> None:
        """By priority and id, as if nothing had been; again is done again."""
        given = [await put(backend, queue, priority=priority) for priority in (0, 1, 0, 0)]
        before = list(await backend.snapshot(queue))
        await backend.pause(queue, given[:3])
        for _ in range(2):
            assert list(await backend.resume(queue, given)) == [DONE] * 4
        assert list(await backend.snapshot(queue)) == before
        assert await backend.audit() == []
        assert ids(await peek(backend, queue, 9)) == [given[place] for place in (1, 0, 2, 3)]
        assert ids(await take(backend, queue, 9)) == [given[place] for place in (1, 0, 2, 3)]

    async def test_what_is_in_processing_is_not_paused(self, backend: Backend, queue: QueueId) -> None:
        """Stale, and when it is given back it is handed out again."""
        message = await put(backend, queue)
        await take_one(backend, queue)
        assert list(await backend.pause(queue, [message])) == [STALE]
        assert list(await backend.resume(queue, [message])) == [STALE]
        await nack(backend, queue, [Ref(message)])
        assert (await take_one(backend, queue)).paused is False

    async def test_a_delay_goes_on_while_it_is_paused(self, backend: Backend, queue: QueueId) -> None:
        """Resumed before its end it waits for it; resumed after, it is handed out at once."""
        soon, late = [await put(backend, queue, draft=Draft(delay=delay)) for delay in (BRIEF, FOREVER)]
        due = [(await find(backend, queue, message)).due for message in (soon, late)]
        await backend.pause(queue, [soon, late])
        assert list((await backend.tick(now=LATER, limit=100)).ripe) == []
        assert list(await take(backend, queue, 9, now=LATER)) == []
        assert [(await find(backend, queue, message)).due for message in (soon, late)] == due
        await backend.resume(queue, [soon, late])
        assert ids(await take(backend, queue, 9, now=LATER)) == [soon]

    async def test_what_is_paused_can_be_cancelled_and_cleared(self, backend: Backend, queue: QueueId) -> None:
        """It is pending in all else."""
        cancelled, cleared = [await put(backend, queue, b"abc") for _ in range(2)]
        await backend.pause(queue, [cancelled, cleared])
        assert list(await backend.cancel(queue, [cancelled], now=START)) == [DONE]
        assert list(await backend.resume(queue, [cancelled])) == [UNKNOWN]
        assert await backend.clear(queue) == Counts(pending=1, processing=0)
        assert (await backend.stats(queue)).paused == 0


class CancelContract(Contract):
    """`cancel`."""

    async def test_a_pending_message_is_gone(self, backend: Backend, queue: QueueId) -> None:
        """From the counts and every view, also if it was delayed; it is not handed out any more."""
        first, second, delayed = [
            await put(backend, queue, b"abc", draft=Draft(delay=delay)) for delay in (0, 0, FOREVER)
        ]
        assert list(await backend.cancel(queue, [first, delayed], now=START)) == [DONE, DONE]
        assert await pending(backend, queue) == [second]
        assert await backend.unacked_bytes(queue) == 3  # noqa: PLR2004 - as above
        assert await state_of(backend, queue, first, size=3) is State.GONE
        assert ids(await take(backend, queue, 9, now=START + 2 * FOREVER)) == [second]

    async def test_one_in_processing_is_marked(self, backend: Backend, queue: QueueId) -> None:
        """It stays as it is but for the mark, and its holder goes on to hold it; again is done again."""
        message = await put(backend, queue)
        await take_one(backend, queue)
        before = await find(backend, queue, message)
        for _ in range(2):
            assert list(await backend.cancel(queue, [message], now=START)) == [DONE]
            assert await find(backend, queue, message) == replace(before, cancelled=True)
        assert await backend.counts(queue) == Counts(pending=0, processing=1)

    async def test_its_holder_is_told_when_it_extends(self, backend: Backend, queue: QueueId) -> None:
        """The lease starts anew all the same; whose claim is over is told that instead."""
        message = await put(backend, queue)
        claimed = await take_one(backend, queue, lease=0.0)
        await backend.cancel(queue, [message], now=START)
        refs = [claimed.receipt, Ref(message, 7), Ref(message)]
        assert list(await backend.extend(queue, refs, lease=FOREVER, now=START)) == [CANCELLED, STALE, CANCELLED]
        assert await overdue(backend) == []
        until = (await find(backend, queue, message)).lease_until
        assert claimed.lease_until is not None
        assert until is not None
        assert until >= claimed.lease_until + FOREVER

    @pytest.mark.parametrize("how", SETTLING)
    async def test_whichever_way_it_is_settled_it_is_gone(self, backend: Backend, queue: QueueId, how: str) -> None:
        """Neither pending nor dead, however it was asked for, and the answer is that it was done."""
        message = await put(backend, queue, b"abc")
        claimed = await take_one(backend, queue, lease=0.0)
        await backend.cancel(queue, [message], now=START)
        assert list(await backend.check(queue, [claimed.receipt])) == [DONE]
        verdict = Verdict(ref=claimed.receipt, delay=FOREVER, dead=how == "bury", reason="late")
        match how:
            case "ack" | "undo":
                answers = await settle(backend, how, queue, [claimed.receipt])
            case "expire":
                answers = list(await backend.expire(queue, [replace(verdict, dead=True)], now=START))
            case _:
                answers = list(await backend.nack(queue, [verdict], now=START))
        assert answers == [DONE]
        assert await backend.counts(queue) == Counts(pending=0, processing=0)
        assert await backend.unacked_bytes(queue) == 0
        assert list(await backend.dead(queue)) == []
        assert await state_of(backend, queue, message, size=3) is State.GONE
        assert await overdue(backend, now=LATER) == []
        await backend.remove_queue(queue)

    async def test_a_stale_receipt_settles_no_cancelled_one(self, backend: Backend, queue: QueueId) -> None:
        """It is as any other in processing."""
        message = await put(backend, queue)
        old = await take_one(backend, queue)
        await nack(backend, queue, [old.receipt])
        await take_one(backend, queue)
        await backend.cancel(queue, [message], now=START)
        for verb in VERBS:
            assert await settle(backend, verb, queue, [old.receipt]) == [STALE], verb
        assert (await find(backend, queue, message)).cancelled
