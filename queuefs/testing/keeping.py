"""The contract of keeping: what outlives the daemon, where the trait `durable` says that anything does."""

from __future__ import annotations

import pytest

from queuefs.backend import Settled
from queuefs.errors import QueueNotEmpty
from queuefs.lifecycle import State
from queuefs.message import ROOT, Counts, Draft, Owner, Ref, Room, Verdict
from queuefs.testing.base import (
    ANY,
    FOREVER,
    LATER,
    LEASE,
    START,
    Contract,
    find,
    ids,
    lose,
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
from queuefs.testing.upkeep import MARK

only_durable = pytest.mark.usefixtures("only_durable")
only_alone = pytest.mark.usefixtures("only_alone")
only_own_time = pytest.mark.usefixtures("only_own_time")


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
            await backend.undo(queue, [(await take_one(backend, queue)).receipt], now=START)
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
            await backend.ack(queue, [(await take_one(backend, queue)).receipt], now=START)
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
    async def test_all_that_was_said_about_a_message_is_kept(self, url: str) -> None:
        """Delays, ends of lives, pauses, marks, keys and their windows, reasons, the dead; config and totals too."""
        async with self.open_store(url) as backend:
            queue = await new_queue(backend, "jobs")
            await backend.set_config(queue, b"lease = 5\n\0", expected=b"")
            dead = await put_dead(backend, queue, b"dead", draft=Draft(key="dead", extra=b"\0\xff"))
            cancelled = await put(backend, queue, b"cancelled", draft=Draft(key="cancelled"))
            await take_one(backend, queue)
            await backend.cancel(queue, [cancelled], now=START)
            await put(backend, queue, draft=Draft(delay=FOREVER, ttl=2 * FOREVER, extra=b"x"))
            paused = await put(backend, queue, draft=Draft(priority=-1, key="é"))
            await backend.pause(queue, [paused])
            gone = await put(backend, queue, draft=Draft(key="gone"), window=FOREVER)
            await backend.cancel(queue, [gone], now=START)
            free = await put(backend, queue)
            await take_one(backend, queue)
            await backend.nack(queue, [Verdict(ref=Ref(free), reason="é\n")], now=START)
            before = [await each(queue) for each in (backend.snapshot, backend.dead, backend.stats, backend.get_queue)]
        async with self.open_store(url) as backend:
            after = [await each(queue) for each in (backend.snapshot, backend.dead, backend.stats, backend.get_queue)]
            assert after == before
            assert list(await backend.payloads(queue, [dead.id])) == [b"dead"]
            keys = ["cancelled", "é", "gone", "dead"]
            found = [await backend.find_key(queue, key, now=LATER, window=FOREVER) for key in keys]
            assert found == [cancelled, paused, gone, None]
            assert await backend.find_key(queue, "gone", now=LATER, window=0) is None
            assert ids(await take(backend, queue, 9)) == [free]
            with pytest.raises(QueueNotEmpty):
                await backend.remove_queue(queue)
            answers = await backend.extend(queue, [Ref(cancelled)], lease=LEASE, now=START)
            assert list(answers) == [Settled.CANCELLED]
            assert await backend.audit() == []

    @only_durable
    @only_own_time
    async def test_what_is_due_is_found_after_a_restart(self, url: str) -> None:
        """Leases, delays and lives end at their moment, whether or not a daemon was there."""
        async with self.open_store(url) as backend:
            queue = await new_queue(backend, "jobs")
            lost = await put(backend, queue)
            await take_one(backend, queue, lease=4)
            lapsing = await put(backend, queue, draft=Draft(ttl=4))
            waiting = await put(backend, queue, draft=Draft(delay=4))
        async with self.open_store(url) as backend:
            tick = await backend.tick(now=START + 3, limit=100)
            assert [list(each) for each in (tick.overdue, tick.lapsed, tick.ripe)] == [[], [], []]
            assert tick.next_due == 1 or backend.traits.shared
            tick = await backend.tick(now=START + 4, limit=100)
            assert [each.receipt for each in tick.overdue] == [Ref(lost, 1)]
            assert list(tick.lapsed) == [(queue, lapsing)]
            assert list(tick.ripe) == [queue]
            assert ids(await take(backend, queue, 9, now=START + 4)) == [waiting]
            assert await backend.audit() == []

    @only_durable
    @only_alone
    async def test_staged_messages_are_published_or_dropped(self, url: str) -> None:
        """By the first tick after the store was opened again: a whole one at its place, one marked partial never."""
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
            mine = await stage(backend, queue, b"mine")
            tick = await backend.tick(now=START, limit=100)
            assert sorted(tick.adopted) == [(queue, whole), (queue, lifted)]
            messages = list(await peek(backend, queue, 9))
            assert [message.data for message in messages] == [b"whole", b"x", b"lifted"]
            assert (messages[0].id, messages[0].attempt) == (whole, 0)
            assert await backend.counts(queue) == Counts(pending=3, processing=0)
            assert (await backend.stats(queue)).enqueued == 3  # noqa: PLR2004 - as above
            for message, size in ((partial, 7), (marked, 6)):
                assert await state_of(backend, queue, message, size=size) is State.GONE
            assert await state_of(backend, queue, mine, size=4) is State.STAGED
            assert list((await backend.tick(now=START, limit=100)).adopted) == []
            await backend.discard(queue, mine)
            await stage(backend, queue, room=Room(messages=4, bytes=13))  # nothing that was dropped takes room
            assert await backend.audit() == []

    @only_durable
    @only_alone
    async def test_an_adopted_message_is_published_as_its_writer_asked(self, url: str) -> None:
        """Its delay and its life begin with the tick, and it gives way to an unacknowledged one of its key."""
        async with self.open_store(url) as backend:
            queue = await new_queue(backend, "jobs")
            timed = await stage(backend, queue, draft=Draft(delay=8, ttl=16, extra=b"x"))
            repeated = await stage(backend, queue, draft=Draft(key="used"))
            used = await put(backend, queue, draft=Draft(key="used"), window=FOREVER)
            twins = [await stage(backend, queue, draft=Draft(key="twin")) for _ in range(2)]
            late = await stage(backend, queue, draft=Draft(key="late"))
            await backend.cancel(queue, [await put(backend, queue, draft=Draft(key="late"), window=FOREVER)], now=START)
        async with self.open_store(url) as backend:
            tick = await backend.tick(now=START + 1, limit=100)
            there = set(ids(await backend.snapshot(queue)))
            assert there == {used, timed, late, *(there & set(twins))}
            assert len(there & set(twins)) == 1
            assert {message for _, message in tick.adopted} == there - {used}
            shown = await find(backend, queue, timed)
            assert shown.extra == b"x"
            if not backend.traits.server_time:
                assert (shown.due, shown.expires_at) == (START + 9, START + 17)
            assert await state_of(backend, queue, repeated, size=1) is State.GONE
            assert await backend.audit() == []

    @only_durable
    @only_alone
    async def test_many_are_adopted_by_and_by(self, url: str) -> None:
        """A tick with a limit that is lower says that there is more, and the next ones find it."""
        async with self.open_store(url) as backend:
            queue = await new_queue(backend, "jobs")
            given = [await stage(backend, queue, partial=number % 3 == 0) for number in range(12)]
        async with self.open_store(url) as backend:
            adopted = []
            for _ in range(20):
                tick = await backend.tick(now=START, limit=3)
                adopted += [message for _, message in tick.adopted]
                if tick.next_due != 0:
                    break
            assert sorted(adopted) == [message for number, message in enumerate(given) if number % 3]
            assert await pending(backend, queue) == sorted(adopted)

    @only_durable
    @only_alone
    async def test_ids_go_on_after_an_older_copy_was_put_back(self, url: str) -> None:
        """None is given again that was given between the copy and its return, though the store knows nothing of it."""
        async with self.open_store(url) as backend:
            queue = await new_queue(backend, "jobs")
            kept = await put(backend, queue, b"kept")
        async with self.restore_older_copy(url), self.open_store(url) as backend:
            given = [await put(backend, queue) for _ in range(3)]
            given.append(await stage(backend, queue))
        async with self.open_store(url) as backend:
            assert await pending(backend, queue) == [kept]
            assert await stage(backend, queue) > max(given)
            assert await put(backend, queue) > max(given)
            assert await backend.audit() == []
        async with self.open_store(url) as backend:
            assert await put(backend, queue) > max(given) + 1
