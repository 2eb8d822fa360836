"""Payloads in pieces: how they lie in the file, what reading and removing them costs."""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING

import pytest

from queuefs.backend import Settled
from queuefs.errors import IdInUse, StoreDamaged
from queuefs.message import MessageId, Retention, Room
from queuefs_sqlite.payloads import PART_BYTES
from tests.sqlite.steps import DRAFT, NOW, ROOM, inside, new_queue, opened, put, stage, take

if TYPE_CHECKING:
    from queuefs.message import QueueId
    from queuefs_sqlite import SQLiteBackend

BIG = os.urandom(3 * PART_BYTES + 1000)


async def put_in_parts(backend: SQLiteBackend, queue: QueueId, data: bytes, sizes: list[int]) -> MessageId:
    """Write a message by a `stage` and an `append` for each further size."""
    at = sizes[0]
    message = await stage(backend, queue, data[:at], partial=True)
    for size in sizes[1:]:
        await backend.append(queue, message, data[at : at + size], offset=at, partial=True, room=ROOM)
        at += size
    assert at == len(data)
    await backend.publish(queue, message, now=NOW, window=0.0)
    return message


def rows(backend: SQLiteBackend, table: str) -> int:
    (count,) = inside(backend).db.execute(f"SELECT count(*) FROM {table}").fetchone()
    assert isinstance(count, int)
    return count


async def emptied(backend: SQLiteBackend) -> None:
    """Let upkeep delete all that is in trash."""
    while (await backend.tick(now=NOW, limit=500)).next_due == 0.0:
        pass


# Reading ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sizes", [[len(BIG)], [0, len(BIG)], [1, PART_BYTES, 2 * PART_BYTES + 999], [5, 0, 7, len(BIG) - 12]]
)
async def test_any_piece_is_what_was_put_in(url: str, sizes: list[int]) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        message = await put_in_parts(backend, queue, BIG, sizes)
        longest = inside(backend).db.execute(
            "SELECT max(size) FROM (SELECT length(data) AS size FROM body UNION SELECT length(data) FROM chunk)"
        )
        assert longest.fetchone()[0] <= PART_BYTES
        edges = {0, 1, 6, PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 2 * PART_BYTES, len(BIG) - 1, len(BIG), 10**9}
        for offset in edges:
            for size in (0, 1, 1000, PART_BYTES, 2 * PART_BYTES + 5, 10**9):
                piece = await backend.read(queue, message, offset=offset, size=size)
                assert piece == BIG[offset : offset + size]
        (claimed,) = await take(backend, queue)
        assert claimed.data == BIG


async def test_a_row_that_version_2_made_is_read_by_walking(url: str) -> None:
    """It may be as long as a message; no more of it than a piece is taken to memory."""
    async with opened(url) as backend:
        queue = await new_queue(backend)
        message = await put_in_parts(backend, queue, BIG, [1, 1, len(BIG) - 2])
        inside(backend).db.executescript("DELETE FROM body; DELETE FROM chunk")
        half = len(BIG) // 2
        inside(backend).db.execute("INSERT INTO body VALUES (?, ?)", [message, BIG[:half]])
        inside(backend).db.execute("INSERT INTO chunk VALUES (?, ?, ?)", [message, half, BIG[half:]])
        inside(backend).db.execute("UPDATE messages SET chunks = 1")
        for offset in (0, 1, half - 1, half, half + 1, len(BIG) - 1, len(BIG)):
            for size in (1, 1000, len(BIG)):
                piece = await backend.read(queue, message, offset=offset, size=size)
                assert piece == BIG[offset : offset + size]


async def test_a_piece_costs_what_it_is_long(url: str) -> None:
    """Counted in bytes that are taken from the file: neither the whole nor what lies before it."""
    async with opened(url) as backend:
        queue = await new_queue(backend)
        message = await put_in_parts(backend, queue, BIG * 8, [len(BIG)] * 8)
        db = inside(backend).db
        asked: list[str] = []
        db.set_trace_callback(asked.append)
        for offset in (0, 3 * len(BIG), 8 * len(BIG) - 1000):
            asked.clear()
            await backend.read(queue, message, offset=offset, size=1000)
            (pieces,) = [text for text in asked if "FROM chunk WHERE" in text] or ["SELECT 1 WHERE 0"]
            db.set_trace_callback(None)
            assert len(db.execute(pieces).fetchall()) <= 2
            db.set_trace_callback(asked.append)
        db.set_trace_callback(None)


