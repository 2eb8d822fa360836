"""The few steps that most of these tests are made of."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from queuefs.message import ROOT, Draft, Message, MessageId, Owner, QueueId, Room
from queuefs.registry import open_backend
from queuefs_sqlite import SQLiteBackend

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable

    from queuefs.backend import Backend
    from queuefs_sqlite.store import Store

OWNER = Owner(uid=0, gid=0, mode=0o700)
NOW = 1000.0
DRAFT = Draft()
ROOM = Room()


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


def staging(
    backend: Backend, queue: QueueId, data: bytes = b"x", *, partial: bool = False, **wishes: Any
) -> Awaitable[MessageId]:
    """Stage a message whose draft has these wishes."""
    return backend.stage(queue, data, draft=Draft(**wishes), room=ROOM, partial=partial, now=NOW)


async def stage(
    backend: Backend, queue: QueueId, data: bytes = b"x", *, partial: bool = False, **wishes: Any
) -> MessageId:
    """Stage a message."""
    return await staging(backend, queue, data, partial=partial, **wishes)


async def put(
    backend: Backend, queue: QueueId, data: bytes = b"x", *, now: float = NOW, window: float = 0.0, **wishes: Any
) -> MessageId:
    """Stage and publish a message; return the id of the one that is there then."""
    message = await stage(backend, queue, data, **wishes)
    return await backend.publish(queue, message, now=now, window=window)


async def take(
    backend: Backend, queue: QueueId, count: int = 1, *, lifo: bool = False, now: float = NOW
) -> list[Message]:
    """Claim messages."""
    return list(await backend.claim(queue, count=count, lease=60.0, lifo=lifo, now=now))
