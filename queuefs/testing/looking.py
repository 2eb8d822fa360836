# ruff: noqa: PLR2004 - the numbers are sums of the sizes written above them
"""The contract of looking: nothing that only looks changes anything."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from queuefs.lifecycle import State
from queuefs.message import MAX_MESSAGE_ID, Counts, Draft, MessageId, QueueId
from queuefs.testing.base import (
    ANY,
    START,
    Contract,
    nack,
    new_queue,
    peek,
    publish,
    put,
    put_dead,
    stage,
    take,
    take_one,
)

if TYPE_CHECKING:
    from queuefs.backend import Backend


class LookingContract(Contract):
    """Looking: `counts` to `payloads`."""

    async def test_counts_are_of_one_queue(self, backend: Backend, queue: QueueId) -> None:
        """Neither a child's messages are counted nor those that are staged."""
        child = await new_queue(backend, "child", parent=queue)
        for _ in range(3):
            await put(backend, queue)
            await put(backend, child)
        await stage(backend, queue)
        await take(backend, queue)
        assert await backend.counts(queue) == Counts(pending=2, processing=1)
        assert await backend.counts(child) == Counts(pending=3, processing=0)

    async def test_peek_shows_the_first_and_claims_nothing(self, backend: Backend, queue: QueueId) -> None:
        """It returns the first *count* pending messages with their payloads, in order."""
        for data, priority in [(b"c", 0), (b"a", 9), (b"d", 0), (b"b", 3)]:
            await put(backend, queue, data, priority=priority)
        assert [message.data for message in await peek(backend, queue, 1)] == [b"a"]
        assert [message.data for message in await peek(backend, queue, 3)] == [b"a", b"b", b"c"]
        peeked = await peek(backend, queue, 9)
        assert [message.data for message in peeked] == [b"a", b"b", b"c", b"d"]
        assert {(message.state, message.attempt, message.lease_until) for message in peeked} == {
            (State.PENDING, 0, None)
        }
        assert await backend.counts(queue) == Counts(pending=4, processing=0)

    async def test_peek_leaves_out_what_is_in_processing(self, backend: Backend, queue: QueueId) -> None:
        """The first pending one is that behind it."""
        for data in (b"a", b"b"):
            await put(backend, queue, data)
        await take(backend, queue)
        assert [message.data for message in await peek(backend, queue, 5)] == [b"b"]
        await take(backend, queue)
        assert list(await peek(backend, queue, 1)) == []

    async def test_bytes_are_those_of_pending_and_processing(self, backend: Backend, queue: QueueId) -> None:
        """The sum follows every step; staged bytes are not in it."""
        for size in (0, 10, 200, 3000):
            await put(backend, queue, b"x" * size)
        staged = await stage(backend, queue, b"x" * 40_000)
        assert await backend.unacked_bytes(queue) == 3210
        first, second = await take(backend, queue, 2)
        assert await backend.unacked_bytes(queue) == 3210
        await nack(backend, queue, [first.receipt])
        await backend.ack(queue, [second.receipt], now=START)
        assert await backend.unacked_bytes(queue) == 3200
        await publish(backend, queue, staged)
        assert await backend.unacked_bytes(queue) == 43_200
        await backend.clear(queue)
        assert await backend.unacked_bytes(queue) == 0

    async def test_a_snapshot_shows_all_unacknowledged_in_order(self, backend: Backend, queue: QueueId) -> None:
        """By priority and id, pending and in processing alike, without payloads."""
        other = await new_queue(backend, "other")
        for number in (queue, other):
            for priority in (0, 5, 0):
                await put(backend, number, b"abc", priority=priority)
        claimed = await take(backend, queue, 2)
        await stage(backend, queue)
        peeked = await peek(backend, queue, 1)
        assert list(await backend.snapshot(queue)) == [replace(each, data=None) for each in (*claimed, *peeked)]

    async def test_a_snapshot_can_be_large(self, backend: Backend, queue: QueueId) -> None:
        """Thousands of messages are shown whole and in order, and so are their payloads."""
        answers = [
            backend.stage(queue, b"%d" % n, draft=Draft(priority=n % 3), room=ANY, partial=False, now=START)
            for n in range(3000)
        ]
        given = [await answer for answer in answers]
        for done in [backend.publish(queue, message, now=START, window=0) for message in given]:
            await done
        order = sorted(range(3000), key=lambda n: (-(n % 3), n))
        messages = [message.id for message in await backend.snapshot(queue)]
        assert messages == [given[n] for n in order]
        assert list(await backend.payloads(queue, messages)) == [b"%d" % n for n in order]

    async def test_payloads_come_in_the_order_asked(self, backend: Backend, queue: QueueId) -> None:
        """None for each that is gone, unknown, staged or another queue's; the same one twice is answered twice."""
        other = await new_queue(backend, "other")
        elsewhere = await put(backend, other, b"other")
        given = [await put(backend, queue, data) for data in (b"a", b"", b"c")]
        staged = await stage(backend, queue, b"staged")
        claimed = await take_one(backend, queue)
        wanted = [given[2], elsewhere, given[0], staged, MessageId(MAX_MESSAGE_ID), given[1], given[2]]
        assert list(await backend.payloads(queue, wanted)) == [b"c", None, b"a", None, None, b"", b"c"]
        await backend.ack(queue, [claimed.receipt], now=START)
        assert list(await backend.payloads(queue, given)) == [None, b"", b"c"]
        assert list(await backend.payloads(queue, [])) == []

    async def test_looking_changes_nothing(self, backend: Backend, queue: QueueId) -> None:
        """Every view can be read over and over, side by side with what it shows."""
        message = await put(backend, queue, b"a")
        await put(backend, queue, b"b")
        await take(backend, queue)
        for _ in range(3):
            await peek(backend, queue, 2)
            await backend.payloads(queue, [message])
            await backend.snapshot(queue)
            await backend.unacked_bytes(queue)
            await backend.find(queue, [message])
            await backend.dead(queue)
            await backend.stats(queue)
            assert await backend.audit() == []
        assert await backend.counts(queue) == Counts(pending=1, processing=1)
        assert [message.attempt for message in await backend.snapshot(queue)] == [1, 0]

    async def test_what_is_asked_for_is_kept(self, backend: Backend, queue: QueueId) -> None:
        """All of the draft that has no meaning here is shown as it was given, by every view and the claim."""
        draft = Draft(priority=-7, key="é key", extra=bytes(range(256)))
        message = await put(backend, queue, draft=draft)
        shown = [*await backend.snapshot(queue), *await peek(backend, queue), await take_one(backend, queue)]
        shown += [each for each in await backend.find(queue, [message]) if each]
        for each in shown:
            assert (each.priority, each.key, each.extra, each.reason) == (-7, "é key", draft.extra, None)
            assert (each.due, each.expires_at, each.paused, each.cancelled) == (None, None, False, False)
        plain = await put(backend, queue)
        (found,) = await backend.find(queue, [plain])
        assert found is not None
        assert (found.priority, found.key, found.extra) == (0, None, b"")

    async def test_messages_are_found_in_the_order_asked(self, backend: Backend, queue: QueueId) -> None:
        """Pending, in processing and dead ones, without payloads; None for each that is none of these."""
        other = await new_queue(backend, "other")
        elsewhere = await put(backend, other)
        dead = await put_dead(backend, queue, b"dead")
        claimed, waiting = [await put(backend, queue, data) for data in (b"a", b"bc")]
        await take_one(backend, queue)
        staged = await stage(backend, queue)
        wanted = [waiting, elsewhere, dead.id, staged, MessageId(MAX_MESSAGE_ID), claimed, waiting]
        found = await backend.find(queue, wanted)
        assert [each and each.id for each in found] == [waiting, None, dead.id, None, None, claimed, waiting]
        assert [each.state for each in found if each] == [
            State.PENDING,
            State.DEAD,
            State.PROCESSING,
            State.PENDING,
        ]
        assert {each.data for each in found if each} == {None}
        assert [found[5], found[0]] == list(await backend.snapshot(queue))
        assert [found[2]] == list(await backend.dead(queue))
        assert list(await backend.find(queue, [])) == []
        assert list(await backend.payloads(queue, [dead.id, waiting, claimed])) == [b"dead", b"bc", b"a"]

    async def test_many_are_found_in_one_call(self, backend: Backend, queue: QueueId) -> None:
        """More than a statement of some stores takes as parameters, known and unknown ones mixed."""
        message = await put(backend, queue)
        wanted = [MessageId(message + number) for number in range(1100)]
        found = await backend.find(queue, wanted)
        assert [each and each.id for each in found] == [message, *[None] * 1099]
