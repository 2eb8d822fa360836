"""Texts that are made in pieces are those that would be made of the whole."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from queuefs import longtext
from queuefs.clock import Clock
from queuefs.errors import MessageGone, StoreDamaged
from queuefs.longtext import LongText, Texts, joined
from queuefs.message import ROOT, Draft, Owner, QueueId, Room
from queuefs.render import listed_message, message_line
from queuefs_memory import MemoryBackend

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuefs.message import Message

CLOCK = Clock(None)

#: Small enough that a test has many.
PIECE = 6


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(longtext, "PIECE_BYTES", PIECE)


class Store(MemoryBackend):
    """Counts what is read of it."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[tuple[int, int]] = []

    def read(self, queue, message, *, offset, size):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201 - as its base
        self.reads.append((offset, size))
        return super().read(queue, message, offset=offset, size=size)

    def change(self, queue: QueueId, message: Message, payload: bytes) -> None:
        """Let what is stored be something else."""
        self._queue(queue).messages[message.id].data = payload


async def claimed(store: Store, payloads: Sequence[bytes], inline: int = 0) -> tuple[QueueId, Sequence[Message]]:
    """Enqueue and claim messages; payloads longer than *inline* are left in the store."""
    now = CLOCK.now()
    queue = (await store.create_queue(ROOT, "q", owner=Owner(uid=0, gid=0, mode=0o755), now=now)).id
    for payload in payloads:
        message = await store.stage(queue, payload, draft=Draft(), room=Room(), partial=False, now=now)
        await store.publish(queue, message, now=now, window=0)
    return queue, await store.claim(queue, count=len(payloads), lease=300, lifo=False, now=now, inline=inline)


def text_of(store: Store, queue: QueueId, message: Message, *, raw: bool = False) -> bytes | LongText:
    if message.data is not None:
        return message.data if raw else message_line(message, CLOCK)
    return LongText(store, queue, message, None if raw else message_line(replace(message, data=b""), CLOCK))


PAYLOADS = st.one_of(
    st.binary(max_size=50),
    st.text(max_size=50).map(str.encode),
    st.text('\0\x1f"\\/\x7fé☃𝄞\n', max_size=50).map(str.encode),
    st.builds(lambda text, rest: text.encode() + rest, st.text(max_size=20), st.binary(max_size=2)),
)


@given(st.lists(PAYLOADS, max_size=4), st.integers(0, 20), st.integers(1, 40), st.booleans())
async def test_the_text_is_that_of_the_whole(payloads: list[bytes], inline: int, size: int, raw: bool) -> None:  # noqa: FBT001
    store = Store()
    queue, messages = await claimed(store, payloads, inline)
    whole = [replace(message, data=payload) for message, payload in zip(messages, payloads, strict=True)]
    expected = b"".join(payloads) if raw else b"".join(message_line(message, CLOCK) for message in whole)
    text, ends = joined([text_of(store, queue, message, raw=raw) for message in messages], nullcontext())

    if isinstance(text, bytes):
        assert expected == text
    else:
        found = [await text.read(offset, size) for offset in range(0, len(expected) + size, size)]
        assert expected == b"".join(found)
        assert len(expected) == len(text)
        assert [size] * (len(expected) // size) == [len(piece) for piece in found if len(piece) == size]
    begins = [0, *ends]
    assert len(messages) == len(ends)
    parts = [expected[start:end] for start, end in pairwise(begins)]
    assert parts == (payloads if raw else [message_line(message, CLOCK) for message in whole])


@given(PAYLOADS.filter(bool), st.lists(st.tuples(st.integers(0, 400), st.integers(1, 60)), max_size=20))
async def test_every_offset_is_the_same_in_any_order(payload: bytes, reads: list[tuple[int, int]]) -> None:
    store = Store()
    queue, (message,) = await claimed(store, [payload])
    expected = message_line(replace(message, data=payload), CLOCK)
    text = Texts([text_of(store, queue, message)], nullcontext())

    for offset, size in reads:
        assert expected[offset : offset + size] == await text.read(offset, size)


async def test_a_payload_alone_is_read_once() -> None:
    store = Store()
    queue, (message,) = await claimed(store, [b"x" * 20])
    text = Texts([text_of(store, queue, message, raw=True)], nullcontext())

    for offset in range(0, 20, 2):
        assert b"xx" == await text.read(offset, 2)

    assert [(0, 6), (6, 6), (12, 6), (18, 2)] == store.reads


async def test_who_goes_back_a_little_reads_nothing_anew() -> None:
    store = Store()
    queue, (message,) = await claimed(store, [bytes(range(60))])
    text = Texts([text_of(store, queue, message, raw=True)], nullcontext())
    await text.read(0, 60)
    store.reads.clear()

    assert bytes(range(50, 60)) == await text.read(50, 100)
    assert [] == store.reads
    assert bytes(range(10)) == await text.read(0, 10)
    assert [(0, 6), (6, 6)] == store.reads


async def test_of_several_messages_none_is_measured_before_it_is_reached() -> None:
    store = Store()
    queue, messages = await claimed(store, [b"x" * 20] * 3)
    text = Texts([text_of(store, queue, message) for message in messages], nullcontext())
    await text.read(0, 5)

    assert 1 == len(text.ends)
    await text.measure()
    assert 3 == len(text.ends)


async def test_reads_side_by_side_read_each_piece_once() -> None:
    store = Store()
    queue, (message,) = await claimed(store, [b"x" * 12])
    text = Texts([text_of(store, queue, message, raw=True)], trio.Lock())

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(text.read, 0, 12)

    assert [(0, 6), (6, 6)] == store.reads


async def test_a_message_that_is_gone_meanwhile_is_an_error_and_not_its_end() -> None:
    store = Store()
    queue, (message,) = await claimed(store, [b"x" * 20])
    text = Texts([text_of(store, queue, message)], nullcontext())
    begin = await text.read(0, 8)
    await store.ack(queue, [message.receipt], now=CLOCK.now())

    assert b'{"id":"1' == begin
    assert begin == await text.read(0, 8)  # it is kept
    with pytest.raises(MessageGone):
        await text.read(8, 100)


@pytest.mark.parametrize("payload", [b"x" * 19, b"", b"x" * 10 + b"\xff" * 10, b'"' * 20])
async def test_a_payload_that_is_not_what_it_was_is_damage(payload: bytes) -> None:
    store = Store()
    queue, (message,) = await claimed(store, [b"x" * 20])
    text = Texts([text_of(store, queue, message)], nullcontext())
    await text.read(0, 8)
    store.change(queue, message, payload)

    with pytest.raises(StoreDamaged):
        await text.read(0, 1000)


async def test_a_payload_that_ends_early_is_damage_and_not_its_end() -> None:
    store = Store()
    queue, (message,) = await claimed(store, [b"x" * 20])
    store.change(queue, message, b"x" * 19)
    for raw in (False, True):
        text = Texts([text_of(store, queue, message, raw=raw)], nullcontext())
        with pytest.raises(StoreDamaged):
            await text.read(0, 1000)


async def test_an_entry_of_a_list_is_an_object_of_its_own() -> None:
    store = Store()
    payload = 'a "data":"" b☃'.encode() * 3
    queue, (message,) = await claimed(store, [payload])
    line = listed_message(replace(message, data=b""), CLOCK)
    text = LongText(store, queue, message, line)

    size = await text.measure()
    found = b"".join([await text.piece(number) for number in range(text.count)])
    assert size == len(found)
    assert json.loads(line) | {"data": payload.decode()} == json.loads(found)
