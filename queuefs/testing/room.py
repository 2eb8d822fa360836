# ruff: noqa: PLR2004 - the numbers are sums of the sizes written above them
"""The contract of room: what a queue may hold, to the message and to the byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from queuefs.errors import QueueFull
from queuefs.message import MAX_MESSAGE_ID, Counts, Draft, MessageId, QueueId, Ref, Room, Verdict
from queuefs.testing.base import (
    ANY,
    BRIEF,
    LATER,
    START,
    Contract,
    lose,
    nack,
    new_queue,
    publish,
    put,
    put_dead,
    stage,
    take_one,
)

if TYPE_CHECKING:
    from queuefs.backend import Backend

#: Room for three messages, or for ten bytes.
THREE = Room(messages=3)
TEN = Room(bytes=10)

#: What takes a message of six bytes out of what is held, by name, and how.
FREEING = ["ack", "cancel", "clear", "discard", "lapse", "bury", "give way"]

#: What leaves it there.
KEEPING = ["claim", "nack", "undo", "lose", "extend", "pause", "mark", "publish"]


async def free(backend: Backend, queue: QueueId, how: str) -> None:
    """Put a message of six bytes into the queue, and let it leave again."""
    if how == "lapse":
        await put(backend, queue, b"sixsix", draft=Draft(ttl=BRIEF))
        assert (await backend.tick(now=LATER, limit=10)).lapsed
        return
    if how == "bury":
        await put_dead(backend, queue, b"sixsix")
        return
    if how == "give way":
        first = await put(backend, queue, b"", draft=Draft(key="key"))
        second = await stage(backend, queue, b"sixsix", draft=Draft(key="key"))
        assert await publish(backend, queue, second) == first
        await backend.cancel(queue, [first], now=START)
        return
    message = await stage(backend, queue, b"sixsix")
    if how == "discard":
        await backend.discard(queue, message)
        return
    await publish(backend, queue, message)
    match how:
        case "ack":
            await backend.ack(queue, [(await take_one(backend, queue)).receipt], now=START)
        case "cancel":
            await backend.cancel(queue, [message], now=START)
        case _:
            await backend.clear(queue)


async def keep(backend: Backend, queue: QueueId, how: str) -> None:
    """Put a message of six bytes into the queue, and let it make a step that leaves it there."""
    message = await put(backend, queue, b"sixsix")
    if how == "publish":
        return
    if how == "pause":
        await backend.pause(queue, [message])
        return
    if how == "lose":
        await lose(backend, queue)
        return
    await take_one(backend, queue)
    refs = [Ref(message)]
    match how:
        case "nack":
            await nack(backend, queue, refs)
        case "undo":
            await backend.undo(queue, refs, now=START)
        case "extend":
            await backend.extend(queue, refs, lease=1.0, now=START)
        case "mark":
            await backend.cancel(queue, [message], now=START)


class RoomContract(Contract):
    """Room: what `stage` and `append` refuse."""

    async def test_messages_are_counted_in_every_state_but_the_dead(self, backend: Backend, queue: QueueId) -> None:
        """Staged, pending and processing ones together are at most as many as there is room for; the dead take none."""
        await put_dead(backend, queue)
        await put(backend, queue)
        await take_one(backend, queue)
        await put(backend, queue)
        staged = await stage(backend, queue, room=THREE)
        with pytest.raises(QueueFull):
            await stage(backend, queue, b"", room=THREE)
        await publish(backend, queue, staged)
        with pytest.raises(QueueFull):
            await stage(backend, queue, b"", room=THREE)
        await stage(backend, queue, b"", room=Room(messages=4))

    async def test_bytes_are_counted_in_every_state_but_the_dead(self, backend: Backend, queue: QueueId) -> None:
        """As messages are; a message that fills the room to its last byte fits."""
        await put_dead(backend, queue, b"x" * 1000)
        await put(backend, queue, b"abc")
        await take_one(backend, queue)
        await put(backend, queue, b"abc")
        await stage(backend, queue, b"abc")
        with pytest.raises(QueueFull):
            await stage(backend, queue, b"ab", room=TEN)
        await stage(backend, queue, b"a", room=TEN)
        with pytest.raises(QueueFull):
            await stage(backend, queue, b"a", room=TEN)
        await stage(backend, queue, b"", room=TEN)

    async def test_both_limits_hold(self, backend: Backend, queue: QueueId) -> None:
        """Whichever is met first."""
        both = Room(messages=2, bytes=10)
        with pytest.raises(QueueFull):
            await stage(backend, queue, b"x" * 11, room=both)
        await stage(backend, queue, b"x" * 5, room=both)
        with pytest.raises(QueueFull):
            await stage(backend, queue, b"x" * 6, room=both)
        await stage(backend, queue, b"x" * 5, room=both)
        with pytest.raises(QueueFull):
            await stage(backend, queue, b"", room=both)

    async def test_none_is_no_limit(self, backend: Backend, queue: QueueId) -> None:
        """0 messages, or 0 bytes, is as many as there are."""
        for _ in range(4):
            await put(backend, queue, b"x" * 100)
        await stage(backend, queue, b"x" * 100, room=Room(messages=5))
        await stage(backend, queue, b"x" * 100, room=Room(bytes=600))
        await stage(backend, queue, b"x" * 100, room=ANY)

    async def test_what_is_appended_has_to_fit_too(self, backend: Backend, queue: QueueId) -> None:
        """Over the limit nothing is stored; the same message goes on with what fits, and is published whole."""
        await put(backend, queue, b"abc")
        message = await stage(backend, queue, b"de", room=TEN)
        await backend.append(queue, message, b"f", offset=2, partial=False, room=TEN)
        with pytest.raises(QueueFull):
            await backend.append(queue, message, b"12345", offset=3, partial=True, room=TEN)
        await backend.append(queue, message, b"ghij", offset=3, partial=False, room=TEN)
        with pytest.raises(QueueFull):
            await backend.append(queue, message, b"k", offset=7, partial=False, room=TEN)
        await backend.append(queue, message, b"", offset=7, partial=False, room=TEN)
        await publish(backend, queue, message)
        assert list(await backend.payloads(queue, [message])) == [b"defghij"]
        assert await backend.unacked_bytes(queue) == 10

    async def test_an_append_takes_no_messages_room(self, backend: Backend, queue: QueueId) -> None:
        """The message is there already, also where there is no room for one more."""
        message = await stage(backend, queue)
        await put(backend, queue)
        await backend.append(queue, message, b"y", offset=1, partial=False, room=Room(messages=1))
        await publish(backend, queue, message)
        assert list(await backend.payloads(queue, [message])) == [b"xy"]

    async def test_what_does_not_fit_leaves_no_trace(self, backend: Backend, queue: QueueId, url: str) -> None:
        """Nothing is stored and no id given: the last id is still there to be given."""
        await self.use_ids_up(backend, url, last=MAX_MESSAGE_ID - 2)
        await put(backend, queue)
        before = await backend.stats(queue)
        for room in (Room(messages=1), Room(bytes=1)):
            with pytest.raises(QueueFull):
                await stage(backend, queue, b"secret", room=room)
        assert await backend.stats(queue) == before
        assert await backend.audit() == []
        assert await stage(backend, queue) == MAX_MESSAGE_ID

    @pytest.mark.parametrize("how", FREEING)
    async def test_what_has_left_leaves_its_room(self, backend: Backend, queue: QueueId, how: str) -> None:
        """Whichever way it left, to the message and to the byte."""
        for _ in range(2):
            await put(backend, queue, b"ab")
            await free(backend, queue, how)
            await backend.clear(queue)
        await put(backend, queue, b"12345678")
        await stage(backend, queue, b"90", room=Room(messages=2, bytes=10))
        with pytest.raises(QueueFull):
            await stage(backend, queue, b"", room=Room(messages=2))
        with pytest.raises(QueueFull):
            await stage(backend, queue, b"x", room=Room(bytes=10))

    @pytest.mark.parametrize("how", KEEPING)
    async def test_what_has_not_left_keeps_its_room(self, backend: Backend, queue: QueueId, how: str) -> None:
        """Whatever else was done with it."""
        await keep(backend, queue, how)
        with pytest.raises(QueueFull):
            await stage(backend, queue, b"", room=Room(messages=1))
        with pytest.raises(QueueFull):
            await stage(backend, queue, b"12345", room=TEN)
        await stage(backend, queue, b"1234", room=Room(messages=2, bytes=10))

    async def test_a_retried_message_takes_room_again(self, backend: Backend, queue: QueueId) -> None:
        """And so it does when there is none: what was in the queue before is not refused."""
        dead = await put_dead(backend, queue, b"12345")
        await put(backend, queue, b"x" * 20)
        await backend.retry(queue, [dead.id], now=START)
        with pytest.raises(QueueFull):
            await stage(backend, queue, b"", room=Room(messages=2))
        with pytest.raises(QueueFull):
            await stage(backend, queue, b"x", room=Room(bytes=25))
        await stage(backend, queue, b"x", room=Room(messages=3, bytes=26))

    async def test_a_message_given_back_fits_where_it_came_from(self, backend: Backend, queue: QueueId) -> None:
        """Room is asked for by writers alone: a nack is never refused, however full the queue is."""
        await put(backend, queue)
        message = await take_one(backend, queue)
        await stage(backend, queue, room=Room(messages=2))
        await backend.nack(queue, [Verdict(ref=message.receipt)], now=START)
        assert await backend.counts(queue) == Counts(pending=1, processing=0)

    async def test_each_queue_has_room_of_its_own(self, backend: Backend, queue: QueueId) -> None:
        """Neither a child's messages take any nor another queue's."""
        for number in (await new_queue(backend, "child", parent=queue), await new_queue(backend, "other")):
            await put(backend, number, b"x" * 100)
            await stage(backend, number, b"x" * 100)
        message = await stage(backend, queue, b"x" * 10, room=Room(messages=1, bytes=10))
        assert message > MessageId(0)
