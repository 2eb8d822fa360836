"""On a full disk new messages are refused, and the stored ones can be worked off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from queuefs.backend import Settled
from queuefs.errors import StoreFull
from queuefs.message import Verdict
from tests.sqlite.steps import NOW, new_queue, opened, put, stage, staging, take

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from queuefs.message import QueueId
    from queuefs_sqlite import SQLiteBackend
    from tests.conftest import Logs

SIZE = 32 << 20
PAYLOAD = bytes(range(256)) * 256  # 64 KiB


async def fill(backend: SQLiteBackend, queue: QueueId) -> int:
    """Put messages until there is no room; return how many it took."""
    count = 0
    while True:
        try:
            await put(backend, queue, PAYLOAD)
        except StoreFull:
            return count
        count += 1


def occupy(disk: Path) -> None:
    """Let another program take all that is left of the disk."""
    with (disk / "occupied").open("ab", buffering=0) as file:
        for size in (65536, 4096):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                pass


async def test_what_is_stored_can_be_claimed_and_settled(mount_disk: Callable[[int], Path], logs: Logs) -> None:
    disk = mount_disk(SIZE)
    async with opened(f"sqlite://{disk}/queue.db") as backend:
        queue = await new_queue(backend)
        count = await fill(backend, queue)
        assert count > 50
        occupy(disk)
        logs.expect("disk full: the reserve is given up")
        for number in range(count):
            (message,) = await take(backend, queue)
            assert message.data == PAYLOAD
            if number % 2:
                assert await backend.nack(queue, [Verdict(ref=message.receipt)], now=NOW) == [Settled.DONE]
                (message,) = await take(backend, queue)
            assert await backend.ack(queue, [message.receipt], now=NOW) == [Settled.DONE]
        assert (await backend.counts(queue)).unacked == 0
        # What is free inside the database is free for new messages, though the disk is full.
        assert await fill(backend, queue) > 20


async def test_room_on_the_disk_ends_it(mount_disk: Callable[[int], Path], logs: Logs) -> None:
    disk = mount_disk(SIZE)
    async with opened(f"sqlite://{disk}/queue.db") as backend:
        queue = await new_queue(backend)
        await put(backend, queue)
        occupy(disk)
        logs.expect("disk full: the reserve is given up")
        await fill(backend, queue)
        with pytest.raises(StoreFull):
            await stage(backend, queue, PAYLOAD)
        assert len(await take(backend, queue)) == 1
        (disk / "occupied").unlink()
        await put(backend, queue, PAYLOAD)
        assert (disk / "queue.db.reserve").stat().st_size == 8 << 20


async def test_in_a_batch_only_the_guilty_fail(mount_disk: Callable[[int], Path], logs: Logs) -> None:
    """A message larger than the disk takes nobody along."""
    disk = mount_disk(SIZE)
    async with opened(f"sqlite://{disk}/queue.db") as backend:
        queue = await new_queue(backend)
        await put(backend, queue, b"old")
        answers = [staging(backend, queue, data) for data in (b"small", bytes(SIZE), b"more")]
        claim = backend.claim(queue, count=1, lease=1.0, lifo=False, now=1.0)
        assert await answers[0]
        with pytest.raises(StoreFull):
            await answers[1]
        assert await answers[2]
        assert [message.data for message in await claim] == [b"old"]
        logs.expect("disk full: the reserve is given up")
        assert await fill(backend, queue) > 50


async def test_a_store_on_a_full_disk_can_be_opened_again(mount_disk: Callable[[int], Path], logs: Logs) -> None:
    disk = mount_disk(SIZE)
    url = f"sqlite://{disk}/queue.db"
    async with opened(url) as backend:
        queue = await new_queue(backend)
        staged = await stage(backend, queue, b"")
        count = await fill(backend, queue)
    occupy(disk)
    logs.expect("disk full: the reserve is given up", count=2)  # by each of the two daemons
    logs.expect("little room on the disk")
    async with opened(url) as backend:
        assert (await backend.tick(now=NOW, limit=9)).adopted == [(queue, staged)]
        messages = await take(backend, queue, count + 1)
        assert len(messages) == count + 1
        assert messages[0].id == staged
        assert await backend.ack(queue, [message.receipt for message in messages], now=NOW) == [Settled.DONE] * (
            count + 1
        )


async def test_a_clear_gives_room_on_a_full_disk(mount_disk: Callable[[int], Path], logs: Logs) -> None:
    disk = mount_disk(SIZE)
    async with opened(f"sqlite://{disk}/queue.db") as backend:
        queue = await new_queue(backend)
        await fill(backend, queue)
        occupy(disk)
        logs.expect("disk full: the reserve is given up")
        await backend.clear(queue)
        await backend.tick(now=1.0, limit=100)
        assert await fill(backend, queue) > 20
