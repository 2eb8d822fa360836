"""What an import does, and what it refuses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queuefs.errors import BadValue, IdInUse, IdsExhausted, MessageNotFound
from queuefs.lifecycle import State
from queuefs.message import MAX_MESSAGE_ID, ROOT, MessageId, Room, Status
from queuefs.transfer import Importer, Terms
from queuefs.transfer.fields import LONGEST_LINE, PIECE_BYTES
from queuefs.transfer.restoring import DAMAGED
from queuefs_memory import MemoryBackend
from tests.transfer.stores import (
    CONFIG,
    KEEP,
    OWNER,
    START,
    Content,
    body_of,
    dump,
    fill,
    lines_of,
    load,
    message,
    new_clock,
    record,
)

if TYPE_CHECKING:
    from queuefs.backend import Backend

LONG = bytes(range(256)) * (PIECE_BYTES // 64)

CONTENTS = [
    Content(
        ("jobs",),
        messages=[
            message(9, b"nine", priority=5),
            message(3, b"three"),
            message(7, LONG),
            message(4, b"", state=State.PROCESSING, lease_until=START + 60, claims=2, attempt=1, claimed_at=START),
            message(5, b"\xff", state=State.DEAD, reason="why"),
        ],
        records=[record(2), record(1)],
    ),
    Content(("jobs", "mail"), files={"enqueue": OWNER}, messages=[message(8)]),
]


@pytest.fixture
def backend() -> MemoryBackend:
    return MemoryBackend()


@pytest.fixture
async def text() -> bytes:
    """An export."""
    source = MemoryBackend()
    await fill(source, CONTENTS)
    return await dump(source)


def changed(text: bytes, id: str, **fields: Any) -> bytes:  # noqa: A002 - a line's name for it
    """Return *text* with other fields in one message."""
    lines = lines_of(text)
    for line in lines:
        if "state" in line and line["id"] == id:
            line.update(fields)
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


async def ids(backend: Backend) -> list[int]:
    """Return the ids of all messages of the queue jobs, in their order."""
    (queue,) = await backend.children(ROOT)
    return [each.id for each in await backend.snapshot(queue.id)]


@given(step=st.integers(1, 5000))
@settings(deadline=None)
async def test_it_may_come_in_pieces_of_any_length(step: int) -> None:
    source, backend = MemoryBackend(), MemoryBackend()
    await fill(source, [Content(("jobs",), messages=[message(number, b"x" * number) for number in range(1, 40)])])
    text = await dump(source)

    imported = await load(backend, text, step=step)

    assert (imported.queues, imported.messages, imported.bytes) == (1, 39, 780)
    assert body_of(await dump(backend)) == body_of(text)


async def test_it_says_what_it_did(backend: MemoryBackend, text: bytes) -> None:
    imported = await load(backend, text)

    assert str(imported) == "2 new queues, 6 messages, 2 records"


async def test_the_last_newline_may_be_missing(backend: MemoryBackend, text: bytes) -> None:
    await load(backend, text[:-1])

    assert body_of(await dump(backend)) == body_of(text)


async def test_an_export_without_its_end_is_refused_wherever_it_ends(text: bytes) -> None:
    whole = text.splitlines(keepends=True)
    for count in range(len(whole)):
        for part in (b"", whole[count][: len(whole[count]) // 2]):
            backend = MemoryBackend()
            with pytest.raises(BadValue, match="has lost its end"):
                await load(backend, b"".join(whole[:count]) + part)
            assert await backend.audit() == []


async def test_what_came_before_a_bad_line_is_done_and_nothing_after_it(backend: MemoryBackend, text: bytes) -> None:
    importer = Importer(backend, new_clock())

    with pytest.raises(BadValue, match=r"^line 4: Expected `int` <= 100000 - at `\$.priority`$"):
        await importer.feed(changed(text, "3", priority=100_001))

    assert await ids(backend) == [9]
    assert str(importer.imported) == "1 new queue, 1 message, 0 records"
    assert await backend.audit() == []


@pytest.mark.parametrize("count", range(1, 4))
async def test_a_message_of_which_a_part_came_is_taken_back(backend: MemoryBackend, text: bytes, count: int) -> None:
    lines = text.splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if b'"at"' in line)

    with pytest.raises(BadValue):
        await load(backend, b"".join(lines[: first + count]) + b"rubbish\n")

    (queue,) = await backend.children(ROOT)
    with pytest.raises(MessageNotFound):
        await backend.append(queue.id, MessageId(7), b"", offset=count * PIECE_BYTES, partial=True, room=Room())


async def refused(backend: MemoryBackend, lines: list[dict[str, Any]]) -> str:
    with pytest.raises(BadValue) as error:
        await load(backend, b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    return str(error.value)


async def test_lines_stand_where_they_can(backend: MemoryBackend, text: bytes) -> None:
    header, queue, nine, three, *_, totals = lines_of(text)
    first, second, third, fourth, seven = lines_of(text)[4:9]

    first_line = "the first line of an export, and no other, has queuefs_export"
    assert await refused(backend, [queue, header]) == f"line 1: {first_line}"
    assert await refused(backend, [header, header]) == f"line 2: {first_line}"
    assert await refused(backend, [header, nine]) == "line 2: no queue came before"
    assert "the first piece of message 7 did not" in await refused(backend, [header, queue, second])
    assert "the pieces of message 7 did not" in await refused(backend, [header, queue, seven])
    assert "the first piece of message 7 did not" in await refused(backend, [header, queue, {"id": "7", "gone": True}])
    assert "byte 1048576 should be next" in await refused(MemoryBackend(), [header, queue, first, third])
    assert "it does not follow" in await refused(MemoryBackend(), [header, queue, first, three])
    short = await refused(MemoryBackend(), [header, queue, first, seven])
    assert short == "line 4: message 7: 1048576 bytes came, and it should have 4194304"
    assert fourth["at"] == 3 * PIECE_BYTES
    totals["totals"] |= {"queues": 1, "messages": 1, "records": 0}
    after = await refused(MemoryBackend(), [header, queue, nine, totals, three])
    assert after == "line 5: it comes after the end"
    twice = await refused(MemoryBackend(), [header, queue, nine, nine])
    assert twice == "line 4: the id 9 came before"


@pytest.mark.parametrize("what", ["queues", "messages", "records"])
async def test_an_export_that_lacks_something_is_refused(backend: MemoryBackend, text: bytes, what: str) -> None:
    *lines, totals = lines_of(text)
    count = totals["totals"][what]
    totals["totals"][what] = count + 1

    assert f"had {count + 1} {what}, and {count} came" in await refused(backend, [*lines, totals])


async def test_a_line_without_an_end_is_refused_before_it_fills_the_memory(backend: MemoryBackend) -> None:
    with pytest.raises(BadValue, match="line 1: longer than"):
        await load(backend, b"x" * 2 * LONGEST_LINE)


async def test_a_queue_whose_parent_is_missing_is_refused(backend: MemoryBackend, text: bytes) -> None:
    header, *_, mail, _, _ = lines_of(text)

    assert "line 2: the queue jobs, which it is in," in await refused(backend, [header, mail])


async def test_queues_that_are_there_are_used_as_they_are(backend: MemoryBackend, text: bytes) -> None:
    await fill(backend, [Content(("jobs",), config=b"lease = 5\n")])

    imported = await load(backend, text)

    (queue,) = await backend.children(ROOT)
    assert queue.config == b"lease = 5\n"
    assert (imported.queues, imported.known_queues) == (1, 1)


async def test_their_config_may_be_overwritten(backend: MemoryBackend, text: bytes) -> None:
    await fill(backend, [Content(("jobs",), config=b"lease = 5\nretain = 3\n")])

    await load(backend, text, terms=Terms(overwrite_config=True))

    (queue,) = await backend.children(ROOT)
    assert queue.config == b"lease = 5\nretain = 1000\nretention = 300000000\n"


async def test_room_is_not_asked_for(backend: MemoryBackend, text: bytes) -> None:
    await fill(backend, [Content(("jobs",), config=CONFIG + b"max_messages = 1\nmax_bytes = 1\n")])

    await load(backend, text)

    assert len(await ids(backend)) == 4


# Ids ---------------------------------------------------------------------------------------------------------------


async def test_a_store_that_gave_such_ids_is_refused_before_anything_is_done(text: bytes) -> None:
    backend = MemoryBackend()
    await fill(backend, [Content(("other",), messages=[message(1)])])
    before = await dump(backend)

    with pytest.raises(IdInUse, match=r"given ids up to 1, and the export's begin at 1: --renumber .* --resume"):
        await load(backend, text)

    assert await dump(backend) == before


async def test_a_store_that_gave_lower_ids_only_takes_them(backend: MemoryBackend) -> None:
    source = MemoryBackend()
    await fill(source, [Content(("jobs",), messages=[message(100)])])
    await fill(backend, [Content(("other",), messages=[message(99)])])

    await load(backend, await dump(source))

    assert await backend.last_id() == 100


async def test_an_id_below_the_headers_lowest_is_refused_if_it_may_be_in_use(backend: MemoryBackend) -> None:
    source = MemoryBackend()
    await fill(source, [Content(("jobs",), messages=[message(100), message(5)])])
    await fill(backend, [Content(("other",), messages=[message(50)])])
    text = (await dump(source)).replace(b'"lowest_id":"5"', b'"lowest_id":"100"')

    with pytest.raises(IdInUse, match="line 3: this store may have given the id 5"):
        await load(backend, text)


async def test_renumbered_messages_keep_their_order_and_get_ids_of_this_store(text: bytes) -> None:
    backend = MemoryBackend()
    await fill(backend, [Content(("jobs",), messages=[message(20), message(7)])])

    imported = await load(backend, text, terms=Terms(renumber=True))

    assert await ids(backend) == [29, 7, 20, 23, 24, 27]
    assert imported.shift == 20
    assert "; ids are 20 higher" in str(imported)
    assert (await backend.last_id()) == 29


async def test_ids_that_were_never_given_here_are_kept(backend: MemoryBackend, text: bytes) -> None:
    imported = await load(backend, text, terms=Terms(renumber=True))

    assert (imported.shift, await ids(backend)) == (0, [9, 3, 4, 7])


async def test_new_ids_do_not_grow_with_the_old_ones(backend: MemoryBackend) -> None:
    source = MemoryBackend()
    await fill(source, [Content(("jobs",), messages=[message(2**60), message(2**60 + 1)])])
    await fill(backend, [Content(("other",), messages=[message(2**61)])])

    await load(backend, await dump(source), terms=Terms(renumber=True))

    last = await backend.last_id()
    assert last is not None
    assert 0 < last - 2**61 < 2**33


async def test_ids_may_be_exhausted(backend: MemoryBackend, text: bytes) -> None:
    backend._last_id = MAX_MESSAGE_ID - 1

    with pytest.raises(IdsExhausted, match="line 3: "):
        await load(backend, text, terms=Terms(renumber=True))


# Going on ----------------------------------------------------------------------------------------------------------


async def test_an_import_that_was_broken_off_is_gone_on_with(text: bytes) -> None:
    lines = text.splitlines(keepends=True)
    for count in range(1, len(lines)):
        backend = MemoryBackend()
        with pytest.raises(BadValue, match="lost its end"):
            await load(backend, b"".join(lines[:count]))
        there = (await backend.last_id()) is not None and sum("state" in each for each in lines_of(text)[:count])

        imported = await load(backend, text, terms=Terms(resume=True))

        assert body_of(await dump(backend)) == body_of(text)
        assert imported.skipped == there


async def test_what_was_done_since_is_not_done_again(backend: MemoryBackend, text: bytes) -> None:
    await load(backend, text)
    (queue,) = await backend.children(ROOT)
    (first,) = await backend.claim(queue.id, count=1, lease=60, lifo=False, now=START)
    await backend.ack(queue.id, [first.receipt], now=START, keep=KEEP)

    imported = await load(backend, text, terms=Terms(resume=True))

    assert (imported.messages, imported.skipped) == (0, 6)
    assert 9 not in await ids(backend)


async def test_a_message_that_a_killed_import_left_in_part_is_written_anew(backend: MemoryBackend, text: bytes) -> None:
    importer = Importer(backend, new_clock())
    lines = text.splitlines(keepends=True)
    await importer.feed(b"".join(lines[:6]))

    await load(backend, text, terms=Terms(resume=True))

    assert body_of(await dump(backend)) == body_of(text)


async def test_to_go_on_with_another_export_is_refused(backend: MemoryBackend, text: bytes) -> None:
    await fill(backend, [Content(("jobs",), messages=[message(9, b"another")])])

    with pytest.raises(BadValue, match="message 9 is another one here"):
        await load(backend, text, terms=Terms(resume=True))

    assert await ids(backend) == [9]


# Leases and damage -------------------------------------------------------------------------------------------------


async def test_who_holds_a_message_can_acknowledge_it_after_the_move(backend: MemoryBackend, text: bytes) -> None:
    await load(backend, text)

    (queue,) = await backend.children(ROOT)
    (held,) = await backend.find(queue.id, [MessageId(4)])
    assert held is not None
    assert (str(held.receipt), held.lease_until) == ("4.2", START + 60)


async def test_messages_in_processing_may_be_released(backend: MemoryBackend, text: bytes) -> None:
    await load(backend, text, terms=Terms(release=True))

    (queue,) = await backend.children(ROOT)
    (free,) = await backend.find(queue.id, [MessageId(4)])
    assert free is not None
    assert (free.state, free.lease_until, free.attempt, free.claims) == (State.PENDING, None, 1, 2)
    assert await ids(backend) == [9, 3, 4, 7]


@pytest.mark.parametrize("data", [b"x", LONG])
async def test_a_cancelled_message_that_is_released_is_over(backend: MemoryBackend, data: bytes) -> None:
    source = MemoryBackend()
    held = message(4, data, state=State.PROCESSING, lease_until=START + 60, claims=2, attempt=1, cancelled=True)
    await fill(source, [Content(("jobs",), messages=[held])])

    imported = await load(backend, await dump(source), terms=Terms(release=True))

    (queue,) = await backend.children(ROOT)
    (done,) = await backend.records(queue.id, after=None, limit=9, now=START)
    assert (done.id, done.status, done.size, done.attempt) == (4, Status.CANCELLED, len(data), 1)
    assert (imported.messages, imported.records) == (0, 1)
    assert await ids(backend) == []
    assert await backend.audit() == []


@pytest.mark.parametrize("number", [3, 7, 4, 5])
async def test_a_damaged_message_is_dead(backend: MemoryBackend, text: bytes, number: int) -> None:
    imported = await load(backend, changed(text, str(number), damaged=True))

    (queue,) = await backend.children(ROOT)
    (dead,) = await backend.find(queue.id, [MessageId(number)])
    assert dead is not None
    assert (dead.state, dead.reason, dead.lease_until) == (State.DEAD, DAMAGED, None)
    assert imported.damaged == 1
    assert str(imported) == "2 new queues, 6 messages, 2 records; 1 of the messages is damaged, and dead"
    assert await backend.audit() == []


# Looking only ------------------------------------------------------------------------------------------------------


async def test_a_dry_run_does_nothing_and_says_what_it_would(backend: MemoryBackend, text: bytes) -> None:
    await fill(backend, [Content(("jobs",), config=b"")])
    before = await dump(backend)

    imported = await load(backend, text, terms=Terms(dry_run=True, overwrite_config=True))

    assert str(imported) == "1 new queue, 6 messages, 2 records"
    assert await dump(backend) == before


async def test_a_dry_run_sees_what_is_there_already(backend: MemoryBackend, text: bytes) -> None:
    await load(backend, text)

    imported = await load(backend, text, terms=Terms(dry_run=True, resume=True))

    assert (imported.messages, imported.skipped) == (0, 6)


async def test_a_dry_run_finds_what_is_wrong(backend: MemoryBackend, text: bytes) -> None:
    with pytest.raises(BadValue, match="line 4"):
        await load(backend, changed(text, "3", attempt=-1), terms=Terms(dry_run=True))

    assert await backend.children(ROOT) == []
