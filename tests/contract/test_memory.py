"""The memory back end keeps the contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from queuefs.testing import BackendContract
from queuefs.testing.model import PROFILE
from queuefs_memory import MemoryBackend

if TYPE_CHECKING:
    from queuefs.backend import Backend


class TestMemory(BackendContract):
    #: It is compared with itself, which shows no more than that the model runs, and that it audits well.
    model_settings = settings(PROFILE, max_examples=8)

    @pytest.fixture
    def url(self) -> str:
        return "memory:"

    async def use_ids_up(self, backend: Backend, url: str, *, last: int) -> None:  # noqa: ARG002 - the contract's signature
        assert isinstance(backend, MemoryBackend)
        backend._last_id = last
