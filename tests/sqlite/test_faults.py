"""What is said and done when the disk or the file fails."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from queuefs.backend import Settled
from queuefs.errors import (
    BackendError,
    BackendUnavailable,
    OutcomeUnknown,
    QueueExists,
    QueueFSError,
    QueueNotFound,
    StoreDamaged,
)
from queuefs.message import ROOT, Counts, Ref
from queuefs.registry import open_backend
from tests.sqlite.steps import NOW, OWNER, ROOM, inside, new_queue, opened, put, stage, staging, take

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from queuefs_sqlite import SQLiteBackend
    from tests.conftest import Logs


class Failing:
    """A connection whose next statement of one kind fails."""

    def __init__(self, db: sqlite3.Connection, statement: str, error: str, *, instead: str | None) -> None:
        self._db = db
        self._statement = statement
        self._error = error
        self._instead = instead

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        if not statement.startswith(self._statement):
            return self._db.execute(statement, *values)
        self._statement = "nothing any more"
        if self._instead is not None:
            self._db.execute(self._instead)
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorname = self._error
        error.sqlite_errorcode = getattr(sqlite3, self._error)
        raise error


def let_fail(backend: SQLiteBackend, statement: str, error: str, *, instead: str | None = None) -> None:
    store = inside(backend)
    store.db = Failing(store.db, statement, error, instead=instead)  # type: ignore[assignment]  # it is one by behaviour


# A commit that fails ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("truth", ["COMMIT", "ROLLBACK"])
async def test_a_failed_commit_is_unknown_and_the_file_is_asked(url: str, logs: Logs, truth: str) -> None:
    """An fsync error leaves the batch in the log or not: both were measured."""
    async with opened(url) as backend:
        queue = await new_queue(backend)
        await put(backend, queue, b"old")
        staged = await stage(backend, queue, b"new")
        let_fail(backend, "COMMIT", "SQLITE_IOERR_FSYNC", instead=truth)
        logs.expect("commit failed, its outcome is unknown")
        answers = [
            backend.publish(queue, staged, now=NOW, window=0.0),
            staging(backend, queue, b"nobody will know my id"),
            backend.counts(queue),
        ]
        for answer in answers:
            with pytest.raises(OutcomeUnknown, match="SQLITE_IOERR_FSYNC"):
                await answer
        # The next ones find the connection opened anew, and the truth.
        done = truth == "COMMIT"
        assert await backend.counts(queue) == Counts(pending=2 if done else 1, processing=0)
        await backend.publish(queue, staged, now=NOW, window=0.0)
        assert [message.data for message in await take(backend, queue, 5)] == [b"old", b"new"]
        await backend.clear(queue)
        await backend.remove_queue(queue)  # nothing is left staged in it


async def test_while_the_file_cant_be_opened_again_all_is_refused(
    url: str, path: Path, logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        staged = await stage(backend, queue)
        let_fail(backend, "COMMIT", "SQLITE_IOERR_WRITE", instead="ROLLBACK")
        logs.expect("commit failed")
        with pytest.raises(OutcomeUnknown):
            await backend.publish(queue, staged, now=NOW, window=0.0)
        with monkeypatch.context() as patch:
            patch.setattr("queuefs_sqlite.database._PARTS", {"more": "than there is"})
            logs.expect(f"back end unavailable reason=.*{path} lacks")  # once
            for _ in range(3):
                with pytest.raises(BackendUnavailable, match="can't be opened again"):
                    await backend.publish(queue, staged, now=NOW, window=0.0)
                with pytest.raises(BackendUnavailable):
                    await backend.counts(queue)
        await backend.publish(queue, staged, now=NOW, window=0.0)
        assert await backend.counts(queue) == Counts(pending=1, processing=0)


async def test_a_reader_of_the_log_delays_the_opening_anew(
    url: str, path: Path, logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the log holds is to be written once more, and a reader keeps it."""
    monkeypatch.setattr("queuefs_sqlite.database.BUSY_TIMEOUT_MS", 10)
    async with opened(url) as backend:
        queue = await new_queue(backend)
        staged = await stage(backend, queue)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN")
            other.execute("SELECT * FROM queues").fetchall()
            let_fail(backend, "COMMIT", "SQLITE_IOERR_FSYNC", instead="COMMIT")
            logs.expect("commit failed")
            with pytest.raises(OutcomeUnknown):
                await backend.publish(queue, staged, now=NOW, window=0.0)
            logs.expect("back end unavailable reason=.*another program is reading it")
            for _ in range(2):
                with pytest.raises(BackendUnavailable):
                    await backend.publish(queue, staged, now=NOW, window=0.0)
        assert [message.id for message in await take(backend, queue, 2)] == [staged]


