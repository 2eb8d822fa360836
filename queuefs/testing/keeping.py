"""The contract of keeping: what outlives the daemon, and what daemons on one store owe each other.

Knobs are the traits `durable` and `shared`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from queuefs.lifecycle import State
from queuefs.message import ROOT, Counts, Owner, QueueId, Ref, Verdict
from queuefs.testing.base import (
    ANY,
    LEASE,
    OWNER,
    START,
    Contract,
    find,
    lose,
    new_queue,
    overdue,
    peek,
    pending,
    publish,
    put,
    stage,
    state_of,
    take,
    take_one,
)
from queuefs.testing.upkeep import MARK

if TYPE_CHECKING:
    from queuefs.backend import Backend

#: How long a daemon has to be silent before another takes over what it had staged, seconds.
DEAD_AFTER = 15.0


only_durable = pytest.mark.usefixtures("only_durable")
only_alone = pytest.mark.usefixtures("only_alone")
only_shared = pytest.mark.usefixtures("only_shared")


class DurableContract(Contract):
    """What is stored outlives the daemon."""

    @only_durable
    async def test_the_tree_is_kept(self, url: str) -> None:
        """Numbers, names, places, owners and times are those of before; no number is given again."""
        async with self.open_store(url) as backend:
            top = await new_queue(backend, "top")
            child = await new_queue(backend, "child\n", parent=top)
            await backend.set_owner(child, Owner(uid=1, gid=2, mode=0o700))
            await backend.rename_queue(top, parent=ROOT, name="renamed")
            removed = await new_queue(backend, "removed")
            await backend.remove_queue(removed)
            before = [await backend.get_queue(number) for number in (top, child)]
        async with self.open_store(url) as backend:
            assert [await backend.get_queue(number) for number in (top, child)] == before
            assert [queue.name for queue in await backend.children(ROOT)] == ["renamed"]
            assert [queue.name for queue in await backend.children(top)] == ["child\n"]
            assert await new_queue(backend, "new") > removed
            assert await backend.audit() == []

    @only_durable
    async def test_messages_and_leases_are_kept(self, url: str) -> None:
        """State, place, payload, attempt, claims and lease are those of before; a restart takes nothing from anyone."""
        async with self.open_store(url) as backend:
            queue = await new_queue(backend, "jobs")
            for data, priority in [(bytes(range(256)), 0), (b"", 5), (b"c", -5), (b"d", 5)]:
                await put(backend, queue, data, priority=priority)
            await lose(backend, queue)
            await backend.undo(queue, [(await take_one(backend, queue)).receipt])
            claimed = await take_one(backend, queue, lease=LEASE)
            before = list(await backend.snapshot(queue))
            payloads = list(await backend.payloads(queue, [message.id for message in before]))
            size = await backend.unacked_bytes(queue)
        async with self.open_store(url) as backend:
            assert list(await backend.snapshot(queue)) == before
            assert list(await backend.payloads(queue, [message.id for message in before])) == payloads
            assert await backend.counts(queue) == Counts(pending=3, processing=1)
            assert await backend.unacked_bytes(queue) == size
            assert await overdue(backend, now=START + LEASE / 2) == []
            if not backend.traits.server_time:
                assert await overdue(backend, now=START + LEASE) == [(queue, claimed.receipt)]
            assert await backend.audit() == []

    @only_durable
    async def test_ids_go_on(self, url: str) -> None:
        """No id is given again after a restart, also of those that left nothing behind."""
        async with self.open_store(url) as backend:
            queue = await new_queue(backend, "jobs")
            message = await put(backend, queue)
            await backend.ack(queue, [(await take_one(backend, queue)).receipt])
            discarded = await stage(backend, queue)
            await backend.discard(queue, discarded)
        async with self.open_store(url) as backend:
            assert await put(backend, queue) > discarded > message
            await backend.clear(queue)

    @only_durable
    async def test_the_clock_mark_is_kept_with_the_store(self, url: str) -> None:
        """It is there when the store is opened again, unless the server's clock counts."""
        async with self.open_store(url) as backend:
            await backend.save_clock(MARK)
        async with self.open_store(url) as backend:
            assert await backend.load_clock() == (None if backend.traits.server_time else MARK)

    @only_durable
    @only_alone
    async def test_staged_messages_are_published_or_dropped(self, url: str) -> None:
        """A whole one is pending at its place when the store is opened again; one marked partial is dropped."""
        async with self.open_store(url) as backend:
            queue = await new_queue(backend, "jobs")
            whole = await stage(backend, queue, b"whole", priority=3)
            await put(backend, queue)
            partial = await stage(backend, queue, b"partial", partial=True)
            lifted = await stage(backend, queue, b"", partial=True)
            await backend.append(queue, lifted, b"lifted", offset=0, partial=False, room=ANY)
            marked = await stage(backend, queue, b"mark")
            await backend.append(queue, marked, b"ed", offset=4, partial=True, room=ANY)
        async with self.open_store(url) as backend:
            messages = list(await peek(backend, queue, 9))
            assert [message.data for message in messages] == [b"whole", b"x", b"lifted"]
            assert (messages[0].id, messages[0].attempt) == (whole, 0)
            assert await backend.counts(queue) == Counts(pending=3, processing=0)
            for message, size in ((partial, 7), (marked, 6)):
                assert await state_of(backend, queue, message, size=size) is State.GONE
            assert await backend.audit() == []


