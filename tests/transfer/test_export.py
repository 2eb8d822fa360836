"""What an export has, also of a store that changes meanwhile."""

from __future__ import annotations

import base64
import json
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import pytest

from queuefs.errors import QueueNotFound
from queuefs.lifecycle import State
from queuefs.message import Ref, Room, Verdict
from queuefs.transfer import Progress, export
from queuefs.transfer.fields import PIECE_BYTES
from queuefs_memory import MemoryBackend
from tests.transfer.stores import (
    KEEP,
    OWNER,
    START,
    Content,
    dump,
    fill,
    lines_of,
    load,
    message,
    new_clock,
    put,
    record,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from queuefs.message import MessageId

#: Of two of this length the second is read when the first has been written.
LARGE = b"x" * (PIECE_BYTES * 2 // 3)


@pytest.fixture
def backend() -> MemoryBackend:
    return MemoryBackend()


def held(number: int, data: bytes = b"x") -> Any:
    return message(number, data, state=State.PROCESSING, lease_until=START + 60, claims=1, attempt=1)


def ids(text: bytes, what: str = "state") -> list[str]:
    return [line["id"] for line in lines_of(text) if what in line]


async def until(lines: AsyncGenerator[bytes, None], what: str) -> bytes:
    """Return the lines up to the first that contains *what*."""
    text = b""
    async for line in lines:
        text += line
        if what.encode() in line:
            return text
    raise AssertionError(text)


async def rest(lines: AsyncGenerator[bytes, None]) -> bytes:
    return b"".join([line async for line in lines])


async def test_an_empty_store_has_a_header_and_an_end(backend: MemoryBackend) -> None:
    header, totals = lines_of(await dump(backend))

    assert header == {
        "queuefs_export": 1,
        "version": header["version"],
        "exported_at": START,
        "queues": 0,
        "messages": 0,
        "lowest_id": None,
    }
    assert totals == {"totals": {"queues": 0, "messages": 0, "bytes": 0, "records": 0, "gone": 0, "damaged": 0}}


async def test_a_queue_has_its_messages_behind_it(backend: MemoryBackend) -> None:
    contents = [
        Content(
            ("jobs",),
            files={"enqueue": OWNER},
            config=b"retention = 300000000\n",
            messages=[
                message(9, "ü\n".encode(), priority=5, due=START + 60.25, key="k", extra=b'{"timeout":30}'),
                held(3, b"\xff"),
                message(4, b"", state=State.DEAD, reason="why", claims=2, attempt=1, claimed_at=START),
            ],
            records=[record(2, detail=b'{"exit":1}')],
        )
    ]
    await fill(backend, contents)

    header, queue, pending, processing, dead, done, totals = lines_of(await dump(backend, new_clock(ahead=10)))

    assert (header["lowest_id"], header["messages"]) == ("2", 3)
    owner = {"uid": 1000, "gid": 100, "mode": "0750"}
    assert queue == {
        "queue": ["jobs"],
        "owner": owner,
        "created_at": START + 10,
        "config": "retention = 300000000\n",
        "files": {"enqueue": owner},
    }
    assert pending == {
        "id": "9",
        "state": "pending",
        "priority": 5,
        "enqueued_at": START + 10,
        "attempt": 0,
        "claims": 0,
        "due": START + 70.25,
        "key": "k",
        "extra": {"timeout": 30},
        "data": "ü\n",
    }
    assert (processing["lease_until"], processing["data_base64"]) == (START + 70, base64.b64encode(b"\xff").decode())
    assert (dead["claimed_at"], dead["data"], dead["reason"]) == (START + 10, "", "why")
    assert (done["id"], done["status"], done["detail"]) == ("2", "succeeded", {"exit": 1})
    assert totals["totals"] == {"queues": 1, "messages": 3, "bytes": 4, "records": 1, "gone": 0, "damaged": 0}


async def test_some_queues_come_with_what_they_are_in_and_what_is_below(backend: MemoryBackend) -> None:
    paths = [("a",), ("a", "b"), ("a", "b", "c"), ("a", "d"), ("e",)]
    await fill(backend, [Content(path, messages=[message(number + 1)]) for number, path in enumerate(paths)])

    text = await dump(backend, roots=[("a", "b"), ("a", "b", "c")])

    assert [line["queue"] for line in lines_of(text) if "queue" in line] == [["a"], ["a", "b"], ["a", "b", "c"]]
    assert ids(text) == ["2", "3"]
    assert lines_of(text)[0]["lowest_id"] == "2"


async def test_a_queue_that_is_not_there_is_named(backend: MemoryBackend) -> None:
    await fill(backend, [Content(("a",))])

    with pytest.raises(QueueNotFound, match="a/b"):
        await dump(backend, roots=[("a", "b")])


async def test_a_long_payload_is_cut(backend: MemoryBackend) -> None:
    data = bytes(range(256)) * (PIECE_BYTES // 128) + b"end"
    await fill(backend, [Content(("jobs",), messages=[message(1), message(2, data), message(3)])])

    text = await dump(backend)

    pieces = [line for line in lines_of(text) if "at" in line]
    assert [piece["at"] for piece in pieces] == [0, PIECE_BYTES, 2 * PIECE_BYTES]
    assert b"".join(base64.b64decode(piece["data_base64"]) for piece in pieces) == data
    assert ids(text) == ["1", "2", "3"]
    assert [line.get("size") for line in lines_of(text) if "state" in line] == [None, len(data), None]
    other = MemoryBackend()
    await load(other, text)
    assert (await other.payloads((await other.children(0))[0].id, [2]))[0] == data  # type: ignore[arg-type,list-item]


async def test_what_extra_is_not_an_object_is_damaged(backend: MemoryBackend) -> None:
    await fill(backend, [Content(("jobs",), messages=[message(7, extra=b"\xffrubbish")])])

    *_, there, totals = lines_of(await dump(backend))

    assert there["damaged"] is True
    assert "extra" not in there
    assert (totals["totals"]["damaged"], totals["damaged"]) == (1, ["7"])


async def test_progress_can_be_watched(backend: MemoryBackend) -> None:
    await fill(backend, [Content(("jobs",), messages=[message(1), message(2)])])
    progress = Progress()

    async with aclosing(export(backend, new_clock(), progress=progress)) as lines:
        await until(lines, '"state"')

        assert progress.header is not None
        assert progress.header.messages == 2
        assert progress.totals.messages == 1


async def test_what_is_gone_before_it_was_read_is_counted(backend: MemoryBackend) -> None:
    (queue,) = await fill(backend, [Content(("jobs",), messages=[held(1, LARGE), held(2, LARGE)])])

    async with aclosing(export(backend, new_clock())) as lines:
        text = await until(lines, '"state"')
        await backend.ack(queue, [Ref(_id(2))], now=START, keep=KEEP)
        text += await rest(lines)

    assert ids(text) == ["1"]
    assert lines_of(text)[-1]["totals"]["gone"] == 1


async def test_a_message_that_came_back_behind_the_look_is_not_missed(backend: MemoryBackend) -> None:
    contents = [Content(("jobs",), messages=[message(5, LARGE), message(6, LARGE), held(2)])]
    (queue,) = await fill(backend, contents)

    async with aclosing(export(backend, new_clock())) as lines:
        text = await until(lines, '"state"')
        await backend.nack(queue, [Verdict(ref=Ref(_id(2)))], now=START)
        text += await rest(lines)

    assert ids(text) == ["5", "6", "2"]
    await load(MemoryBackend(), text)


async def test_a_message_is_there_once_though_it_is_met_twice(backend: MemoryBackend) -> None:
    (queue,) = await fill(backend, [Content(("jobs",), messages=[message(5, LARGE), message(6, LARGE)])])

    async with aclosing(export(backend, new_clock())) as lines:
        text = await until(lines, '"state"')
        await backend.claim(queue, count=2, lease=60, lifo=False, now=START)
        text += await rest(lines)

    assert ids(text) == ["5", "6"]


async def test_a_message_that_was_moved_behind_the_look_is_not_missed(backend: MemoryBackend) -> None:
    contents = [Content(("a",)), Content(("b",), messages=[message(5, LARGE), message(6, LARGE)])]
    first, second = await fill(backend, contents)

    async with aclosing(export(backend, new_clock())) as lines:
        text = await until(lines, '"state"')
        await backend.move(second, _id(6), target=first, room=Room())
        text += await rest(lines)

    assert ids(text) == ["5", "6"]
    assert lines_of(text)[-1]["totals"]["gone"] == 0
    other = MemoryBackend()
    await load(other, text)
    assert [(await other.counts(queue.id)).pending for queue in await other.children(0)] == [1, 1]  # type: ignore[arg-type]


async def test_what_comes_after_the_beginning_is_left_out(backend: MemoryBackend) -> None:
    (queue,) = await fill(backend, [Content(("jobs",), messages=[message(5, LARGE)])])

    async with aclosing(export(backend, new_clock())) as lines:
        text = await until(lines, '"queue"')
        await put(backend, queue, *message(6))
        text += await rest(lines)

    assert ids(text) == ["5"]


async def test_of_a_message_that_is_done_meanwhile_there_is_what_it_was(backend: MemoryBackend) -> None:
    (queue,) = await fill(backend, [Content(("jobs",), messages=[held(5)])])

    async with aclosing(export(backend, new_clock())) as lines:
        text = await until(lines, '"state"')
        await backend.ack(queue, [Ref(_id(5))], now=START, keep=KEEP)
        text += await rest(lines)

    assert (ids(text), ids(text, "status")) == (["5"], [])


async def test_a_queue_that_is_removed_meanwhile_ends_nothing(backend: MemoryBackend) -> None:
    contents = [Content(("a",), messages=[message(1)]), Content(("b",)), Content(("c",), messages=[message(2)])]
    queues = await fill(backend, contents)

    async with aclosing(export(backend, new_clock())) as lines:
        text = await until(lines, '"state"')
        await backend.remove_queue(queues[1])
        text += await rest(lines)

    assert ids(text) == ["1", "2"]


async def test_a_long_message_that_goes_away_in_the_middle_is_not_imported(backend: MemoryBackend) -> None:
    (queue,) = await fill(backend, [Content(("jobs",), messages=[held(1, LARGE * 3), held(2)])])

    async with aclosing(export(backend, new_clock())) as lines:
        text = await until(lines, '"at"')
        await backend.ack(queue, [Ref(_id(1))], now=START)
        text += await rest(lines)

    assert {"id": "1", "gone": True} in lines_of(text)
    other = MemoryBackend()
    imported = await load(other, text)
    assert (imported.messages, ids(text)) == (1, ["2"])
    assert await other.audit() == []


async def test_each_line_is_json_of_its_own(backend: MemoryBackend) -> None:
    await fill(backend, [Content(("a\nb",), messages=[message(1, b"\n\xe2\x80\xa8\0\x85", reason="a\nb")])])

    text = await dump(backend)

    assert len([json.loads(line) for line in text.split(b"\n")[:-1]]) == 4


def _id(number: int) -> MessageId:
    return message(number)[0].id
