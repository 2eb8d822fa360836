"""Long payloads lie in pieces beside their messages, stay where they are, and go with them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
import redis
import trio

from queuefs.backend import Settled
from queuefs.errors import QueueFull, StoreDamaged
from queuefs.message import Counts, Draft, Ref, Room, Verdict
from queuefs_redis.scripts import PIECE_BYTES
from queuefs_redis.stages import _pieces
from tests.redis.stores import ANY, begin, connect, die, look, new_prefix, new_queue, publish, put, stage, take

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from queuefs.message import MessageId, QueueId
    from queuefs_redis import RedisBackend
    from tests.support.redis_server import RedisServer

DONE = Settled.DONE

#: Longer than two pieces, and no byte like the one a piece before.
LONG = random.Random(1).randbytes(2 * PIECE_BYTES + 1000)


def kept(server: RedisServer, prefix: str) -> set[str]:
    """Return the keys and members by which there are pieces of any message."""
    with redis.Redis(port=server.port, decode_responses=True) as client:
        found = set()
        for key in client.scan_iter(f"{{{prefix}}}:q:*"):
            part = key.split(":", 2)[2]
            if part.split(":")[1] in {"big", "pieces"}:
                found.add(part)
        return found


@pytest.mark.parametrize("offset", [0, 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1])
@pytest.mark.parametrize("size", [0, 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES])
def test_what_is_sent_is_cut_where_pieces_end(offset: int, size: int) -> None:
    data = LONG[:size].ljust(size, b"x")
    cut = list(_pieces(data, offset))
    assert b"".join(cut) == data
    at = offset
    for piece in cut:
        assert at // PIECE_BYTES == max(at, at + len(piece) - 1) // PIECE_BYTES
        at += len(piece)
    assert len(cut) <= size // PIECE_BYTES + 2


@pytest.mark.parametrize("step", [PIECE_BYTES // 3, PIECE_BYTES, PIECE_BYTES + 7, len(LONG)])
@pytest.mark.parametrize("first", [0, 1, PIECE_BYTES])
async def test_it_is_what_was_written_in_whatever_steps(redis_server: RedisServer, first: int, step: int) -> None:
    prefix = new_prefix()
    async with connect(redis_server.port, prefix) as backend:
        queue = await new_queue(backend)
        message = await begin(backend, queue, LONG[:first], partial=True)
        for at in range(first, len(LONG), step):
            await backend.append(queue, message, LONG[at : at + step], offset=at, partial=False, room=ANY)
        await publish(backend, queue, message)
        assert await backend.unacked_bytes(queue) == len(LONG)
        assert await backend.payloads(queue, [message]) == [LONG]
        for at, size in [(0, 1), (PIECE_BYTES - 1, 2), (5, 2 * PIECE_BYTES), (len(LONG) - 1, 9), (len(LONG), 9)]:
            assert await backend.read(queue, message, offset=at, size=size) == LONG[at : at + size]
        (claimed,) = await take(backend, queue)
        assert claimed.data == LONG
        with redis.Redis(port=redis_server.port) as client:
            pieces = client.hgetall(f"{{{prefix}}}:q:{queue}:pieces:{message:019d}")
        assert {int(at): len(data) for at, data in pieces.items()} == {
            0: PIECE_BYTES,
            PIECE_BYTES: PIECE_BYTES,
            2 * PIECE_BYTES: 1000,
        }
        assert await backend.audit() == []


async def test_one_of_a_piece_s_length_lies_with_the_short_ones(redis_server: RedisServer) -> None:
    prefix = new_prefix()
    async with connect(redis_server.port, prefix) as backend:
        queue = await new_queue(backend)
        short = await put(backend, queue, LONG[:PIECE_BYTES])
        assert kept(redis_server, prefix) == set()
        long = await put(backend, queue, LONG[: PIECE_BYTES + 1])
        assert kept(redis_server, prefix) == {f"{queue}:big", f"{queue}:pieces:{long:019d}"}
        assert [each.data for each in await look(backend, queue)] == [LONG[:PIECE_BYTES], LONG[: PIECE_BYTES + 1]]
        assert await backend.read(queue, short, offset=PIECE_BYTES - 1, size=9) == LONG[PIECE_BYTES - 1 : PIECE_BYTES]


async def _ack(backend: RedisBackend, queue: QueueId, message: MessageId) -> None:
    await take(backend, queue)
    assert await backend.ack(queue, [Ref(message)], now=0) == [DONE]


async def _cancel(backend: RedisBackend, queue: QueueId, message: MessageId) -> None:
    assert await backend.cancel(queue, [message], now=0) == [DONE]


async def _undo_cancelled(backend: RedisBackend, queue: QueueId, message: MessageId) -> None:
    await take(backend, queue)
    await _cancel(backend, queue, message)
    assert await backend.undo(queue, [Ref(message)], now=0) == [DONE]


async def _clear(backend: RedisBackend, queue: QueueId, _message: MessageId) -> None:
    assert await backend.clear(queue) == Counts(pending=1, processing=0)


async def _drop(backend: RedisBackend, queue: QueueId, message: MessageId) -> None:
    await take(backend, queue)
    assert await backend.nack(queue, [Verdict(ref=Ref(message), dead=True)], now=0) == [DONE]
    assert await backend.read(queue, message, offset=PIECE_BYTES, size=9) == LONG[PIECE_BYTES : PIECE_BYTES + 9]
    assert await backend.clear(queue) == Counts(pending=0, processing=0)
    assert await backend.payloads(queue, [message]) == [LONG]
    assert await backend.drop(queue, [message]) == [DONE]


async def _retry_and_clear(backend: RedisBackend, queue: QueueId, message: MessageId) -> None:
    assert await backend.bury(queue, [message]) == [DONE]
    assert await backend.retry(queue, None, now=0) == [DONE]
    assert await backend.payloads(queue, [message]) == [LONG]
    await _clear(backend, queue, message)


async def _lapse(backend: RedisBackend, queue: QueueId, message: MessageId) -> None:
    assert (await backend.tick(now=99, limit=9)).lapsed == [(queue, message)]


@pytest.mark.parametrize("leave", [_ack, _cancel, _undo_cancelled, _clear, _drop, _retry_and_clear, _lapse])
async def test_it_goes_with_its_message(
    redis_server: RedisServer, leave: Callable[[RedisBackend, QueueId, MessageId], Awaitable[None]]
) -> None:
    prefix = new_prefix()
    async with connect(redis_server.port, prefix, server_time=False) as backend:
        queue = await new_queue(backend)
        message = await put(backend, queue, LONG, Draft(ttl=9))
        staged = await stage(backend, queue, LONG)
        await leave(backend, queue, message)
        assert kept(redis_server, prefix) == {f"{queue}:big", f"{queue}:pieces:{staged:019d}"}
        assert await backend.audit() == []
        await publish(backend, queue, staged)
        assert await backend.payloads(queue, [message, staged]) == [None, LONG]
        assert await backend.audit() == []


async def test_one_that_gives_way_or_is_discarded_leaves_nothing(redis_server: RedisServer) -> None:
    prefix = new_prefix()
    async with connect(redis_server.port, prefix) as backend:
        queue = await new_queue(backend)
        first = await put(backend, queue, b"first", Draft(key="k"))
        assert await put(backend, queue, LONG, Draft(key="k")) == first
        await backend.discard(queue, await stage(backend, queue, LONG))
        with pytest.raises(QueueFull):
            await begin(backend, queue, LONG, room=Room(bytes=len(LONG)))
        assert kept(redis_server, prefix) == set()
        assert await backend.audit() == []


async def test_it_goes_to_another_queue_with_its_message(redis_server: RedisServer) -> None:
    prefix = new_prefix()
    async with connect(redis_server.port, prefix) as backend:
        queue, target = await new_queue(backend), await new_queue(backend, "target")
        message = await put(backend, queue, LONG)
        assert await backend.move(queue, message, target=target, room=ANY) is DONE
        assert kept(redis_server, prefix) == {f"{target}:big", f"{target}:pieces:{message:019d}"}
        assert await backend.read(queue, message, offset=0, size=9) is None
        assert await backend.payloads(target, [message]) == [LONG]
        assert [await backend.unacked_bytes(each) for each in (queue, target)] == [0, len(LONG)]
        assert await backend.audit() == []


async def test_what_a_dead_daemon_had_written_is_published_with_all_pieces(redis_server: RedisServer) -> None:
    prefix = new_prefix()
    async with connect(redis_server.port, prefix, server_time=False) as other:
        queue = await new_queue(other)
        async with connect(redis_server.port, prefix, server_time=False) as dead:
            whole = await stage(dead, queue, LONG, now=100)
            await begin(dead, queue, LONG, partial=True, now=100)
            await die(dead)
        for now in (100, 110, 120):
            tick = await other.tick(now=now, limit=9)
        assert tick.adopted == [(queue, whole)]
        assert await other.payloads(queue, [whole]) == [LONG]
        assert kept(redis_server, prefix) == {f"{queue}:big", f"{queue}:pieces:{whole:019d}"}
        assert await other.audit() == []


async def test_a_missing_piece_is_told_from_the_end(redis_server: RedisServer) -> None:
    prefix = new_prefix()
    async with connect(redis_server.port, prefix) as backend:
        queue = await new_queue(backend)
        message = await put(backend, queue, LONG)
        with redis.Redis(port=redis_server.port) as client:
            client.hdel(f"{{{prefix}}}:q:{queue}:pieces:{message:019d}", str(PIECE_BYTES))
        assert await backend.read(queue, message, offset=0, size=PIECE_BYTES) == LONG[:PIECE_BYTES]
        assert await backend.read(queue, message, offset=2 * PIECE_BYTES, size=9999) == LONG[2 * PIECE_BYTES :]
        with pytest.raises(StoreDamaged):
            await backend.read(queue, message, offset=PIECE_BYTES - 1, size=2)
        assert await backend.payloads(queue, [message]) == [None]


async def test_what_is_left_where_it_is_is_not_looked_at(redis_server: RedisServer) -> None:
    """Not even by its parts: a claim costs the same whatever is in the payloads that it does not read."""
    prefix = new_prefix()
    async with connect(redis_server.port, prefix) as backend:
        queue = await new_queue(backend)
        messages = [await put(backend, queue, data) for data in (LONG, b"short", LONG)]
        with redis.Redis(port=redis_server.port) as client:
            client.config_resetstat()
            claimed = await backend.claim(queue, count=9, lease=9, lifo=False, now=0, inline=9)
            stats = client.info("commandstats")
            assert stats["cmdstat_hget"]["calls"] <= len(messages) + 2
        assert [(each.id, each.data) for each in claimed] == list(zip(messages, [None, b"short", None], strict=True))


async def test_appending_copies_no_more_than_a_piece(redis_server: RedisServer) -> None:
    """By the server's own count of its commands: as many pieces are written as are sent, and one is read."""
    prefix = new_prefix()
    async with connect(redis_server.port, prefix) as backend:
        queue = await new_queue(backend)
        message = await stage(backend, queue, b"x" * 65536)
        data = bytes(1 << 20)
        with redis.Redis(port=redis_server.port) as client:
            for number in range(16):
                client.config_resetstat()
                await backend.append(queue, message, data, offset=65536 + number * len(data), partial=False, room=ANY)
                calls = client.info("commandstats")
                assert calls["cmdstat_hset"]["calls"] <= len(data) // PIECE_BYTES + 6
                assert calls.get("cmdstat_hget", {"calls": 0})["calls"] <= 4
        await publish(backend, queue, message)
        assert await backend.unacked_bytes(queue) == 65536 + 16 * len(data)
        assert await backend.clear(queue) == Counts(pending=1, processing=0)
        assert kept(redis_server, prefix) == set()


async def test_reading_costs_what_is_read(redis_server: RedisServer) -> None:
    async with connect(redis_server.port, new_prefix()) as backend:
        queue = await new_queue(backend)
        message = await put(backend, queue, LONG * 8)
        with redis.Redis(port=redis_server.port) as client:
            for at in range(0, len(LONG), 128 * 1024):
                client.config_resetstat()
                assert await backend.read(queue, message, offset=at, size=128 * 1024) == (LONG * 2)[at : at + 131072]
                assert client.info("commandstats")["cmdstat_hget"]["calls"] <= 3


async def test_claims_by_many_of_long_ones_get_their_own(redis_server: RedisServer) -> None:
    async with connect(redis_server.port, new_prefix()) as backend:
        queue = await new_queue(backend)
        payloads = [bytes([n]) * (PIECE_BYTES + n) for n in range(20)]
        for data in payloads:
            await put(backend, queue, data)
        found: list[bytes | None] = []

        async def claim() -> None:
            found.extend(each.data for each in await take(backend, queue))

        async with trio.open_nursery() as nursery:
            for _ in payloads:
                nursery.start_soon(claim)
        assert sorted(filter(None, found)) == payloads
