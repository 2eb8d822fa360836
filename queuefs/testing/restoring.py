"""The contract of restoring: messages that come from another store, and are here what they were there."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from queuefs.backend import Settled
from queuefs.errors import MessageNotFound
from queuefs.lifecycle import State
from queuefs.message import (
    Counts,
    Message,
    MessageId,
    QueueId,
    Ref,
    Room,
)
from queuefs.testing.asking import FAR, stage_as
from queuefs.testing.base import (
    ANY,
    BRIEF,
    FOREVER,
    LATER,
    START,
    Contract,
    find,
    ids,
    new_queue,
    overdue,
    put,
    stage,
    state_of,
    take,
    take_one,
)
from queuefs.testing.pieces import BIG, CUTS
from queuefs.testing.stats import NOTHING

if TYPE_CHECKING:
    from queuefs.backend import Backend

#: A moment that has not come on any clock, in 2038; with fractions that every store can keep.
THEN = 2.0**31 + 0.25

ONE = Message(
    id=FAR,
    state=State.PENDING,
    data=None,
    size=3,
    priority=-7,
    enqueued_at=THEN,
    attempt=2,
    claims=5,
    lease_until=None,
    due=None,
    expires_at=THEN + 7.5,
    paused=False,
    cancelled=False,
    key="é key",
    reason="why\n",
    extra=bytes(range(256)),
    claimed_at=THEN + 1,
)
PLAIN = replace(
    ONE, priority=0, attempt=0, claims=0, expires_at=None, key=None, reason=None, extra=b"", claimed_at=None
)
HELD = replace(ONE, state=State.PROCESSING, lease_until=THEN + 64)

#: What a message may be when it comes, by name.
MESSAGES = {
    "pending": ONE,
    "plain": PLAIN,
    "delayed": replace(ONE, due=THEN + 2),
    "paused": replace(ONE, paused=True),
    "delayed and paused": replace(ONE, due=THEN + 2, paused=True),
    "processing": HELD,
    "cancelled": replace(HELD, cancelled=True),
    "dead": replace(ONE, state=State.DEAD),
    "empty": replace(PLAIN, size=0),
}


async def restore(backend: Backend, queue: QueueId, message: Message) -> None:
    """Bring a message here."""
    await stage_as(backend, queue, message.id, b"abc"[: message.size])
    await backend.restore(queue, message)


class RestoreContract(Contract):
    """`restore`."""

    @pytest.mark.parametrize("what", MESSAGES)
    async def test_a_message_is_what_it_was(self, backend: Backend, queue: QueueId, what: str) -> None:
        """All that was known of it is shown; until it is restored it is staged."""
        message = MESSAGES[what]
        await stage_as(backend, queue, FAR, b"abc"[: message.size])
        assert await state_of(backend, queue, FAR, size=message.size) is State.STAGED
        assert await backend.stats(queue) == NOTHING
        await backend.restore(queue, message)
        assert await find(backend, queue, FAR) == message
        assert list(await backend.payloads(queue, [FAR])) == [b"abc"[: message.size]]
        shown = list(await backend.snapshot(queue)), list(await backend.dead(queue))
        assert shown == (([], [message]) if message.state is State.DEAD else ([message], []))
        assert await backend.audit() == []

    @pytest.mark.parametrize("what", MESSAGES)
    async def test_it_is_counted_as_what_it_is(self, backend: Backend, queue: QueueId, what: str) -> None:
        """It was enqueued; no other total knows of it."""
        message = MESSAGES[what]
        await restore(backend, queue, message)
        stands = message.state is State.PENDING
        assert await backend.stats(queue) == replace(
            NOTHING,
            pending=int(stands),
            processing=int(message.state is State.PROCESSING),
            dead=int(message.state is State.DEAD),
            delayed=int(stands and message.due is not None and not message.paused),
            paused=int(message.paused),
            unacked_bytes=0 if message.state is State.DEAD else message.size,
            oldest_pending=message.enqueued_at if stands else None,
            enqueued=1,
        )
        held = int(message.state is not State.DEAD)
        await stage(backend, queue, b"x", room=Room(messages=1 + held, bytes=1 + held * message.size))

    async def test_a_big_one_comes_in_pieces(self, backend: Backend, queue: QueueId) -> None:
        """Its size is what was staged, whatever is said of it."""
        await stage_as(backend, queue, FAR, BIG[: CUTS[1]], partial=True)
        for begin, end in pairwise(CUTS[1:]):
            await backend.append(queue, FAR, BIG[begin:end], offset=begin, partial=True, room=ANY)
        await backend.restore(queue, replace(ONE, size=1, data=b"no"))
        assert (await find(backend, queue, FAR)).size == len(BIG)
        assert list(await backend.payloads(queue, [FAR])) == [BIG]
        assert await backend.read(queue, FAR, offset=65_000, size=1000) == BIG[65_000:66_000]
        assert await backend.unacked_bytes(queue) == len(BIG)

    async def test_it_lives_on_from_there(self, backend: Backend, queue: QueueId) -> None:
        """Claims count on, the place is that of its priority and id, and what is held back is not handed out."""
        given = {name: replace(each, id=MessageId(FAR + place)) for place, (name, each) in enumerate(MESSAGES.items())}
        for name in ("empty", "paused", "delayed", "plain", "dead", "pending", "processing"):
            await restore(backend, queue, replace(given[name], key=None))
        claimed = await take(backend, queue, 9)
        assert ids(claimed) == [given[name].id for name in ("plain", "empty", "pending")]
        assert [(each.attempt, each.claims, each.data) for each in claimed] == [
            (1, 1, b"abc"),
            (1, 1, b""),
            (3, 6, b"abc"),
        ]
        refs = [Ref(given["processing"].id, 4), Ref(given["processing"].id, 5), Ref(FAR, 5), Ref(FAR, 6)]
        expected = [Settled.STALE, Settled.DONE, Settled.STALE, Settled.DONE]
        assert list(await backend.ack(queue, refs, now=START)) == expected
        await backend.resume(queue, [given["paused"].id])
        assert ids(await take(backend, queue, 9)) == [given["paused"].id]
        assert list(await backend.retry(queue, None, now=START)) == [Settled.DONE]
        assert (await take_one(backend, queue)).id == given["dead"].id

    async def test_its_times_come(self, backend: Backend, queue: QueueId) -> None:
        """A delay, a life and a lease end here as they would have there; those that are over, at once."""
        delayed, lapsing, held = [replace(PLAIN, id=MessageId(FAR + place)) for place in range(3)]
        await restore(backend, queue, replace(delayed, due=START + BRIEF))
        await restore(backend, queue, replace(lapsing, expires_at=START + BRIEF))
        lease = START + BRIEF
        await restore(backend, queue, replace(held, state=State.PROCESSING, claims=1, attempt=1, lease_until=lease))
        tick = await backend.tick(now=LATER, limit=100)
        assert list(tick.ripe) == [queue]
        assert list(tick.lapsed) == [(queue, lapsing.id)]
        assert [each.receipt for each in tick.overdue] == [Ref(held.id, 1)]
        assert ids(await take(backend, queue, 9, now=LATER)) == [delayed.id]
        assert await overdue(backend, now=LATER) == [(queue, Ref(held.id, 1))]

    async def test_it_has_its_key(self, backend: Backend, queue: QueueId) -> None:
        """While it is unacknowledged: also one that was marked as cancelled, not a dead one."""
        for what, message in MESSAGES.items():
            await restore(backend, queue, message)
            key = message.key if message.state is not State.DEAD else None
            assert await backend.find_key(queue, "é key", now=START, window=FOREVER) == (key and FAR), what
            await backend.clear(queue)
            await backend.drop(queue, None)
            assert await backend.find_key(queue, "é key", now=START, window=FOREVER) is None, what

    async def test_a_mark_is_told_its_holder(self, backend: Backend, queue: QueueId) -> None:
        """And the message is done whichever way it is settled."""
        await restore(backend, queue, MESSAGES["cancelled"])
        refs = [Ref(FAR)]
        assert list(await backend.extend(queue, refs, lease=FOREVER, now=START)) == [Settled.CANCELLED]
        assert list(await backend.undo(queue, refs, now=START)) == [Settled.DONE]
        assert await state_of(backend, queue, FAR, size=3) is State.GONE

    async def test_only_what_is_staged_is_restored(self, backend: Backend, queue: QueueId) -> None:
        """`MessageNotFound` for what is unknown, published, restored, discarded, or staged in another queue."""
        other = await new_queue(backend, "other")
        published, elsewhere, discarded = (
            await put(backend, queue),
            await stage(backend, other),
            await stage(backend, queue),
        )
        await backend.discard(queue, discarded)
        await restore(backend, queue, ONE)
        before = list(await backend.snapshot(queue))
        for message in (published, elsewhere, discarded, FAR, MessageId(FAR + 1)):
            with pytest.raises(MessageNotFound):
                await backend.restore(queue, replace(HELD, id=message))
        assert list(await backend.snapshot(queue)) == before
        await backend.discard(other, elsewhere)
        assert await backend.counts(other) == Counts(pending=0, processing=0)

    @pytest.mark.usefixtures("only_durable")
    async def test_what_was_restored_is_kept(self, url: str) -> None:
        """All of it, as it was."""
        async with self.open_store(url) as backend:
            queue = await new_queue(backend, "jobs")
            for place, message in enumerate(MESSAGES.values()):
                await restore(backend, queue, replace(message, id=MessageId(FAR + place), key=None))
            before = [await each(queue) for each in (backend.snapshot, backend.dead, backend.stats)]
        async with self.open_store(url) as backend:
            assert [await each(queue) for each in (backend.snapshot, backend.dead, backend.stats)] == before
            assert await put(backend, queue) >= FAR + len(MESSAGES)
            assert await backend.audit() == []

    @pytest.mark.usefixtures("only_durable", "only_alone")
    async def test_a_restore_that_never_came_leaves_nothing(self, url: str) -> None:
        """What was staged for it is partial until then, and dropped when the store is opened again."""
        async with self.open_store(url) as backend:
            queue = await new_queue(backend, "jobs")
            await stage_as(backend, queue, FAR, partial=True)
        async with self.open_store(url) as backend:
            assert list((await backend.tick(now=START, limit=100)).adopted) == []
            assert await state_of(backend, queue, FAR, size=3) is State.GONE
            await restore(backend, queue, ONE)
            assert await put(backend, queue) > FAR
            assert await backend.audit() == []
