"""How operations are carried out: together, in order, at the cost that was promised."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from queuefs.backend import Settled
from queuefs.errors import IdsExhausted, ShuttingDown, StoreUnusable
from queuefs.message import MAX_MESSAGE_ID, ROOT, Counts
from queuefs.ticket import Answer, Ticket
from queuefs_sqlite.queries import QUERIES, parse
from tests.sqlite.steps import NOW, OWNER, ROOM, inside, new_queue, opened, put, stage, staging, take

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from queuefs_sqlite import SQLiteBackend


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> Callable[[SQLiteBackend], list[str]]:
    """Return what records how the transactions of a back end begin."""

    def record(backend: SQLiteBackend) -> list[str]:
        begun: list[str] = []
        inside(backend).db.set_trace_callback(lambda text: begun.append(text) if text.startswith("BEGIN") else None)
        return begun

    del monkeypatch
    return record


async def test_what_is_handed_over_together_is_committed_together(
    url: str, commits: Callable[[SQLiteBackend], list[str]]
) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        begun = commits(backend)
        answers = [staging(backend, queue, b"x") for _ in range(200)]
        ids = [await answer for answer in answers]
        assert ids == sorted(ids)
        assert len(begun) <= 3


async def test_looks_alone_make_no_commit(url: str, path: Path) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        message = await put(backend, queue)
        wal = path.with_name("queue.db-wal").stat()
        await backend.peek(queue, count=1, lifo=False, now=NOW)
        await backend.snapshot(queue)
        await backend.peek(queue, count=1, lifo=True, now=NOW)
        await backend.payloads(queue, [message])
        await backend.find(queue, [message])
        await backend.find_key(queue, "k", now=NOW, window=9.0)
        await backend.dead(queue)
        await backend.stats(queue)
        await backend.load_clock()
        await backend.tick(now=NOW, limit=9)
        await backend.ack(queue, [], now=NOW)
        after = path.with_name("queue.db-wal").stat()
        assert (after.st_size, after.st_mtime_ns) == (wal.st_size, wal.st_mtime_ns)


async def test_no_read_is_left_open(url: str) -> None:
    """One that is would keep the log from being emptied (measured: 478 MB)."""
    async with opened(url) as backend:
        queue = await new_queue(backend)
        for _ in range(5):
            await put(backend, queue)
        await backend.peek(queue, count=2, lifo=False, now=NOW)
        await take(backend, queue, 2)
        await take(backend, queue, 1, lifo=True)
        await backend.stats(queue)
        await backend.find_key(queue, "k", now=NOW, window=9.0)
        await backend.children(ROOT)
        await backend.find_queue(ROOT, "jobs")
        await backend.payloads(queue, [])
        assert not inside(backend).db.in_transaction
        assert inside(backend).db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall() == [(0, 0, 0)]


async def test_counters_come_from_memory_when_nothing_is_under_way(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        other = await new_queue(backend, "other")
        message = await stage(backend, queue, b"12345")
        for call in (backend.counts, backend.unacked_bytes, backend.get_queue, backend.children):
            assert isinstance(call(queue), Answer)
        published = backend.publish(queue, message, now=NOW, window=0.0)
        pending = backend.counts(queue)
        size = backend.unacked_bytes(queue)
        elsewhere = backend.counts(other)
        assert isinstance(pending, Ticket)
        assert isinstance(elsewhere, Answer)
        assert await pending == Counts(pending=1, processing=0)
        assert await size == 5
        await published
        assert await backend.counts(queue) == Counts(pending=1, processing=0)


async def test_a_tree_that_is_being_changed_is_seen_as_changed(url: str) -> None:
    async with opened(url) as backend:
        first = backend.create_queue(ROOT, "a", owner=OWNER, now=NOW)
        found = backend.find_queue(ROOT, "a")
        listed = backend.children(ROOT)
        queue = await first
        assert await found == queue
        assert await listed == [queue]
        renamed = backend.rename_queue(queue.id, parent=ROOT, name="b")
        gone, there = backend.find_queue(ROOT, "a"), backend.find_queue(ROOT, "b")
        assert await gone is None
        assert (await there) is not None
        await renamed


async def test_names_that_are_swapped_in_one_batch_are_swapped(url: str) -> None:
    async with opened(url) as backend:
        a, b = await new_queue(backend, "a"), await new_queue(backend, "b")
        steps = [
            backend.rename_queue(a, parent=ROOT, name="c"),
            backend.rename_queue(b, parent=ROOT, name="a"),
            backend.rename_queue(a, parent=ROOT, name="b"),
        ]
        for step in steps:
            await step
        assert [queue.id for queue in await backend.children(ROOT)] == [b, a]
    async with opened(url) as backend:
        assert [queue.id for queue in await backend.children(ROOT)] == [b, a]


async def test_a_message_of_many_small_writes_is_not_quadratic(url: str) -> None:
    """Every write costs the same: the work is counted in changed rows, not in time."""
    async with opened(url) as backend:
        queue = await new_queue(backend)
        message = await stage(backend, queue, b"")
        before = inside(backend).db.total_changes
        text = bytes(range(256)) * 8
        answers = [
            backend.append(queue, message, text[at : at + 1], offset=at, partial=True, room=ROOM)
            for at in range(len(text))
        ]
        for answer in answers:
            await answer
        # A chunk and the message's row, and in each batch the queue's.
        assert 2 * len(text) < inside(backend).db.total_changes - before <= 3 * len(text)
        await backend.publish(queue, message, now=NOW, window=0.0)
        (claimed,) = await take(backend, queue)
        assert claimed.data == text
        assert await backend.ack(queue, [claimed.receipt], now=NOW) == [Settled.DONE]


async def test_clear_is_one_step_whatever_the_number(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        for answer in [staging(backend, queue, b"x") for _ in range(1000)]:
            await backend.publish(queue, await answer, now=NOW, window=0.0)
        staged = await stage(backend, queue, b"staged")
        await take(backend, queue, 300)
        before = inside(backend).db.total_changes
        cleared = backend.clear(queue)
        again = backend.clear(queue)
        after = backend.counts(queue)
        assert await cleared == Counts(pending=700, processing=300)
        assert await again == await after == Counts(pending=0, processing=0)
        assert inside(backend).db.total_changes - before < 1000
        await backend.publish(queue, staged, now=NOW, window=0.0)
        assert [message.id for message in await take(backend, queue, 5)] == [staged]
        assert [o.receipt.id for o in (await backend.tick(now=NOW + 61, limit=1000)).overdue] == [staged]
        while inside(backend).trash:
            await backend.tick(now=NOW, limit=1)
        assert inside(backend).db.execute("SELECT count(*) FROM body").fetchall() == [(1,)]


async def test_what_was_cleared_is_gone_after_a_restart_too(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        for _ in range(450):
            await put(backend, queue)
        await backend.clear(queue)
        await backend.remove_queue(queue)
        assert inside(backend).trash
    async with opened(url) as backend:
        queue = await new_queue(backend)
        assert await take(backend, queue) == []
        while inside(backend).trash:
            await backend.tick(now=NOW, limit=1)
        assert inside(backend).db.execute("SELECT count(*) FROM messages").fetchall() == [(0,)]


async def test_ids_end_for_good_and_take_nobody_along(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        await put(backend, queue)
        inside(backend).db.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'messages'", [MAX_MESSAGE_ID - 1])
    async with opened(url) as backend:
        last = staging(backend, queue, b"last")
        over = staging(backend, queue, b"over")
        claim = backend.claim(queue, count=1, lease=1.0, lifo=False, now=NOW)
        assert await last == MAX_MESSAGE_ID
        with pytest.raises(IdsExhausted):
            await over
        assert len(await claim) == 1
    async with opened(url) as backend:
        await backend.clear(queue)
        with pytest.raises(IdsExhausted):
            await stage(backend, queue)


async def test_a_store_that_is_closed_answers_that_it_is(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        last = staging(backend, queue, b"x")
    message = await last  # what was handed over is done before the close
    answer = backend.publish(queue, message, now=NOW, window=0.0)
    with pytest.raises(ShuttingDown):
        await answer


def test_every_query_has_its_comment_and_a_name_of_its_own() -> None:
    assert parse("-- name: one\n-- What for.\nSELECT\n  1;\n\n-- name: two\n-- Why.\n-- More.\nSELECT 2;\n") == {
        "one": "SELECT 1;",
        "two": "SELECT 2;",
    }
    assert all(statement.endswith(";") and "--" not in statement for statement in QUERIES.values())


async def test_nothing_scans_what_may_be_large(url: str) -> None:
    """Every statement but those of the audit and of the opening goes by an index, and sorts nothing.

    What a repair does once for a message that is damaged may look at all queues.
    """
    small = {"all_queues", "trash", "load_meta", "last_box", "last_id", "forget_ids", "left_staged"}
    # The first reads all of them anyway; for the others see `test_messages_that_ripen_by_the_thousand`.
    sorted_ = {"snapshot", "ripe_oldest_first", "ripe_newest_first"}
    async with opened(url) as backend:
        for name, statement in QUERIES.items():
            if name in small or name.startswith(("audit_", "repair_find", "repair_box")):
                continue
            numbered = [int(number) for number in re.findall(r"\?([0-9])", statement)]
            values = (1,) * max(numbered, default=statement.count("?"))
            plan = [row[3] for row in inside(backend).db.execute(f"EXPLAIN QUERY PLAN {statement}", values).fetchall()]
            assert not [step for step in plan if "SCAN" in step], (name, plan)
            assert name in sorted_ or not [step for step in plan if "TEMP" in step], (name, plan)


async def test_a_store_that_cant_be_opened_leaves_nothing_open(tmp_path: Path) -> None:
    """The next attempt is not told that it is in use."""
    path = tmp_path / "queue.db"
    path.write_bytes(b"not a database" * 100)
    for _ in range(2):
        with pytest.raises(StoreUnusable, match="is not an SQLite database"):
            async with opened(f"sqlite://{path}"):
                pass
