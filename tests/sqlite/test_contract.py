"""The SQLite back end keeps the contract."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from queuefs.testing import BackendContract
from queuefs_sqlite import SQLiteBackend
from queuefs_sqlite.location import Location

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from queuefs.backend import Backend
    from queuefs.message import MessageId
    from tests.conftest import Logs


class TestSQLite(BackendContract):
    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        return f"sqlite://{tmp_path}/queue.db"

    @pytest.fixture(autouse=True)
    def _know_damage(self, logs: Logs) -> Iterator[None]:
        """Let what is logged of a message that a test has damaged be no complaint; whether it is read is the test's."""
        self._damaged: list[MessageId] = []
        yield
        for message in self._damaged:
            logs.dirty = [each for each in logs.dirty if not re.search(f"payload damaged.* message={message} ", each)]

    async def use_ids_up(self, backend: Backend, url: str, *, last: int) -> None:  # noqa: ARG002 - the contract's signature
        assert isinstance(backend, SQLiteBackend)
        store = backend._engine.store
        store.run("forget_ids")
        store.run("skip_ids", last)
        store.ledger.last_id = last

    async def damage_payload(self, backend: Backend, url: str, message: MessageId) -> None:  # noqa: ARG002 - as above
        assert isinstance(backend, SQLiteBackend)
        db = backend._engine.store.db
        db.execute("UPDATE body SET data = zeroblob(length(data)) WHERE id = ?", [message])
        self._damaged.append(message)

    @asynccontextmanager
    async def restore_older_copy(self, url: str) -> AsyncIterator[None]:
        path = Location.parse(url).path
        older = path.read_bytes()
        yield
        path.write_bytes(older)
