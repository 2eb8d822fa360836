"""A store of an older version is brought up to date where it is."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from queuefs.errors import StoreUnusable
from queuefs.lifecycle import State
from queuefs.message import ROOT, MessageId, Owner, Ref, Retention, Status
from queuefs.registry import open_backend
from tests.sqlite.steps import NOW, inside, opened, put, take

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = Path(__file__).parent
OLDER = {version: (HERE / f"version{version}.sql").read_text(encoding="utf-8") for version in (1, 2)}


def make_old(path: Path, version: int) -> None:
    """Make a store of an older version."""
    with closing(sqlite3.connect(path)) as db:
        db.executescript(OLDER[version])


def parts(path: Path) -> Mapping[str, object]:
    """Return what the database is made of: its indexes, and its tables' columns whatever their order."""
    with closing(sqlite3.connect(path)) as db:
        found: dict[str, object] = {}
        for name, kind, text in db.execute("SELECT name, type, sql FROM sqlite_schema WHERE sql IS NOT NULL"):
            columns = db.execute(f"SELECT name, type, [notnull], dflt_value, pk FROM pragma_table_info('{name}')")
            found[name] = set(columns.fetchall()) if kind == "table" else re.sub(r"\s+", " ", text)
        return found


@pytest.mark.parametrize("version", [1, 2])
async def test_it_has_then_what_a_new_one_has(url: str, path: Path, version: int) -> None:
    make_old(path, version)
    async with opened(url):
        pass
    async with opened(f"{url}2"):
        pass
    assert parts(path) == parts(path.with_name("queue.db2"))


async def test_version_1_keeps_all_that_is_in_it(url: str, path: Path) -> None:
    make_old(path, 1)
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


async def test_version_2_keeps_all_that_is_in_it(url: str, path: Path) -> None:
    make_old(path, 2)
    async with opened(url) as backend:
        jobs = await backend.find_queue(ROOT, "jobs")
        assert jobs is not None
        assert (jobs.config, jobs.owner, jobs.files) == (b"lease = 5\n", Owner(uid=1000, gid=100, mode=0o750), {})
        assert (await backend.tick(now=20.0, limit=9)).adopted == [(jobs.id, 9)]
        pending = await backend.page(jobs.id, State.PENDING, after=None, limit=9)
        assert [(message.id, message.due, message.paused) for message in pending] == [
            (5, None, False),
            (6, None, False),
            (7, 100.0, False),
            (8, 60.0, True),
            (9, 25.0, False),
        ]
        held = await backend.page(jobs.id, State.PROCESSING, after=None, limit=9)
        assert [(message.id, message.cancelled, message.claimed_at) for message in held] == [
            (3, False, None),
            (4, True, None),
        ]
        (dead,) = await backend.page(jobs.id, State.DEAD, after=None, limit=9)
        assert (dead.id, dead.reason) == (2, "too often")
        assert await backend.read(jobs.id, MessageId(6), offset=2, size=9) == b" parts"
        assert await backend.find_key(jobs.id, "k", now=20.0, window=600.0) == 3
        keep = Retention(records=9, seconds=100.0)
        assert await backend.ack(jobs.id, [Ref(MessageId(3)), Ref(MessageId(4))], now=30.0, keep=keep)
        records = await backend.records(jobs.id, after=None, limit=9, now=30.0)
        assert [(record.id, record.status, record.claimed_at) for record in records] == [
            (4, Status.CANCELLED, None),
            (3, Status.SUCCEEDED, None),
        ]
        stats = await backend.stats(jobs.id)
        assert (stats.pending, stats.processing, stats.dead, stats.done) == (5, 0, 1, 2)
        assert await put(backend, jobs.id) == 12
    async with opened(url) as backend:
        assert [record.id for record in await backend.records(jobs.id, after=None, limit=9, now=30.0)] == [4, 3]
        while inside(backend).trash:
            await backend.tick(now=30.0, limit=9)


async def test_records_that_are_pruned_take_no_old_box_along(url: str, path: Path) -> None:
    """The boxes that queues get for their records are nobody else's."""
    make_old(path, 2)
    keep = Retention(records=9, seconds=100.0)
    async with opened(url) as backend:
        jobs = await backend.find_queue(ROOT, "jobs")
        assert jobs is not None
        (below,) = await backend.children(jobs.id)
        await backend.ack(jobs.id, [Ref(MessageId(3))], now=30.0, keep=keep)
        await put(backend, below.id)
        (claimed,) = await take(backend, below.id)
        await backend.ack(below.id, [claimed.receipt], now=30.0, keep=keep)
        assert len(await backend.prune(jobs.id, None)) == 1
        assert (await backend.clear(jobs.id)).unacked == 5
        while inside(backend).trash:
            await backend.tick(now=30.0, limit=9)
        assert [record.id for record in await backend.records(below.id, after=None, limit=9, now=30.0)] == [claimed.id]


@pytest.mark.parametrize(("version", "lacking"), [(1, "trash"), (2, "keys, keys_until")])
async def test_one_that_lacks_a_table_stays_as_it_is(url: str, path: Path, version: int, lacking: str) -> None:
    make_old(path, version)
    with closing(sqlite3.connect(path)) as db:
        db.executescript(f"DROP TABLE {lacking.partition(',')[0]}")
    before = parts(path)
    with pytest.raises(StoreUnusable, match=f"lacks {lacking}; restore"):
        async with open_backend(url):
            pass
    assert parts(path) == before


@pytest.mark.parametrize("version", [1, 2])
async def test_an_upgrade_that_fails_leaves_it_as_it_is(url: str, path: Path, version: int) -> None:
    """It is one transaction: something of a later version is in the way of its last part."""
    make_old(path, version)
    with closing(sqlite3.connect(path)) as db:
        db.executescript("CREATE TABLE records (something)")
    before = parts(path)
    with pytest.raises(StoreUnusable, match="table records already exists"):
        async with open_backend(url):
            pass
    assert parts(path) == before
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchall() == [(version,)]
