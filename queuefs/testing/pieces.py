"""The contract of payloads in pieces: what is not read with its message, and how it is read then."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from queuefs.lifecycle import State
from queuefs.message import MAX_MESSAGE_ID, MessageId, QueueId, Ref
from queuefs.testing.base import (
    ANY,
    KEEP,
    LEASE,
    START,
    Contract,
    bury,
    new_queue,
    pending,
    publish,
    put,
    put_dead,
    stage,
    take_one,
)

if TYPE_CHECKING:
    from queuefs.backend import Backend

#: A payload that no store keeps in one row or value alone, as it comes in these cuts.
BIG = random.Random(6).randbytes(300_000)  # noqa: S311 - the same each time
CUTS = [0, 1, 1, 4096, 65536, 65537, 131_072, 200_000, 299_999, 300_000]

#: Where pieces begin and end that lie within a cut, on its edges, or across some.
EDGES = [0, 1, 2, 4095, 4096, 4097, 65535, 65536, 65537, 65538, 131_071, 150_000, 200_001, 299_998, 299_999, 300_000]


async def put_big(backend: Backend, queue: QueueId, *, priority: int = 0) -> MessageId:
    """Put a message that comes in many pieces."""
    message = await stage(backend, queue, BIG[: CUTS[1]], priority=priority, partial=True)
    for begin, end in pairwise(CUTS[1:]):
        await backend.append(queue, message, BIG[begin:end], offset=begin, partial=end < len(BIG), room=ANY)
    assert await publish(backend, queue, message) == message
    return message


class PieceContract(Contract):
    """`read`, and claims and looks that leave long payloads where they are."""

    async def test_a_piece_is_what_stands_there(self, backend: Backend, queue: QueueId) -> None:
        """Wherever it begins and ends, whatever the pieces were in which the message came."""
        message = await put_big(backend, queue)
        for offset in EDGES:
            for end in EDGES:
                if offset <= end:
                    piece = await backend.read(queue, message, offset=offset, size=end - offset)
                    assert piece == BIG[offset:end], (offset, end)

    async def test_fewer_bytes_than_asked_come_only_at_the_end(self, backend: Backend, queue: QueueId) -> None:
        """And none behind it."""
        short, empty = await put(backend, queue, b"hello"), await put(backend, queue, b"")
        big = await put_big(backend, queue)
        for message, data in ((short, b"hello"), (empty, b""), (big, BIG)):
            length = len(data)
            assert await backend.read(queue, message, offset=0, size=length + 1000) == data
            assert await backend.read(queue, message, offset=max(0, length - 3), size=99) == data[-3:]
            for offset in (length, length + 1, 10**12):
                assert await backend.read(queue, message, offset=offset, size=99) == b""
            assert await backend.read(queue, message, offset=0, size=0) == b""

    async def test_every_state_that_is_shown_can_be_read(self, backend: Backend, queue: QueueId) -> None:
        """Pending, paused, in processing and dead; staged ones, another queue's and those that are gone are None."""
        other = await new_queue(backend, "other")
        elsewhere = await put(backend, other, b"abc")
        dead = await put_dead(backend, queue, b"abc")
        big = await put_big(backend, queue)
        await bury(backend, queue, await take_one(backend, queue))
        held, paused = await put(backend, queue, b"abc"), await put(backend, queue, b"abc")
        claimed = await take_one(backend, queue)
        await backend.pause(queue, [paused])
        for message in (dead.id, held, paused):
            assert await backend.read(queue, message, offset=1, size=9) == b"bc"
        assert await backend.read(queue, big, offset=65530, size=10) == BIG[65530:65540]
        staged = await stage(backend, queue, b"abc")
        for message in (staged, elsewhere, MessageId(MAX_MESSAGE_ID)):
            assert await backend.read(queue, message, offset=0, size=9) is None
        await backend.ack(queue, [claimed.receipt], now=START, keep=KEEP)
        await backend.drop(queue, [big])
        await backend.cancel(queue, [paused], now=START)
        for message in (held, big, paused):
            assert await backend.read(queue, message, offset=0, size=9) is None

    @pytest.mark.parametrize("inline", [0, 3, 70_000])
    async def test_longer_payloads_are_left_where_they_are(self, backend: Backend, queue: QueueId, inline: int) -> None:
        """Their ``data`` is None and their size is right, for a look as for a claim; the others come along."""
        payloads = [b"", b"abc", b"abcd", BIG[:70_000], BIG[:70_001]]
        given = [await put(backend, queue, data) for data in payloads]
        given.append(await put_big(backend, queue))
        payloads.append(BIG)
        expected = [(len(data), data if len(data) <= inline else None) for data in payloads]
        peeked = await backend.peek(queue, count=9, lifo=False, now=START, inline=inline)
        claimed = await backend.claim(queue, count=9, lease=LEASE, lifo=False, now=START, inline=inline)
        for found in (peeked, claimed):
            assert [message.id for message in found] == given
            assert [(message.size, message.data) for message in found] == expected
        for message, data in zip(claimed, payloads, strict=True):
            assert await backend.read(queue, message.id, offset=0, size=len(data)) == data
        assert list(await backend.payloads(queue, given)) == payloads

    async def test_without_a_limit_all_come_along(self, backend: Backend, queue: QueueId) -> None:
        """However long they are."""
        await put_big(backend, queue)
        (peeked,) = await backend.peek(queue, count=1, lifo=False, now=START, inline=None)
        assert peeked.data == BIG
        (claimed,) = await backend.claim(queue, count=1, lease=LEASE, lifo=False, now=START, inline=None)
        assert claimed.data == BIG

    @pytest.mark.usefixtures("only_durable")
    async def test_what_is_not_read_is_not_checked(self, backend: Backend, queue: QueueId, url: str) -> None:
        """A payload that is not what was put in stops no claim that leaves it where it is; others skip it."""
        bad = await put(backend, queue, b"first!!!")
        await self.damage_payload(backend, url, bad)
        good = await put(backend, queue, b"good")
        assert [each.id for each in await backend.peek(queue, count=9, lifo=False, now=START, inline=8)] == [good]
        (shown, other) = await backend.peek(queue, count=9, lifo=False, now=START, inline=7)
        assert [(each.id, each.size, each.data) for each in (shown, other)] == [(bad, 8, None), (good, 4, b"good")]
        (claimed,) = await backend.claim(queue, count=1, lease=LEASE, lifo=False, now=START, inline=7)
        assert (claimed.id, claimed.data, claimed.state) == (bad, None, State.PROCESSING)
        await backend.undo(queue, [Ref(bad)], now=START)
        (claimed,) = await backend.claim(queue, count=9, lease=LEASE, lifo=False, now=START, inline=8)
        assert claimed.id == good
        assert await pending(backend, queue) == [bad]
        await backend.clear(queue)
