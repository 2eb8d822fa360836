"""No id is given twice, also when the database is replaced by an older copy of itself."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from queuefs.errors import BackendUnavailable, StoreFull
from queuefs.message import MAX_MESSAGE_ID
from queuefs_sqlite.files import IdMark
from tests.sqlite.steps import inside, new_queue, opened, put, stage, take
from tests.sqlite.test_crash import PROGRAM

if TYPE_CHECKING:
    from pathlib import Path

    from queuefs.message import QueueId


@pytest.fixture
async def queue(url: str) -> QueueId:
    """Make a store in which three ids were given, and close it."""
    async with opened(url) as backend:
        queue = await new_queue(backend)
        for _ in range(3):
            await put(backend, queue)
    return queue


async def test_a_clean_close_leaves_no_gap(url: str, queue: QueueId) -> None:
    for number in (4, 5):
        async with opened(url) as backend:
            assert await put(backend, queue) == number
    async with opened(url):
        pass
    async with opened(url) as backend:
        assert await put(backend, queue) == 6


async def test_an_older_copy_that_is_put_back_goes_on_after_the_ids_it_does_not_know(
    url: str, path: Path, queue: QueueId
) -> None:
    copy = shutil.copy(path, path.with_name("copy"))
    async with opened(url) as backend:
        given = [await put(backend, queue) for _ in range(2000)]
    shutil.copy(copy, path)
    async with opened(url) as backend:
        assert [message.id for message in await take(backend, queue, 9)] == [1, 2, 3]
        assert await put(backend, queue) == given[-1] + 1


async def test_an_older_copy_after_a_crash_does_so_too(url: str, path: Path, queue: QueueId) -> None:
    copy = shutil.copy(path, path.with_name("copy"))
    with subprocess.Popen([sys.executable, PROGRAM, url], stdout=subprocess.PIPE) as daemon:
        assert daemon.stdout is not None
        said = [daemon.stdout.readline() for _ in range(300)]
        daemon.send_signal(signal.SIGKILL)
        said += daemon.stdout.readlines()
    last = max(int(line.split()[1]) for line in said)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    shutil.copy(copy, path)
    async with opened(url) as backend:
        assert last < await put(backend, queue) <= last + 2 * IdMark.BLOCK


async def test_a_store_that_is_removed_and_made_anew_goes_on(url: str, path: Path, queue: QueueId) -> None:
    path.unlink()
    async with opened(url) as backend:
        assert await new_queue(backend) == queue
        assert await put(backend, queue) == 4


async def test_a_lock_file_of_an_earlier_form_is_read(url: str, path: Path, queue: QueueId) -> None:
    path.with_name("queue.db.lock").write_bytes(b"12345\n")
    async with opened(url) as backend:
        assert await put(backend, queue) == 4


async def test_blocks_end_with_the_last_id(url: str, path: Path, queue: QueueId) -> None:
    async with opened(url) as backend:
        store = inside(backend)
        store.db.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'messages'", [MAX_MESSAGE_ID - 2])
        store.ledger.last_id = MAX_MESSAGE_ID - 2
        assert await put(backend, queue) == MAX_MESSAGE_ID - 1
        text = path.with_name("queue.db.lock").read_text(encoding="ascii")
        assert [int(line) for line in text.splitlines()] == [os.getpid(), MAX_MESSAGE_ID]
        assert await put(backend, queue) == MAX_MESSAGE_ID


@pytest.mark.parametrize(("code", "error"), [("ENOSPC", StoreFull), ("EIO", BackendUnavailable)])
async def test_no_id_is_given_that_could_not_be_marked(
    url: str, queue: QueueId, monkeypatch: pytest.MonkeyPatch, code: str, error: type[Exception]
) -> None:
    async with opened(url) as backend:
        with monkeypatch.context() as patch:

            def fail(*_values: object) -> None:
                raise OSError(getattr(__import__("errno"), code), "as the test wants it")

            patch.setattr(os, "pwrite", fail)
            with pytest.raises(error):
                await stage(backend, queue)
        assert await stage(backend, queue) == 4
