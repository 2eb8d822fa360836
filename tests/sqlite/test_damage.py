"""What an audit finds of damage in the file, and what a repair makes of it; all else goes on."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from queuefs.errors import StoreFull
from queuefs.lifecycle import State
from queuefs.message import Counts, MessageId, QueueId, Ref, Retention, Room
from queuefs.registry import open_backend
from queuefs_sqlite import SQLiteBackend, mending
from queuefs_sqlite.mending import DAMAGED
from queuefs_sqlite.parts import examine
from queuefs_sqlite.payloads import PART_BYTES
from queuefs_sqlite.store import Store
from tests.sqlite.steps import DRAFT, NOW, ROOM, inside, new_queue, opened, put, stage, take

if TYPE_CHECKING:
    from pathlib import Path

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


async def test_holes_in_a_large_payload_are_filled(url: str, path: Path, logs: Logs) -> None:
    """What is behind them stays where it was, and no row is longer than any other."""
    data = BIG * 10
    async with opened(url) as backend:
        queue = await new_queue(backend)
        message = await put(backend, queue, data)
        change(path, "DELETE FROM chunk WHERE position BETWEEN ? AND ?", PART_BYTES, 38 * PART_BYTES - 1)
        logs.expect("payload damaged; the message is dead")
        assert await backend.repair() == [f"message {message}: it is dead, for its payload is damaged"]
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


async def test_steps_that_come_too_late_do_nothing(url: str, path: Path) -> None:
    """Between the look and the steps the message was acknowledged, and its id is another's by now."""
    async with opened(url) as backend:
        queue = await new_queue(backend)
        message = await put_two_parts(backend, queue)
        change(path, "DELETE FROM body")
        store = inside(backend)
        (row,) = store.rows("audit_messages", 0, 9)
        found = examine(store, row)
        steps = [*mending.set_aside(row, found), mending.recount(row, found)]
        await backend.take(queue, [message], lease=9.0, now=NOW)
        await backend.ack(queue, [Ref(message)], now=NOW)
        for step in (*steps, *mending.remove_payload(message, 1)):
            assert not await backend._write(None, step)
        await backend.stage(queue, b"another", draft=DRAFT, room=ROOM, partial=False, now=NOW, message=message)
        for step in (*steps, *mending.remove_payload(message, 1)):
            assert not await backend._write(None, step)
        await backend.publish(queue, message, now=NOW, window=0.0)
        assert [each.data for each in await take(backend, queue)] == [b"another"]


async def test_what_gets_another_life_between_two_steps_is_counted_right(url: str, path: Path, logs: Logs) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        message = await put_two_parts(backend, queue)
        change(path, "DELETE FROM chunk")
        store = inside(backend)
        (row,) = store.rows("audit_messages", 0, 9)
        first, *others = mending.set_aside(row, examine(store, row))
        logs.expect("payload damaged; the message is dead")
        assert await backend._write(None, first)
        await backend.retry(queue, [message], now=NOW)
        for step in others:
            assert await backend._write(None, step)
        assert await backend.unacked_bytes(queue) == len(FIRST)
        assert [each.data for each in await take(backend, queue)] == [FIRST]


async def test_a_repair_goes_on_after_what_it_cant_do(
    url: str, path: Path, logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part that can't be written, on a full disk, is no reason to leave the rest."""
    async with open_backend(url) as backend:
        assert isinstance(backend, SQLiteBackend)
        queue = await new_queue(backend)
        given = [await put_two_parts(backend, queue) for _ in range(2)]
        change(path, "DELETE FROM body")
        logs.expect("payload damaged; the message is dead", count=2)
        run = Store.run

        def failing_run(store: Store, query: str, *values: object) -> sqlite3.Cursor:
            if query == "repair_fill_body" and values[0] == given[0]:
                raise StoreFull
            return run(store, query, *values)

        with monkeypatch.context() as patch:
            patch.setattr(Store, "run", failing_run)
            done = await backend.repair()
        sentence = f"message {given[0]}: its payload of 200 bytes is missing or damaged"
        assert done == [
            f"not repaired: {sentence} (The store has no room left.)",
            f"message {given[1]}: it is dead, for its payload is damaged",
        ]
        assert await backend.audit() == [sentence]


# Rows ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        ("UPDATE messages SET lease_until = 1 WHERE id = 2", "its columns contradict each other"),
        ("UPDATE messages SET partial = 1 WHERE id = 2", "its columns contradict each other"),
        ("UPDATE messages SET cancelled = 1 WHERE id = 2", "its columns contradict each other"),
        ("UPDATE messages SET state = 3 WHERE id = 2", "its columns contradict each other"),
        ("UPDATE messages SET state = 4 WHERE id = 2", "its box 1 is no queue's for such messages"),
        ("UPDATE messages SET box = 2 WHERE id = 2", "its box 2 is no queue's for such messages"),
    ],
)
async def test_a_row_that_contradicts_itself_is_what_its_state_says(
    url: str, path: Path, spoil: str, sentence: str
) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        given = [await put(backend, queue) for _ in range(3)]
        change(path, spoil)
        assert f"message 2: {sentence}" in await backend.audit()
        done = await backend.repair()
        assert [said for said in done if said.startswith("message 2: ")]
        assert await sound(backend)
        there = [message.id for message in (*await take(backend, queue, 9), *await backend.dead(queue))]
        assert sorted(there) == given


