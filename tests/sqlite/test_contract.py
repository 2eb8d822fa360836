"""The SQLite back end keeps the contract."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from queuefs.testing import BackendContract
from queuefs_sqlite import SQLiteBackend
from queuefs_sqlite.location import Location

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from queuefs.backend import Backend
    from queuefs.message import MessageId
    from tests.conftest import Logs


class TestSQLite(BackendContract):
    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        return f"sqlite://{tmp_path}/queue.db"

    @pytest.fixture(autouse=True)
    def _keep_logs(self, logs: Logs) -> None:
        self._logs = logs

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
        self._logs.expect(f"payload damaged.* message={message}")

    @asynccontextmanager
    async def restore_older_copy(self, url: str) -> AsyncIterator[None]:
        path = Location.parse(url).path
        older = path.read_bytes()
        yield
        path.write_bytes(older)
