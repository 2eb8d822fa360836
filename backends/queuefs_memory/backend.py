"""The memory back end: every call is done when it returns, on the trio thread, so each is atomic by itself."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from queuefs.errors import StoreUnusable
from queuefs.registry import redacted
from queuefs_memory.audit import Audit
from queuefs_memory.claiming import Claiming
from queuefs_memory.looking import Looking
from queuefs_memory.moving import Moving
from queuefs_memory.naming import Naming
from queuefs_memory.settling import Settling
from queuefs_memory.tree import Tree
from queuefs_memory.upkeep import Upkeep
from queuefs_memory.writing import Writing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from queuefs.backend import Backend


@asynccontextmanager
async def open_backend(url: str) -> AsyncIterator[Backend]:
    """Open a store of its own for ``memory:``, which knows no options."""
    rest = url.removeprefix("memory:")
    if rest:
        raise StoreUnusable(f"the back end is called memory: and takes nothing else (got {redacted(rest)})")
    yield MemoryBackend()


class MemoryBackend(Tree, Writing, Moving, Claiming, Settling, Naming, Looking, Upkeep, Audit):
    """A store in memory; the model that the others are compared with."""
