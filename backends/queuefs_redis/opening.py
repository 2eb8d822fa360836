"""Opens the store that a URL names, and looks at the server before it is trusted with messages."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from queuefs.errors import StoreUnusable
from queuefs_redis.backend import RedisBackend
from queuefs_redis.connection import TRY_PART
from queuefs_redis.urls import Kind, Target, parse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from queuefs.backend import Backend


@asynccontextmanager
async def open_backend(url: str) -> AsyncIterator[Backend]:
    """Open the store at *url*.

    Raises:
        StoreUnusable: the URL or the server can't be used.
    """
    target = parse(url)
    if target.kind is not Kind.SERVER:
        raise StoreUnusable(f"{target.kind.value} is not supported yet; name one server with redis://host:port/0")
    async with RedisBackend.connect(
        lambda: make_client(target), prefix=target.prefix, timeout=target.timeout, label=target.label
    ) as backend:
        yield backend


def make_client(target: Target) -> redis.Redis:
    """Return a client that gives up soon and tries nothing again by itself."""
    ((host, port),) = target.hosts
    return redis.Redis(
        host=host,
        port=port,
        db=target.db,
        username=target.username,
        password=target.password,
        ssl=target.tls,
        socket_timeout=target.timeout * TRY_PART,
        socket_connect_timeout=target.timeout * TRY_PART,
        socket_keepalive=True,
        retry=Retry(NoBackoff(), 0),
        protocol=2,
    )
