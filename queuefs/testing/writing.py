"""The contract of writing: stage, append, publish, discard, and the ids that are given."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from queuefs.errors import BadValue, IdsExhausted, MessageNotFound
from queuefs.lifecycle import State
from queuefs.message import MAX_MESSAGE_ID, Counts, MessageId, QueueId, Ref
from queuefs.testing.base import (
    ANY,
    START,
    Contract,
    find,
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

MIB = 1024 * 1024

PAYLOADS = {
    "empty": b"",
    "one": b"x",
    "nul": b"\0",
    "nuls": b"\0" * 1000,
    "newline": b"\n",
    "all bytes": bytes(range(256)),
    "no utf-8": b"\xff\xfe\xc3\x28\xed\xa0\x80",
    "number": b"42",
    "random": random.Random(7).randbytes(MIB),  # noqa: S311 - the same each time
}


class WritingContract(Contract):
    """Writing: `stage` to `discard`."""

    async def test_a_staged_message_is_seen_by_nobody(self, backend: Backend, queue: QueueId) -> None:
        """It is in no count, and neither claimed nor shown."""
        message = await stage(backend, queue, b"secret")
        assert await backend.counts(queue) == Counts(pending=0, processing=0)
        assert await backend.unacked_bytes(queue) == 0
        assert list(await backend.snapshot(queue)) == []
        assert list(await peek(backend, queue, 10)) == []
        assert list(await take(backend, queue, 10)) == []
        assert list(await backend.payloads(queue, [message])) == [None]

    async def test_a_published_message_is_pending(self, backend: Backend, queue: QueueId) -> None:
        """It shows what it was staged with."""
        number = await stage(backend, queue, b"hello", priority=7)
        await publish(backend, queue, number)
        (message,) = await peek(backend, queue, 1)
        assert (message.id, message.state, message.data, message.size) == (number, State.PENDING, b"hello", 5)
        assert (message.priority, message.attempt, message.claims, message.lease_until) == (7, 0, 0, None)
        if not backend.traits.server_time:
            assert message.enqueued_at == START

    async def test_payloads_are_kept_byte_for_byte(self, backend: Backend, queue: QueueId) -> None:
        """Whatever the bytes are, all ways to read them return them."""
        ids = [await put(backend, queue, data) for data in PAYLOADS.values()]
        peeked = await peek(backend, queue, len(ids))
        claimed = await take(backend, queue, len(ids))
        payloads = await backend.payloads(queue, ids)
        for place, (what, data) in enumerate(PAYLOADS.items()):
            assert peeked[place].data == data, what
            assert claimed[place].data == data, what
            assert claimed[place].size == len(data), what
            assert payloads[place] == data, what

    async def test_appended_pieces_make_one_message(self, backend: Backend, queue: QueueId) -> None:
        """They stand in the order in which they were appended, empty ones included."""
        data = PAYLOADS["random"]
        cuts = [0, 0, 1, 65536, 65536, 65537, 500_000, MIB]
        message = await stage(backend, queue, b"")
        for begin, end in pairwise(cuts):
            await backend.append(queue, message, data[begin:end], offset=begin, partial=True, room=ANY)
        await backend.append(queue, message, b"", offset=MIB, partial=False, room=ANY)
        await publish(backend, queue, message)
        claimed = await take_one(backend, queue)
        assert claimed.data == data
        assert claimed.size == MIB
        assert await backend.unacked_bytes(queue) == MIB

    @pytest.mark.parametrize("offset", [0, 2, 4, 10**12])
    async def test_an_append_elsewhere_is_refused(self, backend: Backend, queue: QueueId, offset: int) -> None:
        """An offset that is not the number of bytes stored so far raises `BadValue`, and nothing is stored."""
        message = await stage(backend, queue, b"abc")
        with pytest.raises(BadValue):
            await backend.append(queue, message, b"def", offset=offset, partial=False, room=ANY)
        await backend.append(queue, message, b"DEF", offset=3, partial=False, room=ANY)
        await publish(backend, queue, message)
        assert (await take_one(backend, queue)).data == b"abcDEF"

    async def test_what_is_not_staged_is_not_appended_to(self, backend: Backend, queue: QueueId) -> None:
        """Published, discarded, unknown, or staged in another queue: `MessageNotFound`."""
        other = await new_queue(backend, "other")
        elsewhere = await stage(backend, other, b"abc")
        published = await put(backend, queue, b"abc")
        discarded = await stage(backend, queue, b"abc")
        await backend.discard(queue, discarded)
        for message in (published, discarded, elsewhere, MessageId(MAX_MESSAGE_ID)):
            with pytest.raises(MessageNotFound):
                await backend.append(queue, message, b"def", offset=3, partial=False, room=ANY)
        assert (await find(backend, queue, published)).size == 3  # noqa: PLR2004 - as written above
        await backend.discard(other, elsewhere)

    async def test_publishing_again_changes_nothing(self, backend: Backend, queue: QueueId) -> None:
        """Pending, in processing or gone: the message is left as it is."""
        message = await put(backend, queue)
        await publish(backend, queue, message)
        assert await backend.counts(queue) == Counts(pending=1, processing=0)
        claimed = await take_one(backend, queue)
        await publish(backend, queue, message)
        assert await find(backend, queue, message) == replace(claimed, data=None)
        await backend.ack(queue, [claimed.receipt], now=START)
        await publish(backend, queue, message)
        assert await backend.counts(queue) == Counts(pending=0, processing=0)

    async def test_discarding_leaves_nothing(self, backend: Backend, queue: QueueId) -> None:
        """Publishing what was discarded publishes nothing; discarding it again is no error."""
        message = await stage(backend, queue)
        await backend.discard(queue, message)
        await backend.discard(queue, message)
        await publish(backend, queue, message)
        assert await backend.counts(queue) == Counts(pending=0, processing=0)

    async def test_discarding_spares_what_is_published(self, backend: Backend, queue: QueueId) -> None:
        """A message that is pending or in processing is left as it is."""
        message = await put(backend, queue)
        await backend.discard(queue, message)
        assert await backend.counts(queue) == Counts(pending=1, processing=0)
        await take_one(backend, queue)
        await backend.discard(queue, message)
        assert await backend.counts(queue) == Counts(pending=0, processing=1)

    async def test_a_stage_is_of_its_queue(self, backend: Backend, queue: QueueId) -> None:
        """Under another queue's number it is neither published nor discarded."""
        other = await new_queue(backend, "other")
        message = await stage(backend, queue, b"abc")
        await publish(backend, other, message)
        await backend.discard(other, message)
        assert await backend.counts(other) == Counts(pending=0, processing=0)
        assert await state_of(backend, queue, message, size=3) is State.STAGED
        await publish(backend, queue, message)
        assert await pending(backend, queue) == [message]

    async def test_a_partial_stage_can_be_published(self, backend: Backend, queue: QueueId) -> None:
        """The mark is for after a crash: whoever publishes knows that the message is whole."""
        message = await stage(backend, queue, b"abc", partial=True)
        await publish(backend, queue, message)
        assert (await take_one(backend, queue)).data == b"abc"

    async def test_ids_grow_and_are_never_given_again(self, backend: Backend, queue: QueueId) -> None:
        """Not after a discard, an ack, `clear` or `remove_queue`, and not in another queue."""
        given = [await put(backend, queue), await stage(backend, queue)]
        await backend.discard(queue, given[-1])
        given.append(await put(backend, queue))
        await backend.ack(queue, [Ref(message.id) for message in await take(backend, queue, 5)], now=START)
        given += [await put(backend, queue), await put(backend, queue)]
        await backend.clear(queue)
        given.append(await stage(backend, queue))
        await backend.discard(queue, given[-1])
        await backend.remove_queue(queue)
        other = await new_queue(backend, "jobs")
        given.append(await put(backend, other))
        assert given == sorted(set(given))
        assert given[0] > 0

    async def test_the_highest_ids_work_and_are_the_end(self, backend: Backend, queue: QueueId, url: str) -> None:
        """Every id up to `MAX_MESSAGE_ID` is given and keeps its place; then `IdsExhausted`, for ever."""
        await self.use_ids_up(backend, url, last=MAX_MESSAGE_ID - 3)
        ids = [await put(backend, queue, data) for data in (b"a", b"b", b"c")]
        assert ids == [MAX_MESSAGE_ID - 2, MAX_MESSAGE_ID - 1, MAX_MESSAGE_ID]
        for _ in range(2):
            with pytest.raises(IdsExhausted):
                await stage(backend, queue)
        first, second = await take(backend, queue, 2)
        assert (first.id, first.data, second.id, second.data) == (ids[0], b"a", ids[1], b"b")
        await nack(backend, queue, [second.receipt])
        assert await pending(backend, queue) == ids[1:]
        await backend.ack(queue, [first.receipt], now=START)
        await backend.clear(queue)
        with pytest.raises(IdsExhausted):
            await stage(backend, queue)

    @pytest.mark.usefixtures("only_durable")
    async def test_a_message_that_cant_be_read_stops_nobody(self, backend: Backend, queue: QueueId, url: str) -> None:
        """It is skipped and stays pending; the ones behind it are claimed; `audit` names it."""
        bad = await put(backend, queue, b"first")
        await self.damage_payload(backend, url, bad)
        good = await put(backend, queue, b"second")
        assert [message.id for message in await take(backend, queue, 1)] == [good]
        assert list(await take(backend, queue)) == []
        assert await pending(backend, queue) == [bad]
        assert await backend.audit() != []
        await backend.clear(queue)
