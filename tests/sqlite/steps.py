"""The few steps that most of these tests are made of."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from queuefs.message import ROOT, Message, MessageId, Owner, QueueId
from queuefs.registry import open_backend
from queuefs_sqlite import SQLiteBackend

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from queuefs.backend import Backend
    from queuefs_sqlite.store import Store

OWNER = Owner(uid=0, gid=0, mode=0o700)
NOW = 1000.0


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[SQLiteBackend]:
    """Open a store, and audit it before it is closed."""
    async with open_backend(url) as backend:
        assert isinstance(backend, SQLiteBackend)
        yield backend
        assert await backend.audit() == []


def inside(backend: Backend) -> Store:
    """Return what the writer thread works on; nothing may be under way."""
    assert isinstance(backend, SQLiteBackend)
    return backend._engine.store


async def new_queue(backend: SQLiteBackend, name: str = "jobs") -> QueueId:
    """Make a queue."""
    return (await backend.create_queue(ROOT, name, owner=OWNER, now=NOW)).id


async def stage(backend: SQLiteBackend, queue: QueueId, data: bytes = b"x", *, partial: bool = False) -> MessageId:
    """Stage a message."""
    return await backend.stage(queue, data, partial=partial, priority=0, now=NOW)


async def put(backend: SQLiteBackend, queue: QueueId, data: bytes = b"x") -> MessageId:
    """Stage and publish a message."""
    message = await stage(backend, queue, data)
    await backend.publish(queue, message)
    return message


async def take(backend: SQLiteBackend, queue: QueueId, count: int = 1) -> list[Message]:
    """Claim messages."""
    return list(await backend.claim(queue, count=count, lease=60.0, now=NOW))
