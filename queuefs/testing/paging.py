"""The contract of pages: messages by state, in order, a few at a time, whatever happens in between."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from queuefs.lifecycle import State
from queuefs.message import MAX_MESSAGE_ID, MAX_PRIORITY, MIN_PRIORITY, Draft, Message, MessageId, Place, QueueId, Ref
from queuefs.testing.base import (
    ANY,
    BRIEF,
    FOREVER,
    LEASE,
    START,
    Contract,
    bury,
    find,
    ids,
    nack,
    new_queue,
    put,
    put_dead,
    stage,
    take,
    take_one,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from queuefs.backend import Backend

PENDING, PROCESSING, DEAD = State.PENDING, State.PROCESSING, State.DEAD

by_size = pytest.mark.parametrize("limit", [1, 2, 7])
both_ways = pytest.mark.parametrize("lifo", [False, True])

#: Priorities of messages as they come; some of them alone, some in company.
PRIORITIES = [0, 5, 0, -5, 5, 0, MAX_PRIORITY, MIN_PRIORITY, 0, -5, 1, 0]


async def paged(
    backend: Backend,
    queue: QueueId,
    state: State,
    limit: int,
    *,
    lifo: bool = False,
    between: Callable[[], Awaitable[object]] | None = None,
) -> list[Message]:
    """Return all messages of a state, page by page; *between* is called after each."""
    found: list[Message] = []
    after: Place | None = None
    while page := await backend.page(queue, state, after=after, limit=limit, lifo=lifo):
        assert len(page) <= limit
        places = await backend.places(queue, state, after=after, limit=limit, lifo=lifo)
        assert list(places) == [message.place for message in page]
        found += page
        after = page[-1].place
        if between is not None:
            await between()
    return found


def in_line(given: Sequence[tuple[int, MessageId]], *, lifo: bool = False) -> list[MessageId]:
    """Return ids, given with their priorities, in the order of their places."""
    return [message for _, message in sorted(given, key=lambda it: (-it[0], -it[1] if lifo else it[1]))]


class PageContract(Contract):
    """`page`."""

    @by_size
    @both_ways
    async def test_pending_ones_are_in_the_order_in_which_they_will_be_handed_out(
        self,
        backend: Backend,
        queue: QueueId,
        limit: int,
        lifo: bool,  # noqa: FBT001 - a parameter
    ) -> None:
        """Each as `find` shows it, without its payload; by priority, then by id, or the other way round with *lifo*."""
        given = [(priority, await put(backend, queue, b"abc", priority=priority)) for priority in PRIORITIES]
        expected = in_line(given, lifo=lifo)
        found = await paged(backend, queue, PENDING, limit, lifo=lifo)
        assert found == list(await backend.find(queue, expected))
        assert {each.data for each in found} == {None}
        assert ids(await take(backend, queue, 99, lifo=lifo)) == expected
        assert await paged(backend, queue, PENDING, limit, lifo=lifo) == []

    @by_size
    async def test_what_is_in_processing_is_in_the_order_of_its_places(
        self, backend: Backend, queue: QueueId, limit: int
    ) -> None:
        """Whatever the order of the claims, and whenever their leases end."""
        given = [(priority, await put(backend, queue, priority=priority)) for priority in PRIORITIES]
        for count in (2, 1, 5):
            await take(backend, queue, count, lifo=True, lease=LEASE / count)
        held = [each.id for each in await backend.snapshot(queue) if each.state is PROCESSING]
        found = await paged(backend, queue, PROCESSING, limit)
        assert found == list(await backend.find(queue, held))
        assert ids(found) == [message for message in in_line(given) if message in held]
        waiting = [message for message in in_line(given) if message not in held]
        assert ids(await paged(backend, queue, PENDING, limit)) == waiting

    @by_size
    async def test_pages_of_the_dead_are_ordered_by_id(self, backend: Backend, queue: QueueId, limit: int) -> None:
        """Whatever their priority, and in whichever order they died; of a place the id alone counts."""
        given = [await put(backend, queue, b"abc", priority=priority) for priority in PRIORITIES]
        for message in await take(backend, queue, 99):
            await bury(backend, queue, message, reason="why")
        found = await paged(backend, queue, DEAD, limit)
        assert ids(found) == given
        assert found == list(await backend.dead(queue))
        for priority in (MAX_PRIORITY, 0, MIN_PRIORITY):
            page = await backend.page(queue, DEAD, after=Place(priority, given[3]), limit=2)
            assert ids(page) == given[4:6]

    async def test_every_pending_one_is_there(self, backend: Backend, queue: QueueId) -> None:
        """Delayed and paused ones, and those whose time to live is over; staged ones and another queue's are not."""
        drafts = [Draft(delay=FOREVER), Draft(), Draft(delay=FOREVER, ttl=FOREVER), Draft(ttl=BRIEF), Draft(), Draft()]
        given = [await put(backend, queue, draft=draft) for draft in drafts]
        await backend.pause(queue, [given[1], given[2]])
        await stage(backend, queue)
        await put(backend, await new_queue(backend, "other", parent=queue))
        for lifo in (False, True):
            found = await paged(backend, queue, PENDING, 2, lifo=lifo)
            assert found == list(await backend.find(queue, given[::-1] if lifo else given))
        assert await paged(backend, queue, PROCESSING, 2) == []
        assert await paged(backend, queue, DEAD, 2) == []

    @both_ways
    async def test_a_page_begins_behind_any_place(
        self,
        backend: Backend,
        queue: QueueId,
        lifo: bool,  # noqa: FBT001 - a parameter
    ) -> None:
        """Also where nothing stands, or stands no more."""
        given = [(priority, await put(backend, queue, priority=priority)) for priority in PRIORITIES]
        expected = in_line(given, lifo=lifo)
        gone = {expected[4], expected[5], expected[-1]}
        await backend.cancel(queue, sorted(gone), now=START)
        of = {message: priority for priority, message in given}
        for place, message in enumerate(expected):
            left = [each for each in expected[place + 1 :] if each not in gone]
            page = await backend.page(queue, PENDING, after=Place(of[message], message), limit=99, lifo=lifo)
            assert ids(page) == left
        for priority in (MAX_PRIORITY, 3, 0, MIN_PRIORITY):
            edge = Place(priority, MessageId(1) if lifo else MessageId(MAX_MESSAGE_ID))
            page = await backend.page(queue, PENDING, after=edge, limit=99, lifo=lifo)
            assert ids(page) == [each for each in expected if of[each] < priority and each not in gone]

    @by_size
    @both_ways
    async def test_what_stays_is_met_once_whatever_happens_meanwhile(
        self,
        backend: Backend,
        queue: QueueId,
        limit: int,
        lifo: bool,  # noqa: FBT001 - a parameter
    ) -> None:
        """Others come, go and come back between the pages, and those that stay are paused, resumed, shown."""
        choose = random.Random(3)  # noqa: S311 - the same each time
        priorities = choose.choices([0, 0, 0, 2, -1], k=30)
        staying = [(priority, await put(backend, queue, priority=priority)) for priority in priorities]
        for priority in (0, 2):
            draft = Draft(delay=FOREVER, priority=priority)
            staying.append((priority, await put(backend, queue, draft=draft)))
        goes = [await put(backend, queue) for _ in range(10)]

        async def between() -> None:
            message = choose.choice(staying)[1]
            await backend.pause(queue, [message])
            await backend.resume(queue, [choose.choice(staying)[1], message])
            goes.append(await put(backend, queue, priority=choose.choice([0, 2, -1, 7])))
            other = choose.choice(goes)
            match choose.randrange(4):
                case 0:
                    await backend.cancel(queue, [other], now=START)
                case 1:
                    await backend.take(queue, [other], lease=LEASE, now=START)
                case 2:
                    await nack(backend, queue, [Ref(other)], delay=choose.choice([0, FOREVER]))
                case _:
                    await backend.bury(queue, [other])

        found = ids(await paged(backend, queue, PENDING, limit, lifo=lifo, between=between))
        assert len(found) == len(set(found)), "one was met twice"
        stayed = {message for _, message in staying}
        assert [message for message in found if message in stayed] == in_line(staying, lifo=lifo)

    @by_size
    async def test_what_stays_in_processing_is_met_once(self, backend: Backend, queue: QueueId, limit: int) -> None:
        """Leases are extended, messages marked, others settled and claimed meanwhile."""
        choose = random.Random(4)  # noqa: S311 - the same each time
        given = [await put(backend, queue, priority=priority) for priority in PRIORITIES * 3]
        await take(backend, queue, 99)
        staying, goes = given[::2], given[1::2]

        async def between() -> None:
            refs = [Ref(choose.choice(staying)) for _ in range(3)]
            await backend.extend(queue, refs, lease=choose.choice([0.0, LEASE, FOREVER]), now=START)
            await backend.cancel(queue, [refs[0].id], now=START)
            other = choose.choice(goes)
            await choose.choice([backend.ack, backend.undo])(queue, [Ref(other)], now=START)
            await put(backend, queue, priority=choose.choice(PRIORITIES))
            await take(backend, queue)

        found = ids(await paged(backend, queue, PROCESSING, limit, between=between))
        expected = in_line(list(zip(PRIORITIES * 3, given, strict=True))[::2])
        assert [message for message in found if message in set(staying)] == expected
        assert len([message for message in found if message in set(given)]) == len(set(found) & set(given))

    @by_size
    async def test_whoever_stays_dead_is_met_once(self, backend: Backend, queue: QueueId, limit: int) -> None:
        """Others are retried, dropped and buried meanwhile."""
        given = [(await put_dead(backend, queue)).id for _ in range(20)]
        staying, goes = given[::2], given[1::2]

        async def between() -> None:
            if goes:
                await backend.drop(queue, [goes.pop()])
            if goes:
                await backend.retry(queue, [goes.pop(0)], now=START)
                await bury(backend, queue, await take_one(backend, queue))
            await backend.bury(queue, [await put(backend, queue)])
            if len(await backend.dead(queue)) > 40:  # noqa: PLR2004 - so that there is an end to it
                await backend.drop(queue, [each.id for each in await backend.dead(queue) if each.id not in given])

        found: list[MessageId] = []
        after: Place | None = None
        while not set(staying) <= set(found):
            page = await backend.page(queue, DEAD, after=after, limit=limit)
            assert page
            found += ids(page)
            after = page[-1].place
            await between()
        assert [message for message in found if message in set(staying)] == staying
        assert len(found) == len(set(found))

    @both_ways
    async def test_pages_of_many_are_whole(
        self,
        backend: Backend,
        queue: QueueId,
        lifo: bool,  # noqa: FBT001 - a parameter
    ) -> None:
        """Thousands, of which many were handed out and went: none is left out, none is shown twice."""
        many = 3000
        drafts = [Draft(priority=(number % 5 == 0) - (number % 7 == 0)) for number in range(many)]
        staging = [backend.stage(queue, b"", draft=draft, room=ANY, partial=False, now=START) for draft in drafts]
        given = [await each for each in staging]
        for answer in [backend.publish(queue, each, now=START, window=0) for each in given]:
            await answer
        claimed = await take(backend, queue, 1000)
        await backend.ack(queue, [each.receipt for each in claimed[:500]], now=START)
        await backend.undo(queue, [each.receipt for each in claimed[800:]], now=START)
        await backend.cancel(queue, given[2000:2500], now=START)
        shown = list(await backend.snapshot(queue))
        held = [each.id for each in shown if each.state is PROCESSING]
        waiting = [(each.priority, each.id) for each in shown if each.state is PENDING]
        for limit in (99, 1000):
            assert ids(await paged(backend, queue, PENDING, limit, lifo=lifo)) == in_line(waiting, lifo=lifo)
            assert ids(await paged(backend, queue, PROCESSING, limit)) == held

    async def test_what_comes_back_is_found_at_its_place(self, backend: Backend, queue: QueueId) -> None:
        """As often as it goes away; by one page of one message, which begins right before it."""
        given = [await put(backend, queue) for _ in range(5)]
        before = (await find(backend, queue, given[1])).place
        for _ in range(3):
            for message in await take(backend, queue, 9):
                await nack(backend, queue, [message.receipt])
            (page,) = await backend.page(queue, PENDING, after=before, limit=1)
            assert page.id == given[2]
        assert ids(await paged(backend, queue, PENDING, 2)) == given
