"""What the tests of the Redis back end have in common."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import redis
import trio
from redis.backoff import NoBackoff
from redis.retry import Retry

from queuefs.message import ROOT, Draft, Message, MessageId, Owner, QueueId, Ref, Room, Verdict
from queuefs_redis import RedisBackend

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from contextlib import AbstractAsyncContextManager

    from queuefs.backend import Settled, Tick

OWNER = Owner(uid=0, gid=0, mode=0o755)

#: Seconds that a lease of these tests takes when its end does not matter.
LEASE = 300.0

#: What a writer asks for that asks for nothing.
PLAIN = Draft()

#: Room without limits.
ANY = Room()

_numbers = itertools.count(1)


def new_prefix() -> str:
    """Return a prefix that no other test uses."""
    return f"own-{next(_numbers)}"


def connect(
    port: int, prefix: str, *, timeout: float = 3.0, server_time: bool = True
) -> AbstractAsyncContextManager[RedisBackend]:
    """Open a store as `open_backend` does, with more to choose."""

    def client() -> redis.Redis:
        seconds = timeout / 3
        return redis.Redis(
            port=port, socket_timeout=seconds, socket_connect_timeout=seconds, retry=Retry(NoBackoff(), 0), protocol=2
        )

    return RedisBackend.connect(client, prefix=prefix, timeout=timeout, server_time=server_time, label="test")


async def new_queue(backend: RedisBackend, name: str = "jobs") -> QueueId:
    """Make a queue."""
    return (await backend.create_queue(ROOT, name, owner=OWNER, now=0)).id


def begin(
    backend: RedisBackend,
    queue: QueueId,
    data: bytes = b"x",
    draft: Draft = PLAIN,
    *,
    room: Room = ANY,
    partial: bool = False,
    now: float = 0,
) -> Awaitable[MessageId]:
    """Stage a message; what is returned is to be awaited."""
    return backend.stage(queue, data, draft=draft, room=room, partial=partial, now=now)


async def stage(
    backend: RedisBackend, queue: QueueId, data: bytes = b"x", draft: Draft = PLAIN, *, now: float = 0
) -> MessageId:
    """Stage a message."""
    return await begin(backend, queue, data, draft, now=now)


def publish(
    backend: RedisBackend, queue: QueueId, message: MessageId, *, now: float = 0, window: float = 0
) -> Awaitable[MessageId]:
    """Publish a message; what is returned is to be awaited."""
    return backend.publish(queue, message, now=now, window=window)


async def put(
    backend: RedisBackend,
    queue: QueueId,
    data: bytes = b"x",
    draft: Draft = PLAIN,
    *,
    now: float = 0,
    window: float = 0,
) -> MessageId:
    """Stage and publish a message; return the id that counts."""
    message = await stage(backend, queue, data, draft, now=now)
    return await publish(backend, queue, message, now=now, window=window)


def take(
    backend: RedisBackend,
    queue: QueueId,
    count: int = 1,
    *,
    lease: float = LEASE,
    lifo: bool = False,
    now: float = 0,
) -> Awaitable[Sequence[Message]]:
    """Claim messages; what is returned is to be awaited."""
    return backend.claim(queue, count=count, lease=lease, lifo=lifo, now=now)


def look(
    backend: RedisBackend, queue: QueueId, count: int = 9, *, lifo: bool = False, now: float = 0
) -> Awaitable[Sequence[Message]]:
    """Peek; what is returned is to be awaited."""
    return backend.peek(queue, count=count, lifo=lifo, now=now)


def nack(backend: RedisBackend, queue: QueueId, refs: Sequence[Ref], *, now: float = 0) -> Awaitable[Sequence[Settled]]:
    """Give messages back; what is returned is to be awaited."""
    return backend.nack(queue, [Verdict(ref=ref) for ref in refs], now=now)


async def lose(backend: RedisBackend, queue: QueueId, *, now: float = 0) -> Tick:
    """Let one round of upkeep look, and end the leases that it finds to be over, all of *queue*."""
    tick = await backend.tick(now=now, limit=100)
    await backend.expire(queue, [Verdict(ref=each.receipt) for each in tick.overdue], now=now)
    return tick


async def until(condition: Callable[[], bool]) -> None:
    """Wait until *condition* holds."""
    with trio.fail_after(10):
        while not condition():  # noqa: ASYNC110 - what it asks belongs to no event
            await trio.sleep(0.001)


def turn_last_byte(client: redis.Redis, key: bytes | str, field: bytes | str) -> None:
    """Change what is in a hash; nothing if it is not there."""
    data: Any = client.hget(key, field)
    if data:
        client.hset(key, field, data[:-1] + bytes([data[-1] ^ 1]))


async def die(backend: RedisBackend) -> None:
    """Let *backend* end without a word when its context does."""

    async def nothing() -> None:
        pass

    backend._leave = nothing  # type: ignore[method-assign]