async def test_a_lease_without_an_end_is_over(url: str, path: Path) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        await put(backend, queue)
        (claimed,) = await take(backend, queue)
        change(path, "UPDATE messages SET lease_until = NULL")
        assert await backend.repair() == ["message 1: its columns agree"]
        assert [each.receipt for each in (await backend.tick(now=NOW, limit=9)).overdue] == [claimed.receipt]


async def test_what_cant_be_put_right_is_named(url: str, path: Path) -> None:
    async with open_backend(url) as backend:
        assert isinstance(backend, SQLiteBackend)
        queue = await new_queue(backend)
        for _ in range(3):
            await put(backend, queue)
        lost = "INSERT INTO queues (parent, name, uid, gid, mode, created_at, box) VALUES (99, 'lost', 0, 0, 0, 0, 50)"
        change(path, f"UPDATE messages SET box = 77 WHERE id = 1; UPDATE messages SET state = 9 WHERE id = 2; {lost}")
        done = await backend.repair()
        left = await backend.audit()
        assert {f"not repaired: {sentence}" for sentence in left} <= {*done}
        for sentence in (
            "message 1: its box 77 is no queue's for such messages",
            "message 2: its columns contradict each other",
            "queue 2: memory and file disagree",
            "queue 2 ('lost'): its parents do not lead to the root",
        ):
            assert sentence in left
        assert [message.id for message in await take(backend, queue, 9)] == [3]


async def test_records_and_keys_of_nobody_go(url: str, path: Path) -> None:
    keep = Retention(records=9, seconds=9.0)
    async with opened(url) as backend:
        queue = await new_queue(backend)
        for _ in range(3):
            await put(backend, queue)
        claimed = await take(backend, queue, 3)
        await backend.ack(queue, [message.receipt for message in claimed], now=NOW, keep=keep)
        change(path, "UPDATE records SET box = 77 WHERE id = 1; UPDATE records SET status = 'lost' WHERE id = 2")
        change(path, "INSERT INTO keys VALUES (1, 'k', 999, 1.0, 2.0)")
        assert sorted(await backend.audit()) == [
            "key 'k': its window is impossible, or its message 999 was never there",
            "message 2: its record says what none may",
            "queue 1: done is kept as 3 and counted as 2",
            "records: there are some in box 77, which is no queue's for such",
        ]
        assert len(await backend.repair()) == 4
        assert await sound(backend)
        assert [record.id for record in await backend.records(queue, after=None, limit=9, now=NOW)] == [3]


# Counters -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_open", [True, False])
async def test_counters_count_what_is_there(url: str, path: Path, is_open: bool) -> None:  # noqa: FBT001 - a parameter
    """Whether they were changed under the daemon, which knows better, or while there was none."""
    script = (
        "UPDATE queues SET pending = 7, staged = 3, acked = -5, delayed = 2, enqueued = 0, unacked_bytes = 1, done = 4"
    )
    async with opened(url) as backend:
        queue = await new_queue(backend)
        for _ in range(3):
            await put(backend, queue, b"12")
        await take(backend, queue)
        if is_open:
            change(path, script)
            assert await backend.repair() == ["queue 1: the file has now what memory has"]
            assert await sound(backend)
    if not is_open:
        change(path, script)
    async with opened(url) as backend:
        done = await backend.repair()
        expected = {"queue 1: pending is 2, not 7", "queue 1: its totals are the least that they can be"}
        assert is_open or expected < {*done}
        assert await sound(backend)
        stats = await backend.stats(queue)
        assert (stats.pending, stats.processing, stats.delayed, stats.unacked_bytes, stats.enqueued) == (2, 1, 0, 6, 3)
        assert await backend.stage(queue, b"", draft=DRAFT, room=Room(messages=4), partial=False, now=NOW)


async def test_counters_are_corrected_by_the_difference(url: str, path: Path) -> None:
    """Whatever is counted between the look and the step for it stays counted; nothing is done if all is new."""
    async with opened(url) as backend:
        queue = await new_queue(backend)
        await put(backend, queue)
    change(path, "UPDATE queues SET pending = 5")
    async with opened(url) as backend:
        account = inside(backend).ledger.account(queue)
        boxes = (account.box, account.dead_box, account.done_box)
        step = mending.correct(queue, boxes, "pending", -4)
        await put(backend, queue)
        assert await backend._write(None, step)
        assert (await backend.counts(queue)).pending == 2
        await backend.clear(queue)
        assert not await backend._write(None, step)
        assert (await backend.counts(queue)).pending == 0
        await backend.remove_queue(queue)
        for late in (step, mending.raise_totals(queue)):
            assert not await backend._write(None, late)
