"""The contract of the store as a whole: what room it has, which id was given last, and how it is put right."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from queuefs.lifecycle import State
from queuefs.message import Counts, Draft, MessageId, QueueId
from queuefs.testing.asking import FAR, stage_as
from queuefs.testing.base import (
    KEEP,
    START,
    Contract,
    find,
    ids,
    new_queue,
    overdue,
    pending,
    put,
    put_dead,
    stage,
    take,
    take_one,
)
from queuefs.testing.records import finish

if TYPE_CHECKING:
    from queuefs.backend import Backend

MIB = 1024 * 1024

only_durable = pytest.mark.usefixtures("only_durable")


class SpaceContract(Contract):
    """`space` and `last_id`."""

    async def test_space_is_taken_up_by_what_is_put_in(self, backend: Backend, queue: QueueId) -> None:
        """All unacknowledged messages of all queues are counted; payloads take up what they need at least."""
        before = await backend.space()
        assert before.messages == 0
        assert before.used >= 0
        assert before.free > 0
        other = await new_queue(backend, "other", parent=queue)
        for number in (queue, queue, other, other):
            await put(backend, number, bytes(range(256)) * (MIB // 256))
        await take_one(backend, other)
        await stage(backend, queue)
        space = await backend.space()
        assert space.messages == 4  # noqa: PLR2004 - as above
        assert space.used >= before.used + 4 * MIB
        await finish(backend, await new_queue(backend, "third"), keep=KEEP)
        await backend.clear(queue)
        assert (await backend.space()).messages == 2  # noqa: PLR2004 - as above
        await put_dead(backend, queue)
        assert (await backend.space()).messages == 2  # noqa: PLR2004 - as above

    async def test_the_last_id_is_known(self, backend: Backend, queue: QueueId) -> None:
        """None at first; then the highest that was given or asked for, whatever became of it."""
        assert await backend.last_id() is None
        given = await put(backend, queue)
        assert await backend.last_id() == given
        await backend.clear(queue)
        given = await stage(backend, queue)
        await backend.discard(queue, given)
        assert await backend.last_id() == given
        await stage_as(backend, queue, FAR)
        assert await backend.last_id() == FAR
        await stage_as(backend, queue, MessageId(FAR - 1))
        assert await backend.last_id() == FAR
        await backend.discard(queue, FAR)
        await backend.discard(queue, MessageId(FAR - 1))
        await backend.remove_queue(queue)
        assert await backend.last_id() == FAR

    @only_durable
    async def test_the_last_id_is_kept(self, url: str) -> None:
        """No lower one is named when the store is opened again."""
        async with self.open_store(url) as backend:
            queue = await new_queue(backend, "jobs")
            given = await stage(backend, queue)
            await backend.discard(queue, given)
        async with self.open_store(url) as backend:
            last = await backend.last_id()
            assert last is not None
            assert last >= given


class RepairContract(Contract):
    """`repair`."""

    async def test_nothing_is_done_where_nothing_is_wrong(self, backend: Backend, queue: QueueId) -> None:
        """In whatever state messages are."""
        dead = await put_dead(backend, queue, b"dead")
        await put(backend, queue, b"held")
        await take_one(backend, queue)
        paused, _ = await put(backend, queue, draft=Draft(key="key")), await put(backend, queue, draft=Draft(delay=9))
        await backend.pause(queue, [paused])
        staged = await stage(backend, queue)
        done = await finish(backend, await new_queue(backend, "other"))
        before = [await each(queue) for each in (backend.snapshot, backend.dead, backend.stats)]
        assert list(await backend.repair()) == []
        assert [await each(queue) for each in (backend.snapshot, backend.dead, backend.stats)] == before
        assert list(await backend.payloads(queue, [dead.id, paused])) == [b"dead", b"x"]
        assert staged < done
        await backend.discard(queue, staged)

    @only_durable
    async def test_what_is_damaged_is_set_aside(self, backend: Backend, queue: QueueId, url: str) -> None:
        """Pending or in processing, it is dead and says why; the rest is as it was, and goes on."""
        held, waiting, good, paused, fine = [
            await put(backend, queue, b"payload", draft=Draft(key=key)) for key in "abcde"
        ]
        await take_one(backend, queue)
        await backend.pause(queue, [paused])
        for message in (held, waiting, paused):
            await self.damage_payload(backend, url, message)
        assert len(await backend.audit()) >= 3  # noqa: PLR2004 - as above
        done = await backend.repair()
        for message in (held, waiting, paused):
            assert any(f"message {message}" in sentence for sentence in done), message
        assert not any(f"message {message}" in sentence for message in (good, fine) for sentence in done)
        assert await backend.audit() == []
        assert list(await backend.repair()) == []
        dead = await backend.dead(queue)
        assert ids(dead) == [held, waiting, paused]
        assert [(each.lease_until, each.due, each.paused, each.cancelled) for each in dead] == [
            (None, None, False, False)
        ] * 3
        assert all(each.reason for each in dead)
        assert await pending(backend, queue) == [good, fine]
        assert await backend.counts(queue) == Counts(pending=2, processing=0)
        stats = await backend.stats(queue)
        assert (stats.pending, stats.processing, stats.paused, stats.dead) == (2, 0, 0, 3)
        assert stats.unacked_bytes == 2 * len(b"payload")
        assert await overdue(backend) == []
        assert [each.data for each in await take(backend, queue, 9)] == [b"payload"] * 2
        assert await backend.find_key(queue, "a", now=START, window=0) is None

    @only_durable
    async def test_the_damaged_dead_stay_and_say_why(self, backend: Backend, queue: QueueId, url: str) -> None:
        """All else of them is as it was."""
        dead, other = await put_dead(backend, queue, b"payload"), await put_dead(backend, queue, b"payload")
        before = [await find(backend, queue, each.id) for each in (dead, other)]
        await self.damage_payload(backend, url, dead.id)
        assert any(f"message {dead.id}" in sentence for sentence in await backend.repair())
        assert await backend.audit() == []
        found = await find(backend, queue, dead.id)
        assert found.reason
        assert found == replace(before[0], reason=found.reason, size=found.size)
        assert await find(backend, queue, other.id) == before[1]

    @only_durable
    async def test_what_there_is_of_a_payload_can_be_read(self, backend: Backend, queue: QueueId, url: str) -> None:
        """As long as it says to be; and retried, the message is handed out with that."""
        message = await put(backend, queue, b"payload")
        await self.damage_payload(backend, url, message)
        await backend.repair()
        (dead,) = await backend.dead(queue)
        data = await backend.read(queue, message, offset=0, size=1000)
        assert data is not None
        assert len(data) == dead.size
        assert list(await backend.payloads(queue, [message])) == [data]
        await backend.retry(queue, [message], now=START)
        claimed = await take_one(backend, queue)
        assert (claimed.id, claimed.data, claimed.state) == (message, data, State.PROCESSING)
        assert await backend.audit() == []
