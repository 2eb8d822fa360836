"""The contract of ids that are asked for: a message that comes from another store has the one that it had there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from queuefs.errors import IdInUse, IdsExhausted, QueueFull
from queuefs.lifecycle import State
from queuefs.message import (
    MAX_MESSAGE_ID,
    Draft,
    MessageId,
    QueueId,
    Room,
)
from queuefs.testing.base import (
    ANY,
    KEEP,
    START,
    Contract,
    find,
    ids,
    pending,
    publish,
    put,
    put_dead,
    stage,
    state_of,
    take,
    take_one,
)
from queuefs.testing.records import finish, kept

if TYPE_CHECKING:
    from queuefs.backend import Backend

#: An id that no test's store gives by itself.
FAR = MessageId(1_000_000)


async def stage_as(
    backend: Backend,
    queue: QueueId,
    message: MessageId,
    data: bytes = b"abc",
    *,
    room: Room = ANY,
    partial: bool = False,
) -> None:
    """Stage a message under an id of its own."""
    given = await backend.stage(
        queue, data, draft=Draft(priority=1), room=room, partial=partial, now=START, message=message
    )
    assert given == message


class AskedIdContract(Contract):
    """`stage` under an id that is asked for."""

    async def test_a_message_has_the_id_that_was_asked_for(self, backend: Backend, queue: QueueId) -> None:
        """And none up to it is given from then on."""
        await put(backend, queue)
        await stage_as(backend, queue, FAR)
        assert await publish(backend, queue, FAR) == FAR
        second = await put(backend, queue)
        assert second > FAR
        await stage_as(backend, queue, MessageId(FAR - 5))
        await backend.discard(queue, MessageId(FAR - 5))
        assert await put(backend, queue) > second
        assert (await find(backend, queue, FAR)).size == 3  # noqa: PLR2004 - as above

    async def test_what_is_there_has_its_id(self, backend: Backend, queue: QueueId) -> None:
        """Pending, in processing, dead or staged: `IdInUse`, and nothing has changed."""
        dead, held, waiting = (await put_dead(backend, queue)).id, await put(backend, queue), await put(backend, queue)
        await take_one(backend, queue)
        staged = await stage(backend, queue)
        before = await backend.stats(queue), list(await backend.snapshot(queue)), list(await backend.dead(queue))
        for message in (dead, held, waiting, staged):
            with pytest.raises(IdInUse):
                await stage_as(backend, queue, message)
        after = await backend.stats(queue), list(await backend.snapshot(queue)), list(await backend.dead(queue))
        assert after == before
        await stage(backend, queue, room=Room(messages=4))
        assert await state_of(backend, queue, staged, size=1) is State.STAGED

    async def test_an_id_that_has_gone_can_be_had_again(self, backend: Backend, queue: QueueId) -> None:
        """Also if there is a record under it, which gives way to that of the second."""
        done = await finish(backend, queue)
        dropped = await put_dead(backend, queue)
        await backend.drop(queue, [dropped.id])
        last = await put(backend, queue)
        await backend.cancel(queue, [last], now=START)
        for message in (done, dropped.id):
            await stage_as(backend, queue, message)
            assert await publish(backend, queue, message) == message
        claimed = await take(backend, queue, 9)
        assert ids(claimed) == [done, dropped.id]
        await backend.ack(queue, [each.receipt for each in claimed], now=START, keep=KEEP)
        assert sorted(await kept(backend, queue)) == [done, dropped.id]
        assert (await backend.stats(queue)).done == 2  # noqa: PLR2004 - as above
        assert await put(backend, queue) > last

    async def test_the_highest_id_can_be_asked_for(self, backend: Backend, queue: QueueId) -> None:
        """Then there is none left to be given, but lower ones may still be asked for."""
        await stage_as(backend, queue, MessageId(MAX_MESSAGE_ID))
        await publish(backend, queue, MessageId(MAX_MESSAGE_ID))
        with pytest.raises(IdsExhausted):
            await stage(backend, queue)
        await stage_as(backend, queue, FAR)
        await publish(backend, queue, FAR)
        assert sorted(await pending(backend, queue)) == [FAR, MAX_MESSAGE_ID]

    async def test_it_has_to_fit(self, backend: Backend, queue: QueueId) -> None:
        """As any other: nothing is stored where there is no room, and the id is still free."""
        await put(backend, queue)
        for room in (Room(messages=1), Room(bytes=3)):
            with pytest.raises(QueueFull):
                await stage_as(backend, queue, FAR, room=room)
        await stage_as(backend, queue, FAR, room=Room(messages=2, bytes=4))
