"""An audit looks beside the work: it holds nobody up, sees one moment, and gives way when it must."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
import trio

from queuefs.errors import BackendUnavailable, OutcomeUnknown
from queuefs.registry import open_backend
from queuefs_sqlite import checks
from tests.sqlite.steps import DRAFT, NOW, ROOM, new_queue, opened, put, stage, take
from tests.sqlite.test_faults import let_fail

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from queuefs_sqlite.statements import Snapshot
    from tests.conftest import Logs

#: Seconds after which a test that waits for a thread has failed.
PATIENCE = 20

ENDLESS = "WITH RECURSIVE n (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM n) SELECT count(*) FROM n"


async def test_messages_come_and_go_meanwhile(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        given = [await put(backend, queue) for _ in range(10)]
        reached, go_on = threading.Event(), threading.Event()
        whole = checks._messages

        def wait_in_the_middle(snapshot: Snapshot) -> Iterator[checks.Finding]:
            reached.set()
            assert go_on.wait(PATIENCE)
            yield from whole(snapshot)

        monkeypatch.setattr(checks, "_messages", wait_in_the_middle)
        found: list[Sequence[str]] = []

        async def look() -> None:
            found.append(await backend.audit())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(look)
            assert await trio.to_thread.run_sync(reached.wait, PATIENCE)
            claimed = await take(backend, queue, 5)
            await backend.ack(queue, [message.receipt for message in claimed], now=NOW)
            other = await new_queue(backend, "other")
            await backend.move(queue, given[7], target=other, room=ROOM)
            await put(backend, other)
            await backend.clear(other)
            go_on.set()
        assert found == [[]]


async def test_it_sees_all_that_was_called_before_it(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        data = bytes(1 << 20)
        putting = [backend.stage(queue, data, draft=DRAFT, room=ROOM, partial=False, now=NOW) for _ in range(3)]
        audit = backend.audit()
        assert await audit == []
        for staging in putting:
            await backend.discard(queue, await staging)


async def test_one_that_is_not_wanted_any_more_ends(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of a statement that would take its time."""
    reached = threading.Event()

    def count_for_ever(snapshot: Snapshot) -> Iterator[checks.Finding]:
        reached.set()
        yield checks.Finding(str(snapshot.db.execute(ENDLESS).fetchall()))

    monkeypatch.setattr(checks, "_queues", count_for_ever)
    async with open_backend(url) as backend, trio.open_nursery() as nursery:
        nursery.start_soon(backend.audit)
        assert await trio.to_thread.run_sync(reached.wait, PATIENCE)
        nursery.cancel_scope.cancel()


async def test_it_gives_way_to_an_opening_anew(url: str, logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the log holds is to be written once more then, and a reader would keep the log."""
    reached = threading.Event()

    def count_for_ever(snapshot: Snapshot) -> Iterator[checks.Finding]:
        reached.set()
        yield checks.Finding(str(snapshot.db.execute(ENDLESS).fetchall()))

    async with opened(url) as backend:
        queue = await new_queue(backend)

        async def look() -> None:
            with pytest.raises(BackendUnavailable, match="gave way to others"):
                await backend.audit()

        with monkeypatch.context() as patch:
            patch.setattr(checks, "_queues", count_for_ever)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(look)
                assert await trio.to_thread.run_sync(reached.wait, PATIENCE)
                let_fail(backend, "COMMIT", "SQLITE_IOERR_FSYNC", instead="COMMIT")
                logs.expect("commit failed")
                with pytest.raises(OutcomeUnknown):
                    await put(backend, queue)
                assert await stage(backend, queue)


async def test_it_looks_at_no_other_file(url: str) -> None:
    """Whatever the path is: it is handed to SQLite as a URL."""
    async with opened(f"{url}%3F%23%25%E4&.db") as backend:
        queue = await new_queue(backend)
        await put(backend, queue)
