"""A store of version 1 is brought up to date where it is."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from queuefs.errors import StoreUnusable
from queuefs.message import ROOT
from queuefs.registry import open_backend
from tests.sqlite.steps import NOW, opened, put, take

if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION_1 = Path(__file__).with_name("version1.sql").read_text(encoding="utf-8")


@pytest.fixture
def old(path: Path) -> None:
    """Make a store of version 1."""
    with closing(sqlite3.connect(path)) as db:
        db.executescript(VERSION_1)


def parts(path: Path) -> Mapping[str, object]:
    """Return what the database is made of: its indexes, and its tables' columns whatever their order."""
    with closing(sqlite3.connect(path)) as db:
        found: dict[str, object] = {}
        for name, kind, text in db.execute("SELECT name, type, sql FROM sqlite_schema WHERE sql IS NOT NULL"):
            columns = db.execute(f"SELECT name, type, [notnull], dflt_value, pk FROM pragma_table_info('{name}')")
            found[name] = set(columns.fetchall()) if kind == "table" else re.sub(r"\s+", " ", text)
        return found


@pytest.mark.usefixtures("old")
async def test_it_has_then_what_a_new_one_has(url: str, path: Path) -> None:
    async with opened(url):
        pass
    async with opened(f"{url}2"):
        pass
    assert parts(path) == parts(path.with_name("queue.db2"))


@pytest.mark.usefixtures("old")
async def test_it_keeps_all_that_is_in_it(url: str) -> None:
    async with opened(url) as backend:
        jobs = await backend.find_queue(ROOT, "jobs")
        assert jobs is not None
        assert jobs.config == b""
        assert [queue.name for queue in await backend.children(jobs.id)] == ["below"]
        tick = await backend.tick(now=NOW, limit=9)
        assert tick.adopted == [(jobs.id, 5)]
        assert [overdue.receipt.id for overdue in tick.overdue] == [4]
        assert [message.id for message in await take(backend, jobs.id, 9)] == [3, 2, 5]
        stats = await backend.stats(jobs.id)
        assert (stats.processing, stats.enqueued, stats.dequeued) == (4, 4, 4)
        assert await put(backend, jobs.id) > 5
        mark = await backend.load_clock()
        assert mark is not None
        assert mark.boot_id == "boot"
    async with opened(url):
        pass


@pytest.mark.usefixtures("old")
async def test_one_that_lacks_a_table_stays_as_it_is(url: str, path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.executescript("DROP TABLE trash")
    before = parts(path)
    with pytest.raises(StoreUnusable, match="lacks trash; restore"):
        async with open_backend(url):
            pass
    assert parts(path) == before