# One operation that fails -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "ours"),
    [("SQLITE_CORRUPT", StoreDamaged), ("SQLITE_IOERR_READ", BackendUnavailable), ("SQLITE_ERROR", BackendError)],
)
async def test_a_statement_that_fails_spoils_its_own_operation_alone(
    url: str, logs: Logs, monkeypatch: pytest.MonkeyPatch, error: str, ours: type[QueueFSError]
) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        if ours is StoreDamaged:
            logs.expect("database damaged", count=2)  # in the batch, and in the replay
        store_type = type(inside(backend))
        run = store_type.run

        def failing_run(store: Any, query: str, *values: object) -> sqlite3.Cursor:
            if query == "add_body" and values[1] == b"guilty":
                failure = sqlite3.DatabaseError("as the test wants it")
                failure.sqlite_errorcode = getattr(sqlite3, error)
                failure.sqlite_errorname = error
                raise failure
            return run(store, query, *values)

        monkeypatch.setattr(store_type, "run", failing_run)
        answers = [staging(backend, queue, d) for d in (b"a", b"guilty", b"b")]
        first = await answers[0]
        with pytest.raises(ours):
            await answers[1]
        last = await answers[2]
        for message in (first, last):
            await backend.publish(queue, message, now=NOW, window=0.0)
        assert [message.data for message in await take(backend, queue, 5)] == [b"a", b"b"]


