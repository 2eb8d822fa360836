"""The memory back end keeps the contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from queuefs.testing import BackendContract
from queuefs_memory import MemoryBackend

if TYPE_CHECKING:
    from queuefs.backend import Backend


class TestMemory(BackendContract):
    @pytest.fixture
    def url(self) -> str:
        return "memory:"

    async def use_ids_up(self, backend: Backend, url: str, *, last: int) -> None:  # noqa: ARG002 - the contract's signature
        assert isinstance(backend, MemoryBackend)
        backend._last_id = last
