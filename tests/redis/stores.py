"""What the tests of the Redis back end have in common."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import redis
import trio
from redis.backoff import NoBackoff
from redis.retry import Retry

from queuefs.message import ROOT, Owner
from queuefs_redis import RedisBackend

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from queuefs.message import MessageId, QueueId

OWNER = Owner(uid=0, gid=0, mode=0o755)

#: Seconds that a lease of these tests takes when its end does not matter.
LEASE = 300.0

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


async def stage(backend: RedisBackend, queue: QueueId, data: bytes = b"x", *, now: float = 0) -> MessageId:
    """Stage a message."""
    return await backend.stage(queue, data, partial=False, priority=0, now=now)


async def put(backend: RedisBackend, queue: QueueId, data: bytes = b"x") -> MessageId:
    """Stage and publish a message."""
    message = await stage(backend, queue, data)
    await backend.publish(queue, message)
    return message


async def until(condition: Callable[[], bool]) -> None:
    """Wait until *condition* holds."""
    with trio.fail_after(10):
        while not condition():  # noqa: ASYNC110 - what it asks belongs to no event
            await trio.sleep(0.001)


async def die(backend: RedisBackend) -> None:
    """Let *backend* end without a word when its context does."""

    async def nothing() -> None:
        pass

    backend._leave = nothing  # type: ignore[method-assign]
