"""The contract of sharing: what daemons on one store owe each other, where the trait `shared` lets there be any."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from queuefs.errors import QueueFull
from queuefs.lifecycle import State
from queuefs.message import ROOT, Counts, Draft, Owner, QueueId, Ref, Room, Verdict
from queuefs.testing.base import (
    FOREVER,
    OWNER,
    START,
    Contract,
    find,
    overdue,
    pending,
    publish,
    put,
    stage,
    state_of,
    take,
)

if TYPE_CHECKING:
    from queuefs.backend import Backend

#: How long a daemon has to be silent before another takes over what it had staged, seconds.
DEAD_AFTER = 15.0


only_shared = pytest.mark.usefixtures("only_shared")


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
            await other.ack(queue, [mine.receipt, theirs.receipt], now=START)
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

    @only_shared
    async def test_an_adopted_message_gives_way_to_one_of_its_key(
        self, backend: Backend, queue: QueueId, url: str
    ) -> None:
        """To one that is unacknowledged; no window keeps it out. What it asked for otherwise begins with the tick."""
        repeated, late = [await stage(backend, queue, draft=Draft(key=key)) for key in ("used", "late")]
        timed = await stage(backend, queue, draft=Draft(delay=FOREVER, ttl=2 * FOREVER, extra=b"x"))
        async with self.open_store(url) as other:
            used = await put(other, queue, draft=Draft(key="used"), window=FOREVER)
            await other.cancel(queue, [await put(other, queue, draft=Draft(key="late"), window=FOREVER)], now=START)
            await backend.tick(now=START, limit=10)
            await self.age(backend, url, seconds=DEAD_AFTER + 1)
            tick = await other.tick(now=START, limit=10)
            assert sorted(tick.adopted) == [(queue, late), (queue, timed)]
            assert await pending(other, queue) == [late, timed, used]
            assert await state_of(other, queue, repeated, size=1) is State.GONE
            shown = await find(other, queue, timed)
            assert (shown.extra, shown.due is None, shown.expires_at is None) == (b"x", False, False)

    @only_shared
    async def test_what_daemons_hold_takes_room_for_all(self, backend: Backend, queue: QueueId, url: str) -> None:
        """A message that one is writing, another one counts."""
        async with self.open_store(url) as other:
            staged = await stage(backend, queue, b"12345")
            for room in (Room(messages=1), Room(bytes=5)):
                with pytest.raises(QueueFull):
                    await stage(other, queue, room=room)
            await backend.discard(queue, staged)
            await other.discard(queue, await stage(other, queue, room=Room(messages=1, bytes=5)))

    @only_shared
    async def test_a_config_changes_for_all(self, backend: Backend, queue: QueueId, url: str) -> None:
        """Who has not seen a change of another can't overwrite it."""
        async with self.open_store(url) as other:
            assert (await other.get_queue(queue)).config == b""
            assert await backend.set_config(queue, b"a", expected=b"") is True
            assert await other.set_config(queue, b"b", expected=b"") is False
            assert (await other.get_queue(queue)).config == b"a"
            assert (await other.children(ROOT))[0].config == b"a"

    @only_shared
    async def test_ids_go_on_under_a_daemon_that_knows_better(self, backend: Backend, queue: QueueId, url: str) -> None:
        """An older copy is put back under it: no id that it gave is given again, by it or by who comes later."""
        kept = await put(backend, queue, b"kept")
        async with self.restore_older_copy(url):
            given = [await put(backend, queue) for _ in range(3)]
        again = [await stage(backend, queue), await put(backend, queue)]
        async with self.open_store(url) as other:
            again.append(await put(other, queue))
            assert min(again) > max(given)
            assert again == sorted(set(again))
            assert await pending(other, queue) == [kept, *again[1:]]
