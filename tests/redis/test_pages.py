"""Pages cost what is asked for, and who pages on misses nothing while messages come, go and change their place."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
import redis

from queuefs.lifecycle import State
from queuefs.message import Draft, Place, Ref, Verdict
from tests.redis.stores import begin, connect, new_prefix, new_queue, publish, put, take

if TYPE_CHECKING:
    from queuefs.message import Message, MessageId, QueueId
    from queuefs_redis import RedisBackend
    from tests.support.redis_server import RedisServer


async def put_many(backend: RedisBackend, queue: QueueId, drafts: list[Draft]) -> list[MessageId]:
    """Put a message for each draft."""
    ids = [await each for each in [begin(backend, queue, b"", draft) for draft in drafts]]
    for each in [publish(backend, queue, id_) for id_ in ids]:
        await each
    return ids


async def pages(
    backend: RedisBackend, queue: QueueId, state: State, limit: int, *, lifo: bool = False, after: Place | None = None
) -> list[Message]:
    """Return all messages of a state by pages, those behind *after*."""
    found: list[Message] = []
    while page := await backend.page(queue, state, after=after, limit=limit, lifo=lifo):
        assert len(page) <= limit
        found += page
        after = page[-1].place
    return found


def commands(client: redis.Redis) -> int:
    """Return how many commands the server has carried out, those of scripts included."""
    return sum(each["calls"] for each in client.info("commandstats").values())


@pytest.mark.parametrize("lifo", [False, True])
@pytest.mark.parametrize("limit", [1, 2, 7, 1000])
async def test_all_that_is_pending_is_in_one_order(redis_server: RedisServer, limit: int, lifo: bool) -> None:  # noqa: FBT001 - a parameter
    """Ready, delayed, paused, lapsing, set aside for a while: by priority and id."""
    chance = random.Random(limit)
    async with connect(redis_server.port, new_prefix(), server_time=False) as backend:
        queue = await new_queue(backend)
        drafts = [
            Draft(priority=chance.choice([-3, 0, 0, 0, 5]), delay=chance.choice([0, 9]), ttl=chance.choice([0, 0, 7]))
            for _ in range(60)
        ]
        ids = await put_many(backend, queue, drafts)
        await backend.pause(queue, chance.sample(ids, 9))
        await take(backend, queue, 5, lifo=lifo)
        held = {each.id for each in await pages(backend, queue, State.PROCESSING, limit)}
        expected = sorted(
            (-draft.priority, -id_ if lifo else id_, id_)
            for id_, draft in zip(ids, drafts, strict=True)
            if id_ not in held
        )
        found = await pages(backend, queue, State.PENDING, limit, lifo=lifo)
        assert [each.id for each in found] == [id_ for _, _, id_ in expected]
        assert found == sorted(found, key=lambda each: (-each.priority, -each.id if lifo else each.id))
        assert await take(backend, queue, 1, now=8) != []  # those that have lapsed are moved out of its way
        assert len(await pages(backend, queue, State.PENDING, limit, lifo=lifo, after=None)) == len(found) - 1


@pytest.mark.parametrize("lifo", [False, True])
async def test_a_place_that_is_gone_is_as_good_as_any(redis_server: RedisServer, lifo: bool) -> None:  # noqa: FBT001 - a parameter
    """Of a message that was acked, or that never was."""
    async with connect(redis_server.port, new_prefix()) as backend:
        queue = await new_queue(backend)
        ids = await put_many(backend, queue, [Draft(priority=n % 3) for n in range(30)])
        await backend.cancel(queue, ids[::2], now=0)
        order = [(-(n % 3), -id_ if lifo else id_, id_) for n, id_ in enumerate(ids)]
        there = sorted(each for each in order if each[2] in ids[1::2])
        for rank, place, id_ in [*order, (-9, 1, 1), (9, 1, 1), (0, -99 if lifo else 99, 99)]:
            expected = [each for _, _, each in [one for one in there if one > (rank, place, id_)][:4]]
            page = await backend.page(queue, State.PENDING, after=Place(-rank, id_), limit=4, lifo=lifo)  # type: ignore[arg-type]  # a plain number
            assert [each.id for each in page] == expected


async def test_who_stays_is_met_once_whatever_else_happens(redis_server: RedisServer) -> None:
    """Between pages messages ripen, are paused and resumed, have their leases extended, come and go."""
    chance = random.Random(7)
    async with connect(redis_server.port, new_prefix(), server_time=False) as backend:
        queue = await new_queue(backend)
        drafts = [Draft(priority=chance.choice([0, 1]), delay=chance.choice([0, 0, 5])) for _ in range(120)]
        ids = await put_many(backend, queue, drafts)
        held = [each.id for each in await take(backend, queue, 40)]
        waiting = [id_ for id_ in ids if id_ not in held]
        stay = set(chance.sample(waiting, 50)), set(chance.sample(held, 25))
        met: tuple[list[MessageId], list[MessageId]] = ([], [])
        afters: list[Place | None] = [None, None]
        for step in range(60):
            for n, state in enumerate((State.PENDING, State.PROCESSING)):
                if page := await backend.page(queue, state, after=afters[n], limit=3):
                    met[n].extend(each.id for each in page)
                    afters[n] = page[-1].place
            turned = chance.sample(waiting, 5)
            await backend.pause(queue, turned)
            await backend.resume(queue, turned[:3])
            await backend.extend(queue, [Ref(id_) for id_ in chance.sample(held, 5)], lease=chance.random(), now=step)
            await backend.tick(now=step / 10, limit=9)
            await backend.cancel(queue, [id_ for id_ in chance.sample(waiting, 2) if id_ not in stay[0]], now=0)
            gone = [Verdict(ref=Ref(id_)) for id_ in chance.sample(held, 1) if id_ not in stay[1]]
            await backend.nack(queue, gone, now=0)
            await put(backend, queue, b"", Draft(priority=chance.choice([0, 1])))
        for kept, found in zip(stay, met, strict=True):
            assert kept <= set(found)
            assert len(found) == len(set(found))
        assert await backend.audit() == []


async def test_the_dead_are_paged_by_id(redis_server: RedisServer) -> None:
    async with connect(redis_server.port, new_prefix()) as backend:
        queue = await new_queue(backend)
        ids = await put_many(backend, queue, [Draft(priority=n % 2) for n in range(9)])
        await backend.bury(queue, ids[::-1], reason="so")
        found = await pages(backend, queue, State.DEAD, 2)
        assert [(each.id, each.reason, each.state) for each in found] == [(id_, "so", State.DEAD) for id_ in ids]
        await backend.drop(queue, ids[3:5])
        behind = await backend.page(queue, State.DEAD, after=Place(77, ids[2]), limit=2)
        assert [each.id for each in behind] == ids[5:7]


@pytest.mark.parametrize("lifo", [False, True])
@pytest.mark.parametrize("state", [State.PENDING, State.PROCESSING, State.DEAD])
async def test_a_page_costs_what_is_asked_for(redis_server: RedisServer, state: State, lifo: bool) -> None:  # noqa: FBT001 - a parameter
    """By the server's own count of its commands: as many among 4000 as among 40, but for the steps of the search."""
    async with connect(redis_server.port, new_prefix()) as backend:
        costs = []
        for number in (40, 4000):
            queue = await new_queue(backend, f"{number}")
            ids = await put_many(backend, queue, [Draft(delay=99 * (n % 2)) for n in range(number)])
            if state is State.PROCESSING:
                await backend.take(queue, ids, lease=9, now=0)
            elif state is State.DEAD:
                await backend.bury(queue, ids)
            with redis.Redis(port=redis_server.port) as client:
                before = commands(client)
                page = await backend.page(queue, state, after=Place(0, ids[number // 2]), limit=10, lifo=lifo)
                costs.append(commands(client) - before)
            assert len(page) == 10
        assert costs[1] <= costs[0] + 20
