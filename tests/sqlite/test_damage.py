"""What an audit finds of damage in the file, and what a repair makes of it; all else goes on."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from queuefs.lifecycle import State
from queuefs.message import Counts, MessageId, QueueId, Retention
from queuefs_sqlite.mending import DAMAGED
from queuefs_sqlite.payloads import PART_BYTES
from tests.sqlite.steps import NOW, ROOM, inside, new_queue, opened, put, stage, take

if TYPE_CHECKING:
    from pathlib import Path

    from queuefs_sqlite import SQLiteBackend
    from tests.conftest import Logs

FIRST, SECOND = b"a" * 100, b"b" * 100
BIG = os.urandom(4 * PART_BYTES)


def change(path: Path, script: str, *values: object) -> None:
    """Change the file as another program would."""
    with closing(sqlite3.connect(path)) as db, db:
        if values:
            db.execute(script, values)
        else:
            db.executescript(script)


async def put_two_parts(backend: SQLiteBackend, queue: QueueId) -> MessageId:
    message = await stage(backend, queue, FIRST)
    await backend.append(queue, message, SECOND, offset=len(FIRST), partial=False, room=ROOM)
    return await backend.publish(queue, message, now=NOW, window=0.0)


async def sound(backend: SQLiteBackend) -> bool:
    """Return whether nothing is found any more."""
    return await backend.audit() == [] and await backend.repair() == []


#: As by hand: the value is text from then on.
FLIP = "UPDATE {} SET data = x'00' || substr(data, 2) WHERE id = 2"
CUT = "UPDATE body SET data = substr(data, 1, 9) WHERE id = 2"

# Payloads -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spoil", "left"),
    [
        pytest.param(FLIP.format("body"), b"\0" + FIRST[1:] + SECOND, id="byte"),
        pytest.param(FLIP.format("chunk"), FIRST + b"\0" + SECOND[1:], id="late byte"),
        pytest.param("DELETE FROM body WHERE id = 2", bytes(100) + SECOND, id="first part"),
        pytest.param("DELETE FROM chunk WHERE id = 2", FIRST, id="last part"),
        pytest.param("DELETE FROM body WHERE id = 2; DELETE FROM chunk WHERE id = 2", b"", id="all parts"),
        pytest.param(CUT, FIRST[:9] + bytes(91) + SECOND, id="shorter"),
        pytest.param("UPDATE body SET data = data || x'6161' WHERE id = 2", FIRST + b"aa", id="longer"),
        pytest.param("UPDATE messages SET crc = 5 WHERE id = 2", FIRST + SECOND, id="checksum"),
        pytest.param("UPDATE messages SET size = 150 WHERE id = 2", FIRST + SECOND, id="size"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("state", [State.PENDING, State.PROCESSING, State.DEAD])
async def test_a_spoilt_message_is_dead_and_what_there_is_of_it_can_be_read(
    url: str, path: Path, logs: Logs, spoil: str, left: bytes, state: State
) -> None:
    keep = Retention(records=5, seconds=5.0)
    async with opened(url) as backend:
        queue = await new_queue(backend)
        given = [await put_two_parts(backend, queue) for _ in range(3)]
        spoilt = given[1]
        if state is State.PROCESSING:
            await backend.take(queue, [spoilt], lease=60.0, now=NOW)
            await backend.cancel(queue, [spoilt], now=NOW)
        elif state is State.DEAD:
            await backend.bury(queue, [spoilt], reason="before")
        change(path, spoil)
        found = [sentence for sentence in await backend.audit() if "payload" in sentence]
        assert len(found) == 1
        assert found[0].startswith("message 2: its payload of ")
        logs.expect("payload damaged; the message is dead.* message=2")
        done = await backend.repair()
        assert "message 2: it is dead, for its payload is damaged" in done
        assert not [sentence for sentence in done if "message 1" in sentence or "message 3" in sentence]
        assert await sound(backend)
        (dead,) = await backend.dead(queue)
        assert (dead.id, dead.reason, dead.size, dead.lease_until, dead.cancelled) == (
            spoilt,
            DAMAGED,
            len(left),
            None,
            False,
        )
        assert await backend.read(queue, spoilt, offset=0, size=999) == left
        assert await backend.payloads(queue, [spoilt]) == [left]
        assert await backend.counts(queue) == Counts(pending=2, processing=0)
        claimed = await take(backend, queue, 9)
        assert [message.id for message in claimed] == [given[0], given[2]]
        await backend.ack(queue, [message.receipt for message in claimed], now=NOW, keep=keep)
        # Given another life, it is a message like any other.
        await backend.retry(queue, [spoilt], now=NOW)
        assert await backend.unacked_bytes(queue) == len(left)
        assert [message.data for message in await take(backend, queue)] == [left]


async def test_holes_in_a_large_payload_are_filled_a_little_at_a_time(url: str, path: Path, logs: Logs) -> None:
    """What is behind them stays where it was, and no row is longer than any other."""
    data = BIG * 10
    async with opened(url) as backend:
        queue = await new_queue(backend)
        message = await put(backend, queue, data)
        change(path, "DELETE FROM chunk WHERE position BETWEEN ? AND ?", PART_BYTES, 38 * PART_BYTES - 1)
        logs.expect("payload damaged; the message is dead")
        changes: list[int] = []
        inside(backend).db.set_trace_callback(
            lambda text: changes.append(inside(backend).db.total_changes) if text == "COMMIT" else None
        )
        assert await backend.repair() == [f"message {message}: it is dead, for its payload is damaged"]
        inside(backend).db.set_trace_callback(None)
        expected = data[:PART_BYTES] + bytes(37 * PART_BYTES) + data[38 * PART_BYTES :]
        assert await backend.payloads(queue, [message]) == [expected]
        assert await sound(backend)
        (longest,) = inside(backend).db.execute("SELECT max(length(data)) FROM chunk").fetchone()
        assert longest == PART_BYTES


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        ("INSERT INTO chunk VALUES (2, 200, x'61')", "has other parts than are counted"),
        ("INSERT INTO chunk VALUES (2, 150, x'61')", "has other parts than are counted"),
        ("UPDATE messages SET chunks = 7 WHERE id = 2", "has other parts than are counted"),
        ("UPDATE messages SET chunks = 0 WHERE id = 2", "has other parts than are counted"),
    ],
)
async def test_a_payload_that_is_whole_stays_what_it_is(url: str, path: Path, spoil: str, sentence: str) -> None:
    """A part too many does not belong to it."""
    async with opened(url) as backend:
        queue = await new_queue(backend)
        given = [await put_two_parts(backend, queue) for _ in range(3)]
        change(path, spoil)
        assert await backend.audit() == [f"message 2: its payload is whole, but {sentence}"]
        assert await backend.repair() == ["message 2: its payload has the parts that are counted"]
        assert await sound(backend)
        claimed = await take(backend, queue, 9)
        assert [(message.id, message.data) for message in claimed] == [(each, FIRST + SECOND) for each in given]
        await backend.ack(queue, [message.receipt for message in claimed], now=NOW)
        assert inside(backend).db.execute("SELECT count(*) FROM chunk").fetchone() == (0,)


async def test_a_part_too_many_of_a_short_message_does_not_belong_to_it(url: str, path: Path) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        message = await put(backend, queue, b"abc")
        change(path, "INSERT INTO chunk VALUES (1, 3, x'64')")
        assert len(await backend.audit()) == len(await backend.repair()) == 1
        assert await sound(backend)
        assert await backend.payloads(queue, [message]) == [b"abc"]


async def test_a_payload_without_a_message_is_removed(url: str, path: Path) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        message = await put(backend, queue)
        change(path, "INSERT INTO body VALUES (77, x'61')")
        with closing(sqlite3.connect(path)) as db, db:
            db.executemany("INSERT INTO chunk VALUES (78, ?, x'61')", [[at] for at in range(40)])
        assert await backend.audit() == [f"message {lost}: there is a payload, and no message" for lost in (77, 78)]
        assert await backend.repair() == [
            f"message {lost}: a payload without a message is removed" for lost in (77, 78)
        ]
        assert await sound(backend)
        assert await backend.payloads(queue, [message]) == [b"x"]


async def test_a_message_that_is_being_written_can_only_be_named(url: str, path: Path) -> None:
    """Its writer may come back; nothing else is there to say what it is to be."""
    async with opened(url) as backend:
        queue = await new_queue(backend)
        message = await stage(backend, queue, b"abc")
        change(path, "UPDATE body SET data = x'616264'")
        sentence = "message 1: its payload of 3 bytes is missing or damaged, and it is being written"
        assert await backend.audit() == [sentence]
        assert await backend.repair() == [f"not repaired: {sentence}"]
        await backend.discard(queue, message)