class SharedContract(Contract):
    """Several daemons have the store open."""

    @only_shared
    async def test_daemons_see_the_same(self, backend: Backend, queue: QueueId, url: str) -> None:
        """What one makes, the other finds; what one claims, the other does not get."""
        async with self.open_store(url) as other:
            assert await other.find_queue(ROOT, "jobs") == await backend.get_queue(queue)
            first, second = await put(backend, queue), await put(other, queue)
            assert second > first
            assert await pending(other, queue) == [first, second]
            (mine,), (theirs,) = await take(backend, queue), await take(other, queue)
            assert (mine.id, theirs.id) == (first, second)
            await other.ack(queue, [mine.receipt, theirs.receipt])
            assert await backend.counts(queue) == Counts(pending=0, processing=0)

    @only_shared
    async def test_the_staged_of_the_living_are_left_alone(self, backend: Backend, queue: QueueId, url: str) -> None:
        """A daemon that was heard of a moment ago keeps what it has staged; nobody but it can publish by accident."""
        message = await stage(backend, queue, b"mine")
        await backend.tick(now=START, limit=10)
        async with self.open_store(url) as other:
            assert list((await other.tick(now=START, limit=10)).adopted) == []
            await self.age(backend, url, seconds=DEAD_AFTER - 5)
            assert list((await other.tick(now=START, limit=10)).adopted) == []
            assert await other.counts(queue) == Counts(pending=0, processing=0)
        await publish(backend, queue, message)
        assert await pending(backend, queue) == [message]

    @only_shared
    async def test_the_staged_of_the_dead_are_published_or_dropped(
        self, backend: Backend, queue: QueueId, url: str
    ) -> None:
        """Once a daemon has been silent for 15 s, another one's tick adopts what is whole and drops what is partial."""
        whole = await stage(backend, queue, b"whole", priority=3)
        later = await put(backend, queue)
        partial = await stage(backend, queue, b"partial", partial=True)
        await backend.tick(now=START, limit=10)
        async with self.open_store(url) as other:
            await self.age(backend, url, seconds=DEAD_AFTER + 1)
            tick = await other.tick(now=START, limit=10)
            assert list(tick.adopted) == [(queue, whole)]
            assert await pending(other, queue) == [whole, later]
            assert (await find(other, queue, whole)).priority == 3  # noqa: PLR2004 - as staged above
            assert await state_of(other, queue, partial, size=7) is State.GONE
            assert list((await other.tick(now=START, limit=10)).adopted) == []
        # it was taken for dead and is not: what it does now finds its stages gone, and does no harm
        await publish(backend, queue, whole)
        await publish(backend, queue, partial)
        assert await pending(backend, queue) == [whole, later]

    @only_shared
    async def test_an_own_tick_is_a_sign_of_life(self, backend: Backend, queue: QueueId, url: str) -> None:
        """A daemon that was silent for long and ticks again before another looks keeps its stages."""
        message = await stage(backend, queue)
        async with self.open_store(url) as other:
            await self.age(backend, url, seconds=DEAD_AFTER + 1)
            await backend.tick(now=START, limit=10)
            assert list((await other.tick(now=START, limit=10)).adopted) == []
            await publish(backend, queue, message)
            assert await pending(other, queue) == [message]

    @only_shared
    async def test_one_daemon_ends_anothers_leases(self, backend: Backend, queue: QueueId, url: str) -> None:
        """Leases belong to the store, not to the daemon that gave them."""
        message = await put(backend, queue)
        await take(backend, queue, lease=0.0)
        async with self.open_store(url) as other:
            assert await overdue(other) == [(queue, Ref(message, 1))]
            await other.expire(queue, [Verdict(ref=Ref(message, 1))], now=START)
        assert await backend.counts(queue) == Counts(pending=1, processing=0)

    @only_shared
    async def test_owners_and_names_are_those_of_the_store(self, backend: Backend, queue: QueueId, url: str) -> None:
        """A change of one daemon is what the other shows next."""
        async with self.open_store(url) as other:
            await other.get_queue(queue)
            await backend.rename_queue(queue, parent=ROOT, name="work")
            await backend.set_owner(queue, Owner(uid=5, gid=6, mode=0o500))
            assert await other.find_queue(ROOT, "jobs") is None
            assert (await other.get_queue(queue)).owner != OWNER
            assert await other.get_queue(queue) == await backend.get_queue(queue)
