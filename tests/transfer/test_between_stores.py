"""From memory into SQLite, into Redis and back: whatever a store holds comes through as it was."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import trio
from hypothesis import HealthCheck, given, settings

from queuefs.errors import BadValue
from queuefs.message import ROOT, MessageId, Ref
from queuefs.registry import open_backend
from queuefs.transfer import Importer, Terms
from queuefs.transfer.fields import PIECE_BYTES
from queuefs_memory import MemoryBackend
from tests.transfer.stores import Content, body_of, contents, dump, fill, lines_of, load, message, new_clock

if TYPE_CHECKING:
    from collections.abc import Callable


def without_births(text: bytes) -> bytes:
    """Return an export without its header and without the times at which queues were made: on Redis they are new."""
    lines = lines_of(body_of(text))
    for line in lines:
        line.pop("created_at", None)
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


@given(content=contents())
@settings(
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_every_store_gives_what_it_was_given(new_store: Callable[[], str], content: list[Content]) -> None:
    async def check() -> None:
        memory, back = MemoryBackend(), MemoryBackend()
        await fill(memory, content)
        text = await dump(memory)
        url = new_store()
        async with open_backend(url) as backend:
            await load(backend, text)
            assert await backend.audit() == []
            copy = await dump(backend)
        await load(back, copy)

        assert without_births(copy) == without_births(text)
        assert body_of(await dump(back)) == body_of(copy)
        async with open_backend(url) as backend:  # and it was stored
            assert body_of(await dump(backend)) == body_of(copy)

    trio.run(check)


async def test_long_payloads_come_through(new_store: Callable[[], str]) -> None:
    memory = MemoryBackend()
    sizes = [PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES, 5 * PIECE_BYTES + 17]
    there = [message(number + 1, (b"%d\xff\n" % number) * size)[0:2] for number, size in enumerate([0, 1])]
    there += [
        message(number + 10, bytes(range(256)) * (size // 256) + b"x" * (size % 256))
        for number, size in enumerate(sizes)
    ]
    await fill(memory, [Content(("jobs",), messages=there)])
    text = await dump(memory)

    async with open_backend(new_store()) as backend:
        await load(backend, text)

        assert without_births(await dump(backend)) == without_births(text)
        assert await backend.audit() == []


async def test_a_holder_acknowledges_after_the_move(new_store: Callable[[], str]) -> None:
    memory = MemoryBackend()
    (queue,) = await fill(memory, [Content(("jobs",), messages=[message(41), message(42)])])
    now = new_clock().now()
    held = await memory.claim(queue, count=2, lease=1e8, lifo=False, now=now)
    text = await dump(memory)

    async with open_backend(new_store()) as backend:
        await load(backend, text)
        (there,) = await backend.children(ROOT)
        settled = await backend.ack(there.id, [held[0].receipt, Ref(MessageId(42), 7), Ref(MessageId(42))], now=now)

        assert [each.value for each in settled] == ["done", "stale", "done"]
        assert (await backend.counts(there.id)).unacked == 0


async def test_a_killed_import_leaves_no_message_in_part(new_store: Callable[[], str]) -> None:
    memory = MemoryBackend()
    await fill(memory, [Content(("jobs",), messages=[message(1), message(2, b"x" * 3 * PIECE_BYTES), message(3)])])
    text = await dump(memory)
    lines = text.splitlines(keepends=True)
    url = new_store()
    async with open_backend(url) as backend:
        await Importer(backend, new_clock()).feed(b"".join(lines[:5]))  # and it never comes back

    async with open_backend(url) as backend:
        await load(backend, text, terms=Terms(resume=True))

        assert without_births(await dump(backend)) == without_births(text)
        assert await backend.audit() == []


async def test_many_messages_are_on_their_way_at_a_time(new_store: Callable[[], str]) -> None:
    memory = MemoryBackend()
    await fill(memory, [Content(("jobs",), messages=[message(number) for number in range(2000, 0, -1)])])
    text = await dump(memory)

    async with open_backend(new_store()) as backend:
        with trio.fail_after(60):
            imported = await load(backend, text, step=10_000)
        assert (imported.messages, await backend.last_id()) == (2000, 2000)


async def test_a_bad_line_ends_it_there(new_store: Callable[[], str]) -> None:
    memory = MemoryBackend()
    await fill(memory, [Content(("jobs",), messages=[message(number) for number in range(1, 1000)])])
    lines = (await dump(memory)).splitlines(keepends=True)

    async with open_backend(new_store()) as backend:
        with pytest.raises(BadValue, match="line 502: "):
            await load(backend, b"".join([*lines[:501], b"{}\n", *lines[501:]]))

        (queue,) = await backend.children(ROOT)
        assert (await backend.counts(queue.id)).pending == 499