async def test_a_caller_with_a_bug_spoils_nobody_elses_work(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        good = staging(backend, queue, b"a")
        bad = staging(backend, queue, b"b", priority=2**70)
        assert await good
        with pytest.raises(OverflowError):
            await bad


async def test_a_refused_operation_leaves_the_batch_intact(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        message = await put(backend, queue)
        refused = backend.create_queue(ROOT, "jobs", owner=OWNER, now=NOW)
        unknown = backend.ack(queue, [Ref(message)], now=NOW)
        nowhere = backend.rename_queue(queue, parent=queue, name="below")
        claim = backend.claim(queue, count=1, lease=1.0, lifo=False, now=NOW)
        with pytest.raises(QueueExists):
            await refused
        assert await unknown == [Settled.STALE]
        with pytest.raises(QueueFSError):
            await nowhere
        assert [m.id for m in await claim] == [message]


async def test_a_foreign_lock_makes_the_store_unavailable_for_a_while(
    url: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queuefs_sqlite.database.BUSY_TIMEOUT_MS", 10)
    async with opened(url) as backend:
        queue = await new_queue(backend)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(BackendUnavailable, match="SQLITE_BUSY"):
                await stage(backend, queue)
        await put(backend, queue)


# The file -----------------------------------------------------------------------------------------------------------


async def test_a_file_that_was_removed_takes_no_more(url: str, path: Path, logs: Logs) -> None:
    async with open_backend(url) as backend:
        queue = (await backend.create_queue(ROOT, "jobs", owner=OWNER, now=NOW)).id
        path.rename(path.with_name("elsewhere.db"))
        logs.expect("back end unavailable reason=.* was removed or replaced")  # once
        for _ in range(3):
            with pytest.raises(BackendUnavailable, match="was removed or replaced"):
                await staging(backend, queue, b"x")
        path.with_name("elsewhere.db").rename(path)
        await staging(backend, queue, b"x")


async def test_a_removed_log_loses_nothing(url: str, path: Path, logs: Logs) -> None:
    """What was committed last is in the log alone; nobody but the open connection can still save it."""
    async with open_backend(url) as backend:
        queue = (await backend.create_queue(ROOT, "jobs", owner=OWNER, now=NOW)).id
        await put(backend, queue, b"before")
        path.with_name(path.name + "-wal").unlink()
        logs.expect("the log was removed under the daemon")
        await put(backend, queue, b"after")
        copied = path.with_name("copy.db")  # what a crash now would leave: the database and its new log
        copied.write_bytes(path.read_bytes())
        copied.with_name("copy.db-wal").write_bytes(path.with_name(path.name + "-wal").read_bytes())
    async with open_backend(f"sqlite://{copied}") as backend:
        await backend.tick(now=NOW, limit=100)
        assert (await backend.counts(queue)).pending == 2
        assert await backend.audit() == []


async def test_a_removed_lock_lets_nobody_write(url: str, path: Path, logs: Logs) -> None:
    """Another daemon could lock a new file of that name."""
    async with open_backend(url) as backend:
        queue = (await backend.create_queue(ROOT, "jobs", owner=OWNER, now=NOW)).id
        lock = path.with_name(path.name + ".lock")
        lock.rename(lock.with_name("elsewhere"))
        logs.expect("back end unavailable reason=.*lock was removed or replaced")
        with pytest.raises(BackendUnavailable, match="was removed or replaced"):
            await staging(backend, queue, b"x")
        lock.with_name("elsewhere").rename(lock)
        await staging(backend, queue, b"x")


def payload_spoilers() -> list[tuple[str, Callable[[sqlite3.Connection], None]]]:
    return [
        ("bits", lambda db: db.execute("UPDATE body SET data = zeroblob(3) WHERE id = 2")),
        ("missing", lambda db: db.execute("DELETE FROM body WHERE id = 2")),
        ("chunk", lambda db: db.execute("DELETE FROM chunk WHERE id = 2")),
        ("size", lambda db: db.execute("UPDATE body SET data = x'61' WHERE id = 2")),
    ]


@pytest.mark.parametrize("spoil", [pytest.param(spoil, id=name) for name, spoil in payload_spoilers()])
async def test_a_damaged_payload_blocks_nobody(
    url: str, path: Path, logs: Logs, spoil: Callable[[sqlite3.Connection], None]
) -> None:
    """It stays pending, is named by the audit, and is logged once."""
    async with open_backend(url) as backend:
        queue = (await backend.create_queue(ROOT, "jobs", owner=OWNER, now=NOW)).id
        for data in (b"1st", b"2nd", b"3rd"):
            message = await staging(backend, queue, data)
            await backend.append(queue, message, b"more", offset=3, partial=False, room=ROOM)
            await backend.publish(queue, message, now=NOW, window=0.0)
        with closing(sqlite3.connect(path)) as db, db:
            spoil(db)
        logs.expect("payload damaged.* message=2")
        assert [m.data for m in await backend.peek(queue, count=5, lifo=False, now=NOW)] == [b"1stmore", b"3rdmore"]
        claimed = await backend.claim(queue, count=2, lease=1.0, lifo=False, now=NOW)
        assert [m.id for m in claimed] == [1, 3]
        assert await backend.counts(queue) == Counts(pending=1, processing=2)
        assert any("message 2: its payload" in sentence for sentence in await backend.audit())
        assert await backend.clear(queue) == Counts(pending=1, processing=2)


async def test_a_payload_that_the_disk_does_not_give_blocks_nobody(
    url: str, logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite answers an I/O error by a rollback of everything, so the batch is played again without that message."""
    async with open_backend(url) as backend:
        queue = (await backend.create_queue(ROOT, "jobs", owner=OWNER, now=NOW)).id
        for data in (b"1st", b"2nd", b"3rd"):
            await put(backend, queue, data)
        store_type = type(inside(backend))
        run = store_type.run

        def failing_run(store: Any, query: str, *values: object) -> sqlite3.Cursor:
            if query == "body" and values[0] == 1:
                store.db.execute("ROLLBACK")
                failure = sqlite3.OperationalError("disk I/O error")
                failure.sqlite_errorcode = sqlite3.SQLITE_IOERR_READ
                failure.sqlite_errorname = "SQLITE_IOERR_READ"
                raise failure
            return run(store, query, *values)

        monkeypatch.setattr(store_type, "run", failing_run)
        logs.expect("payload damaged.* message=1")
        fourth = staging(backend, queue, b"4th")
        assert [m.id for m in await backend.claim(queue, count=2, lease=1.0, lifo=False, now=NOW)] == [2, 3]
        assert await fourth == 4
        assert await backend.counts(queue) == Counts(pending=1, processing=2)


async def test_a_queue_that_memory_does_not_know_is_not_found(url: str) -> None:
    async with opened(url) as backend:
        for call in (backend.counts, backend.get_queue, backend.unacked_bytes, backend.snapshot, backend.clear):
            with pytest.raises(QueueNotFound):
                await call(ROOT)
