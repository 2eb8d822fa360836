"""The contract of restored records: what is left of messages that were done in another store."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from queuefs.backend import Settled
from queuefs.message import (
    MessageId,
    QueueId,
    Record,
    Retention,
    Status,
)
from queuefs.testing.asking import FAR
from queuefs.testing.base import (
    FOREVER,
    KEEP,
    NONE,
    START,
    Contract,
    new_queue,
    pending,
    put,
)
from queuefs.testing.records import kept
from queuefs.testing.restoring import THEN
from queuefs.testing.stats import NOTHING

if TYPE_CHECKING:
    from queuefs.backend import Backend

RECORD = Record(
    id=FAR,
    status=Status.FAILED,
    size=1234,
    priority=7,
    attempt=3,
    enqueued_at=THEN - 8,
    claimed_at=THEN - 4,
    finished_at=THEN,
    key="é key",
    reason="why\n",
    extra=bytes(range(256)),
    detail=b"d" * 5000,
)


class RestoredRecordContract(Contract):
    """`restore_record`."""

    async def test_a_record_is_what_it_was(self, backend: Backend, queue: QueueId) -> None:
        """And no id up to that of its message is given from then on."""
        await backend.restore_record(queue, RECORD, keep=KEEP)
        assert list(await backend.records(queue, after=None, limit=9, now=START)) == [RECORD]
        assert list(await backend.find_records(queue, [FAR], now=START)) == [RECORD]
        assert await backend.stats(queue) == replace(NOTHING, done=1)
        assert await put(backend, queue) > FAR

    async def test_of_two_of_one_id_the_second_is_kept(self, backend: Backend, queue: QueueId) -> None:
        """The first was never told as ended: its message has a record still."""
        cancelled = replace(
            RECORD, status=Status.CANCELLED, claimed_at=None, key=None, reason=None, finished_at=THEN - 1
        )
        for record in (RECORD, cancelled, cancelled):
            await backend.restore_record(queue, record, keep=KEEP)
            assert list(await backend.records(queue, after=None, limit=9, now=START)) == [record]
        assert list((await backend.tick(now=START, limit=100)).terminated) == []
        assert (await backend.stats(queue)).done == 1
        assert await backend.audit() == []

    async def test_it_stands_where_its_end_was(self, backend: Backend, queue: QueueId) -> None:
        """Among the others, by the time that it says; and it is kept as they are, by number."""
        given = [MessageId(FAR + place) for place in range(4)]
        for message, second in zip(given, (3, 1, 2, 1), strict=True):
            await backend.restore_record(queue, replace(RECORD, id=message, finished_at=THEN + second), keep=KEEP)
        assert await kept(backend, queue) == [given[place] for place in (0, 2, 3, 1)]
        few = Retention(records=2, seconds=FOREVER)
        await backend.restore_record(queue, replace(RECORD, id=given[1], finished_at=THEN + 4), keep=few)
        assert await kept(backend, queue) == [given[1], given[0]]
        await backend.tick(now=START, limit=100)
        assert (await backend.stats(queue)).done == 2  # noqa: PLR2004 - as above
        assert list(await backend.prune(queue, [given[0]])) == [Settled.DONE]

    async def test_none_is_kept_without_room(self, backend: Backend, queue: QueueId) -> None:
        """But its id is taken."""
        await backend.restore_record(queue, RECORD, keep=NONE)
        assert await kept(backend, queue) == []
        assert await put(backend, queue) > FAR

    async def test_a_record_that_is_over_is_not_shown(self, backend: Backend, queue: QueueId) -> None:
        """It ended long ago, so its time may be over when it comes."""
        keep = Retention(records=9, seconds=8.0)
        await backend.restore_record(queue, replace(RECORD, finished_at=START - 9), keep=keep)
        assert await kept(backend, queue) == []
        await backend.tick(now=START, limit=100)
        assert (await backend.stats(queue)).done == 0

    async def test_records_know_no_messages(self, backend: Backend, queue: QueueId) -> None:
        """The message of that id may be here as well, and is left alone."""
        message = await put(backend, queue)
        await backend.restore_record(queue, replace(RECORD, id=message), keep=KEEP)
        assert await pending(backend, queue) == [message]
        await backend.cancel(queue, [message], now=START, keep=KEEP)
        (record,) = await backend.find_records(queue, [message], now=START)
        assert record is not None
        assert record.status is Status.CANCELLED
        assert (await backend.stats(queue)).done == 1

    @pytest.mark.usefixtures("only_durable")
    async def test_a_restored_record_is_kept(self, url: str) -> None:
        """Which is all that keeps its id from being given again."""
        async with self.open_store(url) as backend:
            queue = await new_queue(backend, "jobs")
            await backend.restore_record(queue, RECORD, keep=KEEP)
        async with self.open_store(url) as backend:
            assert list(await backend.records(queue, after=None, limit=9, now=START)) == [RECORD]
            assert await put(backend, queue) > FAR
            assert await backend.audit() == []
