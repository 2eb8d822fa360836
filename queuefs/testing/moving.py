"""The contract of moving: from one queue to another, as it is."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from queuefs.backend import Settled
from queuefs.errors import KeyInUse, QueueFull, QueueNotFound
from queuefs.lifecycle import State
from queuefs.message import MAX_MESSAGE_ID, ROOT, Counts, Draft, MessageId, QueueId, Ref, Room, Verdict
from queuefs.testing.base import (
    ANY,
    BRIEF,
    FOREVER,
    KEEP,
    LATER,
    START,
    Contract,
    find,
    ids,
    new_queue,
    pending,
    put,
    put_dead,
    stage,
    state_of,
    take,
    take_one,
)

if TYPE_CHECKING:
    from queuefs.backend import Backend

DONE, UNKNOWN, STALE = Settled.DONE, Settled.UNKNOWN, Settled.STALE

KEYED = Draft(key="key")


async def move(backend: Backend, queue: QueueId, message: MessageId, target: QueueId, *, room: Room = ANY) -> Settled:
    """Move a message."""
    return await backend.move(queue, message, target=target, room=room)


class MoveContract(Contract):
    """`move`."""

    @pytest.fixture
    async def target(self, backend: Backend) -> QueueId:
        """Make another queue."""
        return await new_queue(backend, "target")

    async def test_a_message_moves_as_it_is(self, backend: Backend, queue: QueueId, target: QueueId) -> None:
        """With all that is known of it, its attempts and receipts included; the payload too."""
        draft = Draft(priority=-3, key="é", ttl=FOREVER, extra=bytes(range(256)))
        message = await put(backend, queue, b"abc", draft=draft)
        refs = [(await take_one(backend, queue)).receipt]
        await backend.nack(queue, [Verdict(ref=refs[0], delay=FOREVER, reason="why")], now=START)
        await backend.pause(queue, [message])
        before = await find(backend, queue, message)
        assert await move(backend, queue, message, target) is DONE
        assert await find(backend, target, message) == before
        assert list(await backend.snapshot(target)) == [before]
        assert list(await backend.payloads(target, [message])) == [b"abc"]
        assert list(await backend.find(queue, [message])) == [None]
        assert list(await backend.payloads(queue, [message])) == [None]
        assert list(await backend.snapshot(queue)) == []

    async def test_both_queues_count_it_right(self, backend: Backend, queue: QueueId, target: QueueId) -> None:
        """It is enqueued once more, in the target; no total of the other is taken back."""
        await put(backend, target, b"12345")
        delayed, paused, free = [await put(backend, queue, b"abc", draft=Draft(delay=d)) for d in (FOREVER, 0, 0)]
        await backend.pause(queue, [paused])
        before = await backend.stats(queue), await backend.stats(target)
        for message in (free, paused, delayed):
            assert await move(backend, queue, message, target) is DONE
        assert await backend.counts(queue) == Counts(pending=0, processing=0)
        assert await backend.counts(target) == Counts(pending=4, processing=0)
        here = replace(before[0], pending=0, delayed=0, paused=0, unacked_bytes=0, oldest_pending=None)
        assert await backend.stats(queue) == here
        there = replace(before[1], pending=4, delayed=1, paused=1, unacked_bytes=14, enqueued=4)
        assert await backend.stats(target) == there
        assert list(await take(backend, queue, 9)) == []
        await backend.remove_queue(queue)
        assert len(await take(backend, target, 9)) == 2  # noqa: PLR2004 - as above

    async def test_it_stands_at_its_place(self, backend: Backend, queue: QueueId, target: QueueId) -> None:
        """Which is its priority and its id, there as here; and it can be moved back."""
        given = [
            (number, await put(backend, number, priority=priority))
            for number, priority in [(queue, 0), (target, 0), (queue, 5), (target, 5), (queue, 0), (target, -1)]
        ]
        order = [given[place][1] for place in (2, 3, 0, 1, 4, 5)]
        for place in (4, 0, 2):
            await move(backend, queue, given[place][1], target)
        assert await pending(backend, target) == order
        assert ids(await take(backend, target, 2)) == order[:2]
        await move(backend, target, given[0][1], queue)
        await put(backend, queue, priority=-1)
        assert (await take_one(backend, queue)).id == given[0][1]
        assert ids(await take(backend, target, 9)) == order[3:]

    async def test_what_was_due_is_due_there(self, backend: Backend, queue: QueueId, target: QueueId) -> None:
        """The end of a delay is told of the target alone, and so is the end of a life."""
        soon = await put(backend, queue, draft=Draft(delay=BRIEF))
        late = await put(backend, queue, draft=Draft(delay=FOREVER))
        for message in (soon, late):
            await move(backend, queue, message, target)
        assert list((await backend.tick(now=LATER, limit=100)).ripe) == [target]
        assert ids(await take(backend, target, 9, now=LATER)) == [soon]
        short = await put(backend, queue, draft=Draft(ttl=BRIEF))
        await move(backend, queue, short, target)
        assert list((await backend.tick(now=LATER, limit=100)).lapsed) == [(target, short)]
        assert await backend.audit() == []

    async def test_a_pause_moves_along(self, backend: Backend, queue: QueueId, target: QueueId) -> None:
        """Until it is resumed there."""
        message = await put(backend, queue)
        await backend.pause(queue, [message])
        await move(backend, queue, message, target)
        assert list(await take(backend, target, 9)) == []
        assert list(await backend.resume(queue, [message])) == [UNKNOWN]
        assert list(await backend.resume(target, [message])) == [DONE]
        assert (await take_one(backend, target)).id == message

    async def test_only_what_is_pending_moves(self, backend: Backend, queue: QueueId, target: QueueId) -> None:
        """Stale in processing; unknown are dead and staged ones, another queue's, and what is none."""
        dead, staged = (await put_dead(backend, queue)).id, await stage(backend, queue)
        held = await put(backend, queue)
        await take_one(backend, queue)
        theirs = await put(backend, target)
        full = Room(messages=1)
        assert await move(backend, queue, held, target, room=full) is STALE
        for message in (dead, staged, theirs, MessageId(MAX_MESSAGE_ID)):
            assert await move(backend, queue, message, target, room=full) is UNKNOWN
        assert (await find(backend, queue, held)).state is State.PROCESSING
        assert ids(await backend.dead(queue)) == [dead]
        assert await state_of(backend, queue, staged, size=1) is State.STAGED
        assert await pending(backend, target) == [theirs]

    async def test_the_target_must_have_room(self, backend: Backend, queue: QueueId, target: QueueId) -> None:
        """To the message and to the byte, staged ones included; else it is where it was, as it was."""
        message = await put(backend, queue, b"abc")
        await put(backend, target, b"1234567")
        await stage(backend, target, b"89")
        before = list(await backend.snapshot(queue)), await backend.stats(target)
        for room in (Room(messages=2), Room(bytes=11), Room(messages=9, bytes=11), Room(messages=1, bytes=99)):
            with pytest.raises(QueueFull):
                await move(backend, queue, message, target, room=room)
            assert (list(await backend.snapshot(queue)), await backend.stats(target)) == before
        assert await move(backend, queue, message, target, room=Room(messages=3, bytes=12)) is DONE
        with pytest.raises(QueueFull):
            await stage(backend, target, b"", room=Room(messages=3))
        await stage(backend, queue, b"abc", room=Room(messages=1, bytes=3))

    async def test_a_key_is_there_once(self, backend: Backend, queue: QueueId, target: QueueId) -> None:
        """Who has it in the target keeps this one out, pending, paused or in processing; it is where it was."""
        message = await put(backend, queue, draft=KEYED)
        other = await put(backend, target, draft=KEYED)
        for step in (backend.pause, backend.resume):
            with pytest.raises(KeyInUse):
                await move(backend, queue, message, target)
            await step(target, [other])
        await take_one(backend, target)
        with pytest.raises(KeyInUse):
            await move(backend, queue, message, target)
        assert await pending(backend, queue) == [message]
        assert await backend.find_key(queue, "key", now=START, window=0) == message
        await backend.nack(target, [Verdict(ref=Ref(other), dead=True)], now=START)
        assert await move(backend, queue, message, target) is DONE
        assert await backend.find_key(target, "key", now=START, window=0) == message

    async def test_a_key_that_is_gone_keeps_none_out(self, backend: Backend, queue: QueueId, target: QueueId) -> None:
        """Neither there, for a move is no publication, nor here once its message has moved, whatever the window."""
        await put(backend, target, draft=KEYED, window=FOREVER)
        await backend.clear(target)
        message = await put(backend, queue, draft=KEYED, window=FOREVER)
        assert await move(backend, queue, message, target) is DONE
        assert await backend.find_key(queue, "key", now=START, window=FOREVER) is None
        second = await put(backend, queue, draft=KEYED, window=FOREVER)
        assert await backend.find_key(queue, "key", now=START, window=0) == second
        await backend.cancel(target, [message], now=START)
        assert await backend.find_key(target, "key", now=START, window=0) is None
        assert await backend.audit() == []

    async def test_a_move_to_where_it_is_changes_nothing(self, backend: Backend, queue: QueueId) -> None:
        """Done, however full the queue is and whoever has its key; stale in processing, unknown if it is not there."""
        message = await put(backend, queue, b"abc", draft=Draft(key="key", delay=FOREVER), window=FOREVER)
        before = list(await backend.snapshot(queue)), await backend.stats(queue)
        assert await move(backend, queue, message, queue, room=Room(messages=1, bytes=1)) is DONE
        assert (list(await backend.snapshot(queue)), await backend.stats(queue)) == before
        assert await backend.find_key(queue, "key", now=START, window=FOREVER) == message
        held = await put(backend, queue)
        await take_one(backend, queue)
        assert await move(backend, queue, held, queue) is STALE
        assert await move(backend, queue, MessageId(MAX_MESSAGE_ID), queue) is UNKNOWN

    async def test_a_move_needs_both_queues(self, backend: Backend, queue: QueueId, target: QueueId) -> None:
        """One that is gone, or the root, raises `QueueNotFound`, and the message stays where it is."""
        message = await put(backend, queue)
        await backend.remove_queue(target)
        for number in (target, ROOT):
            with pytest.raises(QueueNotFound):
                await move(backend, queue, message, number)
            with pytest.raises(QueueNotFound):
                await move(backend, number, message, queue)
        assert await pending(backend, queue) == [message]

    async def test_a_moved_message_is_the_targets(self, backend: Backend, queue: QueueId, target: QueueId) -> None:
        """It is claimed, settled and recorded there; its claims count on."""
        message = await put(backend, queue, b"abc")
        old = await take_one(backend, queue)
        await backend.nack(queue, [Verdict(ref=old.receipt)], now=START)
        await move(backend, queue, message, target)
        claimed = await take_one(backend, target)
        assert (claimed.id, claimed.data, claimed.receipt, claimed.attempt) == (message, b"abc", Ref(message, 2), 2)
        assert list(await backend.ack(queue, [Ref(message)], now=START, keep=KEEP)) == [UNKNOWN]
        assert list(await backend.ack(target, [old.receipt, claimed.receipt], now=START, keep=KEEP)) == [STALE, DONE]
        (record,) = await backend.records(target, after=None, limit=9, now=START)
        assert record.id == message
        assert list(await backend.records(queue, after=None, limit=9, now=START)) == []

    async def test_the_order_holds_whatever_was_moved(self, backend: Backend, queue: QueueId, target: QueueId) -> None:
        """Of two queues one is first in first out, the other not: each hands out as if all had been put there."""
        choose = random.Random(8)  # noqa: S311 - the same each time
        queues = [queue, target]
        waiting: dict[MessageId, tuple[int, int]] = {}
        for _ in range(200):
            step = choose.random()
            if step < 3 / 8:
                place, priority = choose.randrange(2), choose.choice([0, 0, 1])
                waiting[await put(backend, queues[place], priority=priority)] = place, priority
            elif step < 6 / 8 and waiting:
                message = choose.choice(sorted(waiting))
                place, priority = waiting[message]
                assert await move(backend, queues[place], message, queues[1 - place]) is DONE
                waiting[message] = 1 - place, priority
            else:
                place = choose.randrange(2)
                sign = -1 if place else 1
                order = sorted((-rank, sign * message) for message, (at, rank) in waiting.items() if at == place)
                claimed = await take(backend, queues[place], 2, lifo=bool(place))
                assert ids(claimed) == [abs(message) for _, message in order[:2]]
                for each in claimed:
                    if choose.random() < 1 / 2:
                        await backend.undo(queues[place], [each.receipt], now=START)
                    else:
                        await backend.ack(queues[place], [each.receipt], now=START)
                        del waiting[each.id]
        assert await backend.audit() == []

    @pytest.mark.usefixtures("only_durable")
    async def test_a_move_is_kept(self, url: str) -> None:
        """By both queues."""
        async with self.open_store(url) as backend:
            queue, target = await new_queue(backend, "jobs"), await new_queue(backend, "target")
            message = await put(backend, queue, b"abc", draft=KEYED)
            await move(backend, queue, message, target)
            before = await backend.stats(queue), await backend.stats(target), await find(backend, target, message)
        async with self.open_store(url) as backend:
            after = await backend.stats(queue), await backend.stats(target), await find(backend, target, message)
            assert after == before
            assert (await take_one(backend, target)).data == b"abc"
            assert await backend.find_key(queue, "key", now=START, window=0) is None
            assert await backend.audit() == []
