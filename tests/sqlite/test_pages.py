"""Lists of messages, page by page: what a page costs depends on its length alone."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from queuefs.errors import BadValue
from queuefs.lifecycle import State
from tests.sqlite.steps import NOW, inside, new_queue, opened, put, stage, staging, take

if TYPE_CHECKING:
    from queuefs.message import Message, MessageId, Place, QueueId
    from queuefs_sqlite import SQLiteBackend


async def listed(
    backend: SQLiteBackend, queue: QueueId, state: State, *, limit: int, lifo: bool = False
) -> list[Message]:
    """Return all messages of a state, page by page."""
    found: list[Message] = []
    after: Place | None = None
    while page := await backend.page(queue, state, after=after, limit=limit, lifo=lifo):
        assert len(page) <= limit
        found += page
        after = page[-1].place
    return found


async def mixed(backend: SQLiteBackend, queue: QueueId, count: int) -> list[Message]:
    """Fill a queue with pending messages of every kind, and return them in order."""
    chance = random.Random(7)
    answers = [
        staging(backend, queue, priority=chance.choice([0, 0, 0, 5, -3]), delay=chance.choice([0, 0, 9]), ttl=99)
        for _ in range(count)
    ]
    given = [await backend.publish(queue, await answer, now=NOW, window=0.0) for answer in answers]
    await backend.pause(queue, [message for message in given if message % 4 == 0])
    found = [message for message in await backend.find(queue, given) if message is not None]
    return sorted(found, key=lambda message: (-message.priority, message.id))


@pytest.mark.parametrize("limit", [1, 2, 7, 1000])
async def test_all_kinds_of_pending_messages_stand_in_one_order(url: str, limit: int) -> None:
    async with opened(url) as backend:
        queue, other = await new_queue(backend), await new_queue(backend, "other")
        expected = await mixed(backend, queue, 60)
        await put(backend, other, priority=5)
        assert await listed(backend, queue, State.PENDING, limit=limit) == expected
        newest = sorted(expected, key=lambda message: (-message.priority, -message.id))
        assert await listed(backend, queue, State.PENDING, limit=limit, lifo=True) == newest
        assert await backend.page(queue, State.PROCESSING, after=None, limit=9) == []


async def test_those_in_processing_stand_by_place_and_the_dead_by_id(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        expected = await mixed(backend, queue, 40)
        claimed = {message.id for message in await take(backend, queue, 99)}
        held = await listed(backend, queue, State.PROCESSING, limit=3)
        assert [message.id for message in held] == [message.id for message in expected if message.id in claimed]
        await backend.bury(queue, [message.id for message in expected])
        dead = await listed(backend, queue, State.DEAD, limit=3)
        assert [message.id for message in dead] == sorted({message.id for message in expected} - claimed)


async def test_a_page_has_no_more_than_is_well_for_others(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        for answer in [staging(backend, queue) for _ in range(1100)]:
            await backend.publish(queue, await answer, now=NOW, window=0.0)
        page = await backend.page(queue, State.PENDING, after=None, limit=10**9)
        assert len(page) == 1000
        assert len(await backend.page(queue, State.PENDING, after=page[-1].place, limit=10**9)) == 100


async def test_messages_that_are_written_are_not_listed(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        await stage(backend, queue)
        for state in (State.STAGED, State.DONE, State.GONE):
            with pytest.raises(BadValue, match=f"{state} are not listed"):
                await backend.page(queue, state, after=None, limit=9)


@pytest.mark.parametrize("lifo", [False, True])
@pytest.mark.parametrize("state", [State.PENDING, State.PROCESSING, State.DEAD])
async def test_it_costs_the_same_anywhere(url: str, state: State, lifo: bool) -> None:  # noqa: FBT001 - a parameter
    """Counted in instructions of SQLite's machine, not in time."""
    async with opened(url) as backend:
        queue = await new_queue(backend)
        answers = [staging(backend, queue, delay=number % 2 * 9) for number in range(3000)]
        given = [await backend.publish(queue, await answer, now=NOW, window=0.0) for answer in answers]
        if state is State.PROCESSING:
            await take(backend, queue, 3000, now=NOW + 9)
        elif state is State.DEAD:
            await backend.bury(queue, given)
        counts = [0]

        def count() -> None:
            counts[-1] += 1

        inside(backend).db.set_progress_handler(count, 1)
        after = None
        for _ in range(30):
            page = await backend.page(queue, state, after=after, limit=100, lifo=lifo)
            after = page[-1].place
            counts.append(0)
        inside(backend).db.set_progress_handler(None, 1)
        assert sorted(given) == given
        assert max(counts[1:-1]) < 1.2 * min(counts[1:-2])


async def test_who_pages_on_meets_each_once_whatever_comes_and_goes(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        stay = [await put(backend, queue, priority=number % 3) for number in range(30)]
        seen: list[MessageId] = []
        after: Place | None = None
        while page := await backend.page(queue, State.PENDING, after=after, limit=4):
            seen += [message.id for message in page]
            after = page[-1].place
            await put(backend, queue, priority=len(seen) % 5)
            await take(backend, queue, 1, lifo=len(seen) % 2 == 0)
        assert len(set(seen)) == len(seen)
        left = {message.id for message in await backend.snapshot(queue) if message.state is State.PENDING}
        assert left & set(stay) <= set(seen)