async def test_of_a_dead_message_pieces_can_be_read_too_and_of_a_gone_one_none(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        message, staged = await put(backend, queue, b"dead"), await stage(backend, queue, b"staged")
        await backend.bury(queue, [message])
        assert await backend.read(queue, message, offset=1, size=2) == b"ea"
        await backend.drop(queue, [message])
        assert await backend.read(queue, message, offset=1, size=2) is None
        assert await backend.read(queue, staged, offset=1, size=2) is None


@pytest.mark.parametrize(
    ("spoil", "good", "bad"),
    [
        ("DELETE FROM body", (PART_BYTES, 10), (PART_BYTES - 5, 10)),
        ("UPDATE body SET data = x'00'", (PART_BYTES, 10), (5, 10)),
        (f"DELETE FROM chunk WHERE position = {PART_BYTES}", (2 * PART_BYTES, 10), (PART_BYTES - 5, 10)),
        (f"DELETE FROM chunk WHERE position = {3 * PART_BYTES}", (0, 3 * PART_BYTES), (3 * PART_BYTES - 5, 10)),
        (f"UPDATE chunk SET data = x'00' WHERE position = {PART_BYTES}", (0, PART_BYTES), (PART_BYTES, 2)),
    ],
)
async def test_a_piece_that_is_missing_is_said_to_be(
    url: str, spoil: str, good: tuple[int, int], bad: tuple[int, int]
) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        message = await put(backend, queue, BIG)
        inside(backend).db.execute(spoil)
        offset, size = good
        assert await backend.read(queue, message, offset=offset, size=size) == BIG[offset : offset + size]
        offset, size = bad
        looks = [backend.read(queue, message, offset=offset, size=size), backend.read(queue, message, offset=0, size=0)]
        with pytest.raises(StoreDamaged, match=f"message {message} is missing"):
            await looks[0]
        assert await looks[1] == b""
        await backend.clear(queue)
        await emptied(backend)


# Claiming -----------------------------------------------------------------------------------------------------------


async def test_a_long_payload_is_left_where_it_is(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        await put(backend, queue, BIG)
        await put(backend, queue, b"short")
        asked: list[str] = []
        inside(backend).db.set_trace_callback(asked.append)
        claimed = await backend.claim(queue, count=2, lease=9.0, lifo=False, now=NOW, inline=5)
        inside(backend).db.set_trace_callback(None)
        assert [message.data for message in claimed] == [None, b"short"]
        assert len([text for text in asked if "FROM body" in text]) == 1


# Removing -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["ack", "cancel", "drop", "discard"])
async def test_what_is_too_much_for_one_batch_is_removed_by_and_by(url: str, way: str) -> None:
    """It is gone for everybody at once, and its room is given back a few MiB at a time."""
    data = bytes(12 << 20)
    keep = Retention(records=9, seconds=9.0)
    async with opened(url) as backend:
        queue = await new_queue(backend)
        message = await stage(backend, queue, data, key="k")
        if way != "discard":
            await backend.publish(queue, message, now=NOW, window=0.0)
        if way == "ack":
            await take(backend, queue)
            before = inside(backend).db.total_changes
            assert await backend.ack(queue, [(await backend.find(queue, [message]))[0].receipt], now=NOW, keep=keep)  # type: ignore[union-attr]
            assert (await backend.find_records(queue, [message], now=NOW))[0].size == len(data)  # type: ignore[union-attr]
        elif way == "cancel":
            before = inside(backend).db.total_changes
            await backend.cancel(queue, [message], now=NOW)
        elif way == "drop":
            await backend.bury(queue, [message])
            before = inside(backend).db.total_changes
            await backend.drop(queue, [message])
        else:
            before = inside(backend).db.total_changes
            await backend.discard(queue, message)
        assert inside(backend).db.total_changes - before < 10
        assert await backend.find(queue, [message]) == [None]
        assert await backend.read(queue, message, offset=0, size=9) is None
        assert await backend.find_key(queue, "k", now=NOW, window=9.0) is None
        assert await backend.audit() == []
        assert rows(backend, "chunk") == 47
    async with opened(url) as backend:
        left = rows(backend, "chunk")
        other = await new_queue(backend, "other")  # any batch takes a little of it along
        assert left - 17 <= rows(backend, "chunk") < left
        while (left := rows(backend, "chunk")) and (await backend.tick(now=NOW, limit=500)).next_due == 0.0:
            assert left - 33 <= rows(backend, "chunk") < left
        await put(backend, other)
        assert (rows(backend, "chunk"), rows(backend, "body"), rows(backend, "messages")) == (0, 1, 1)
        assert inside(backend).trash == []


async def test_so_are_very_many_small_parts(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        message = await stage(backend, queue, b"")
        for answer in [backend.append(queue, message, b"x", offset=at, partial=True, room=ROOM) for at in range(1500)]:
            await answer
        await backend.publish(queue, message, now=NOW, window=0.0)
        await backend.cancel(queue, [message], now=NOW)
        assert rows(backend, "chunk") == 1500
        assert (await backend.tick(now=NOW, limit=500)).next_due == 0.0
        assert rows(backend, "chunk") == 800  # the round's own, and what each batch takes along
        await emptied(backend)
        assert rows(backend, "messages") == 0


async def test_many_that_are_small_are_removed_at_once(url: str) -> None:
    """Only what is more than a batch may take lies in trash for a while."""
    async with opened(url) as backend:
        queue = await new_queue(backend)
        for _ in range(40):
            await put(backend, queue, bytes(PART_BYTES))
        claimed = await take(backend, queue, 40)
        receipts = [message.receipt for message in claimed]
        assert await backend.ack(queue, receipts, now=NOW) == [Settled.DONE] * 40
        assert rows(backend, "body") == 8
        await emptied(backend)
        assert rows(backend, "body") == 0


async def test_an_id_is_free_as_soon_as_its_message_is_gone(url: str) -> None:
    """Though it is not deleted yet."""
    async with opened(url) as backend:
        queue = await new_queue(backend)
        message = await put(backend, queue, bytes(12 << 20))

        async def stage_again(data: bytes) -> MessageId:
            return await backend.stage(queue, data, draft=DRAFT, room=Room(), partial=False, now=NOW, message=message)

        with pytest.raises(IdInUse):
            await stage_again(b"too soon")
        await backend.cancel(queue, [message], now=NOW)
        assert await stage_again(b"again") == message
        await backend.publish(queue, message, now=NOW, window=0.0)
        await emptied(backend)
        (claimed,) = await take(backend, queue)
        assert (claimed.id, claimed.data) == (message, b"again")


async def test_a_checksum_goes_over_all_parts(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        await put_in_parts(backend, queue, BIG, [PART_BYTES + 1, PART_BYTES - 1, PART_BYTES + 1000])
        assert inside(backend).value("last_id") == 1
        ((crc, chunks),) = inside(backend).db.execute("SELECT crc, chunks FROM messages").fetchall()
        assert (crc, chunks) == (zlib.crc32(BIG), 4)
