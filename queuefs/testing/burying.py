"""The contract of burying: pending messages that are set aside by name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from queuefs.backend import Settled
from queuefs.lifecycle import State
from queuefs.message import Counts, Draft, QueueId, Ref, Room, Verdict
from queuefs.testing.base import (
    BRIEF,
    FOREVER,
    LATER,
    START,
    Contract,
    find,
    ids,
    put,
    stage,
    take,
    take_one,
)

if TYPE_CHECKING:
    from queuefs.backend import Backend

DONE, UNKNOWN, STALE = Settled.DONE, Settled.UNKNOWN, Settled.STALE


class BuryContract(Contract):
    """`bury`."""

    async def test_a_pending_message_is_buried(self, backend: Backend, queue: QueueId) -> None:
        """It is dead as it was, in no count of what is unacknowledged, and nobody gets it."""
        draft = Draft(priority=3, key="key", ttl=FOREVER, extra=b"\0\xff")
        message = await put(backend, queue, b"abc", draft=draft)
        other = await put(backend, queue)
        before = await find(backend, queue, message)
        assert list(await backend.bury(queue, [message], reason="é\n")) == [DONE]
        assert list(await backend.dead(queue)) == [replace(before, state=State.DEAD, reason="é\n")]
        assert list(await backend.payloads(queue, [message])) == [b"abc"]
        assert await backend.counts(queue) == Counts(pending=1, processing=0)
        assert await backend.unacked_bytes(queue) == 1
        stats = await backend.stats(queue)
        assert (stats.dead, stats.buried, stats.nacked, stats.dequeued) == (1, 1, 0, 0)
        assert ids(await take(backend, queue, 9)) == [other]

    async def test_it_waits_for_nothing_and_is_not_paused(self, backend: Backend, queue: QueueId) -> None:
        """Its delay ends nothing later; retried, it is handed out at once."""
        delayed, paused, both = [
            await put(backend, queue, draft=Draft(delay=delay, ttl=FOREVER)) for delay in (BRIEF, 0, FOREVER)
        ]
        await backend.pause(queue, [paused, both])
        assert list(await backend.bury(queue, [both, paused, delayed])) == [DONE] * 3
        dead = await backend.dead(queue)
        assert [(each.id, each.due, each.paused) for each in dead] == [
            (message, None, False) for message in (delayed, paused, both)
        ]
        stats = await backend.stats(queue)
        assert (stats.delayed, stats.paused, stats.buried) == (0, 0, 3)
        assert list((await backend.tick(now=LATER, limit=100)).ripe) == []
        await backend.retry(queue, None, now=START)
        assert ids(await take(backend, queue, 9)) == [delayed, paused, both]

    async def test_without_a_reason_the_old_one_stays(self, backend: Backend, queue: QueueId) -> None:
        """What was said at a nack before; none if nothing ever was."""
        message = await put(backend, queue)
        refs = [(await take_one(backend, queue)).receipt]
        await backend.nack(queue, [Verdict(ref=refs[0], reason="slow")], now=START)
        plain = await put(backend, queue)
        await backend.bury(queue, [message, plain])
        assert [each.reason for each in await backend.dead(queue)] == ["slow", None]
        await backend.retry(queue, None, now=START)
        await backend.bury(queue, [message, plain], reason="")
        assert [each.reason for each in await backend.dead(queue)] == ["", ""]

    async def test_what_is_in_processing_is_not_buried_by_name(self, backend: Backend, queue: QueueId) -> None:
        """Its holder decides; it is left as it is."""
        message = await put(backend, queue)
        claimed = await take_one(backend, queue)
        assert list(await backend.bury(queue, [message], reason="why")) == [STALE]
        assert await find(backend, queue, message) == replace(claimed, data=None)

    async def test_the_buried_keep_nobody_out(self, backend: Backend, queue: QueueId) -> None:
        """Their key and their room are free; they don't lapse, and are not unacknowledged."""
        message = await put(backend, queue, b"x" * 10, draft=Draft(key="key", ttl=BRIEF))
        await backend.bury(queue, [message])
        assert await backend.find_key(queue, "key", now=START, window=0) is None
        await backend.discard(queue, await stage(backend, queue, b"x" * 10, room=Room(messages=1, bytes=10)))
        assert list((await backend.tick(now=LATER, limit=100)).lapsed) == []
        assert list(await backend.ack(queue, [Ref(message)], now=START)) == [UNKNOWN]
        assert ids(await backend.dead(queue)) == [message]
        assert list(await backend.retry(queue, [message], now=LATER)) == [DONE]
        found = await find(backend, queue, message)
        assert (found.state, found.expires_at, found.key) == (State.PENDING, None, "key")
        assert await backend.find_key(queue, "key", now=LATER, window=0) == message
