"""The contract of settling: ids and receipts, good and bad ones, alone and together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from queuefs.backend import Settled
from queuefs.lifecycle import State
from queuefs.message import MAX_MESSAGE_ID, Counts, Draft, MessageId, QueueId, Ref
from queuefs.testing.base import (
    ANY,
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

DONE, UNKNOWN, STALE = Settled.DONE, Settled.UNKNOWN, Settled.STALE

#: All methods that settle, and the one that only looks.
VERBS = ["undo", "ack", "nack", "extend", "check"]
every_verb = pytest.mark.parametrize("verb", VERBS)


async def settle(backend: Backend, verb: str, queue: QueueId, refs: Sequence[Ref]) -> list[Settled]:
    """Call the method *verb* and return its answers."""
    match verb:
        case "undo":
            return list(await backend.undo(queue, refs, now=START))
        case "ack":
            return list(await backend.ack(queue, refs, now=START))
        case "nack":
            return list(await nack(backend, queue, refs))
        case "extend":
            return list(await backend.extend(queue, refs, lease=LEASE, now=START))
        case _:
            return list(await backend.check(queue, refs))


class SettlingContract(Contract):
    """Settling: `undo` to `clear`."""

    @every_verb
    async def test_an_id_names_whatever_claim_there_is(self, backend: Backend, queue: QueueId, verb: str) -> None:
        """Done for a message in processing, whichever claim it is under."""
        await put(backend, queue)
        await lose(backend, queue)
        claimed = await take_one(backend, queue)
        assert await settle(backend, verb, queue, [Ref(claimed.id)]) == [DONE]

    @every_verb
    async def test_a_receipt_names_its_claim_alone(self, backend: Backend, queue: QueueId, verb: str) -> None:
        """Stale for a claim that is over or never was; done for the present one."""
        await put(backend, queue)
        old = await lose(backend, queue)
        claimed = await take_one(backend, queue)
        before = await find(backend, queue, claimed.id)
        for claim in (old.claims, claimed.claims + 1, claimed.claims + 2**32, 2**63 - 1):
            assert await settle(backend, verb, queue, [Ref(claimed.id, claim)]) == [STALE], claim
        assert await find(backend, queue, claimed.id) == before
        assert await settle(backend, verb, queue, [claimed.receipt]) == [DONE]

    @every_verb
    async def test_what_is_not_unacknowledged_here_is_unknown(
        self, backend: Backend, queue: QueueId, verb: str
    ) -> None:
        """Never given, staged, another queue's, acknowledged or cleared: unknown, by id and by receipt."""
        other = await new_queue(backend, "other")
        await put(backend, other)
        elsewhere = await take_one(backend, other)
        staged = await stage(backend, queue)
        await put(backend, queue)
        acked = await take_one(backend, queue)
        await backend.ack(queue, [acked.receipt], now=START)
        cleared = await put(backend, queue)
        await backend.clear(queue)
        for message in (MessageId(MAX_MESSAGE_ID), MessageId(staged + 1000), staged, elsewhere.id, acked.id, cleared):
            assert await settle(backend, verb, queue, [Ref(message), Ref(message, 1)]) == [UNKNOWN, UNKNOWN], message
        assert await backend.counts(other) == Counts(pending=0, processing=1)
        await publish(backend, queue, staged)
        assert await backend.counts(queue) == Counts(pending=1, processing=0)

    @every_verb
    async def test_what_is_pending_is_stale(self, backend: Backend, queue: QueueId, verb: str) -> None:
        """Never claimed, or pending again: by id, and by the receipt of its last claim."""
        first = await put(backend, queue)
        again = await lose(backend, queue)
        never = await put(backend, queue)
        refs = [Ref(first), again.receipt, Ref(never), Ref(never, 1), Ref(never, 0)]
        before = list(await backend.snapshot(queue))
        assert await settle(backend, verb, queue, refs) == [STALE] * len(refs)
        assert list(await backend.snapshot(queue)) == before

    @every_verb
    async def test_each_is_answered_for_itself_and_in_order(self, backend: Backend, queue: QueueId, verb: str) -> None:
        """Good ones take effect, whatever stands between them."""
        _, _, third = [await put(backend, queue) for _ in range(3)]
        first, second = await take(backend, queue, 2)
        nothing = MessageId(MAX_MESSAGE_ID)
        refs = [Ref(nothing), second.receipt, Ref(first.id, 9), Ref(third), Ref(first.id)]
        assert await settle(backend, verb, queue, refs) == [UNKNOWN, DONE, STALE, STALE, DONE]
        expected = {
            "undo": Counts(pending=3, processing=0),
            "ack": Counts(pending=1, processing=0),
            "nack": Counts(pending=3, processing=0),
            "extend": Counts(pending=1, processing=2),
            "check": Counts(pending=1, processing=2),
        }
        assert await backend.counts(queue) == expected[verb]

    @every_verb
    async def test_the_same_one_twice_is_settled_once(self, backend: Backend, queue: QueueId, verb: str) -> None:
        """The second finds what the first has left; `check` answers as `ack` would."""
        await put(backend, queue)
        claimed = await take_one(backend, queue)
        second = {"undo": STALE, "ack": UNKNOWN, "nack": STALE, "extend": DONE, "check": UNKNOWN}[verb]
        assert await settle(backend, verb, queue, [claimed.receipt, Ref(claimed.id)]) == [DONE, second]
        assert await backend.audit() == []

    @every_verb
    async def test_none_is_answered_with_none(self, backend: Backend, queue: QueueId, verb: str) -> None:
        """Settling nothing is no error."""
        assert await settle(backend, verb, queue, []) == []

    @every_verb
    async def test_many_are_settled_in_one_call(self, backend: Backend, queue: QueueId, verb: str) -> None:
        """A thousand at once, which is more than a statement of some stores takes as parameters."""
        many = 1100
        given = [backend.stage(queue, b"", draft=Draft(), room=ANY, partial=False, now=START) for _ in range(many)]
        for answer in [backend.publish(queue, await each, now=START, window=0) for each in given]:
            await answer
        claimed = await take(backend, queue, many)
        assert len(claimed) == many
        assert await settle(backend, verb, queue, [message.receipt for message in claimed]) == [DONE] * many

    async def test_an_acked_message_is_gone(self, backend: Backend, queue: QueueId) -> None:
        """It leaves both counts, the sum of bytes and every view, for good."""
        await put(backend, queue, b"abc")
        claimed = await take_one(backend, queue)
        await backend.ack(queue, [claimed.receipt], now=START)
        assert await backend.counts(queue) == Counts(pending=0, processing=0)
        assert await backend.unacked_bytes(queue) == 0
        assert list(await backend.snapshot(queue)) == []
        assert list(await backend.payloads(queue, [claimed.id])) == [None]
        assert await overdue(backend, now=START + 10 * LEASE) == []

    async def test_extending_lets_the_lease_start_anew(self, backend: Backend, queue: QueueId) -> None:
        """``lease_until`` = now + lease; attempt, claims and receipt stay."""
        await put(backend, queue)
        claimed = await take_one(backend, queue, lease=2 * LEASE)
        await backend.extend(queue, [claimed.receipt], lease=10 * LEASE, now=START + 8)
        longer = await find(backend, queue, claimed.id)
        assert (longer.state, longer.attempt, longer.receipt) == (State.PROCESSING, 1, claimed.receipt)
        await backend.extend(queue, [claimed.receipt], lease=LEASE, now=START + 9)
        shorter = await find(backend, queue, claimed.id)
        assert claimed.lease_until is not None
        assert longer.lease_until is not None
        assert shorter.lease_until is not None
        if backend.traits.server_time:
            assert shorter.lease_until < claimed.lease_until < longer.lease_until
        else:
            assert (longer.lease_until, shorter.lease_until) == (START + 8 + 10 * LEASE, START + 9 + LEASE)

    async def test_checking_changes_nothing(self, backend: Backend, queue: QueueId) -> None:
        """`check` answers as `ack` would, and the message stays as it is."""
        await put(backend, queue)
        claimed = await take_one(backend, queue)
        before = list(await backend.snapshot(queue))
        assert list(await backend.check(queue, [claimed.receipt])) == [DONE]
        assert list(await backend.snapshot(queue)) == before
        assert list(await backend.ack(queue, [claimed.receipt], now=START)) == [DONE]

    async def test_clear_removes_all_but_the_staged(self, backend: Backend, queue: QueueId) -> None:
        """It returns how many of each there were; what is being written is published later as if nothing had been."""
        for _ in range(5):
            await put(backend, queue, b"abc")
        claimed = await take(backend, queue, 2)
        staged = await stage(backend, queue, b"new")
        assert await backend.clear(queue) == Counts(pending=3, processing=2)
        assert await backend.counts(queue) == Counts(pending=0, processing=0)
        assert await backend.unacked_bytes(queue) == 0
        assert list(await backend.snapshot(queue)) == []
        assert list(await backend.ack(queue, [message.receipt for message in claimed], now=START)) == [UNKNOWN, UNKNOWN]
        assert await overdue(backend, now=START + 10 * LEASE) == []
        assert await backend.clear(queue) == Counts(pending=0, processing=0)
        await publish(backend, queue, staged)
        assert (await take_one(backend, queue)).data == b"new"

    async def test_clear_keeps_to_its_queue(self, backend: Backend, queue: QueueId) -> None:
        """A child's messages and leases stay."""
        child = await new_queue(backend, "child", parent=queue)
        for number in (queue, child):
            for _ in range(2):
                await put(backend, number)
            await take(backend, number)
        await backend.clear(queue)
        assert await backend.counts(child) == Counts(pending=1, processing=1)
