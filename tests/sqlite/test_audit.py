"""The audit finds what disagrees within a store."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from queuefs.message import ROOT
from queuefs.registry import open_backend
from tests.sqlite.steps import NOW, OWNER, put

if TYPE_CHECKING:
    from pathlib import Path


async def test_an_audit_names_what_disagrees(url: str, path: Path) -> None:
    async with open_backend(url) as backend:
        queue = (await backend.create_queue(ROOT, "jobs", owner=OWNER, now=NOW)).id
        for _ in range(6):
            await put(backend, queue)
        assert await backend.audit() == []
        with closing(sqlite3.connect(path)) as db, db:
            db.executescript("""
                UPDATE queues SET pending = 7, acked = 5, delayed = 2;
                INSERT INTO queues (parent, name, uid, gid, mode, created_at, box) VALUES (99, 'lost', 0, 0, 0, 0, 50);
                UPDATE messages SET box = 77 WHERE id = 1;
                UPDATE messages SET lease_until = 1 WHERE id = 2;
                DELETE FROM messages WHERE id = 3;
                UPDATE messages SET state = 4 WHERE id = 4;
                UPDATE messages SET state = 3 WHERE id = 5;
                UPDATE messages SET cancelled = 1 WHERE id = 6;
                INSERT INTO keys VALUES (1, 'k', 999, 1.0, 2.0);
            """)
        found = "\n".join(await backend.audit())
    for part in (
        "queue 1: pending is kept as 7 and counted as 3",
        "queue 1: delayed is kept as 2 and counted as 1",
        "queue 1: unacked_bytes is kept as 6 and counted as 4",
        "queue 1: its totals contradict",
        "queue 2 ('lost'): its parents",
        "queue 1: memory and file disagree",
        "message 1: its box 77 is no queue's for such messages",
        "message 2: its columns",
        "message 3: there is a payload, and no message",
        "message 4: its box 1 is no queue's for such messages",
        "message 5: its columns",
        "message 6: its columns",
        "key 'k': its window is impossible, or its message 999 was never there",
    ):
        assert part in found
