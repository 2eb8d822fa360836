"""Records: what they cost, when they go, and what happens to them when a disk is full or a batch fails."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from queuefs.backend import Settled
from queuefs.errors import OutcomeUnknown, StoreFull
from queuefs.message import Ended, MessageId, Outcome, Record, Retention, Room, Status
from tests.sqlite.steps import DRAFT, NOW, inside, new_queue, opened, put, stage, staging, take
from tests.sqlite.test_faults import let_fail
from tests.sqlite.test_full_disk import PAYLOAD, SIZE, occupy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from queuefs.message import QueueId
    from queuefs_sqlite import SQLiteBackend
    from tests.conftest import Logs

KEEP = Retention(records=10, seconds=60.0)
DONE, UNKNOWN = Settled.DONE, Settled.UNKNOWN
RECORD = Record(
    id=MessageId(1),
    status=Status.FAILED,
    size=3,
    priority=1,
    attempt=2,
    enqueued_at=1.0,
    claimed_at=2.0,
    finished_at=NOW,
    key="k",
    reason="r",
    extra=b"x",
    detail=b"d",
)


async def finish(
    backend: SQLiteBackend, queue: QueueId, count: int, *, now: float = NOW, keep: Retention = KEEP, **more: Any
) -> list[MessageId]:
    """Let so many messages be done, in one call, and return their ids."""
    for answer in [staging(backend, queue, **more) for _ in range(count)]:
        await backend.publish(queue, await answer, now=NOW, window=0.0)
    claimed = await take(backend, queue, count)
    assert await backend.ack(queue, [message.receipt for message in claimed], now=now, keep=keep) == [DONE] * count
    return [message.id for message in claimed]


async def kept(backend: SQLiteBackend, queue: QueueId, *, now: float = NOW) -> list[MessageId]:
    return [record.id for record in await backend.records(queue, after=None, limit=99, now=now)]


async def told(backend: SQLiteBackend, *, now: float = NOW, limit: int = 1000) -> list[MessageId]:
    return [message for _, message in (await backend.tick(now=now, limit=limit)).terminated]


def in_file(backend: SQLiteBackend) -> int:
    (count,) = inside(backend).db.execute("SELECT count(*) FROM records").fetchone()
    assert isinstance(count, int)
    return count


# What they cost -----------------------------------------------------------------------------------------------------


async def test_a_batch_writes_no_more_than_the_queue_keeps(url: str) -> None:
    """Those that never came to the file are told all the same, once."""
    async with opened(url) as backend:
        queue = await new_queue(backend)
        inserted: list[str] = []
        inside(backend).db.set_trace_callback(lambda text: inserted.append(text) if "INTO records" in text else None)
        given = await finish(backend, queue, 100)
        assert len(inserted) == 10
        assert await kept(backend, queue) == given[:-11:-1]
        assert (await backend.stats(queue)).done == 10
        assert await told(backend) == given[:90]
        assert await told(backend) == []
        assert in_file(backend) == 10


async def test_many_calls_of_one_batch_do_so_too(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        for answer in [staging(backend, queue) for _ in range(100)]:
            await backend.publish(queue, await answer, now=NOW, window=0.0)
        claimed = await take(backend, queue, 100)
        changes = inside(backend).db.total_changes
        acks = [backend.ack(queue, [each.receipt], now=NOW, keep=KEEP) for each in claimed]
        for ack in acks:
            assert await ack == [DONE]
        # A message and its payload each, the records of two or three batches, and the queue's row in each.
        assert inside(backend).db.total_changes - changes < 200 + 3 * 11
        assert len(await kept(backend, queue)) == 10
        given = [each.id for each in claimed]
        while (await backend.stats(queue)).done < in_file(backend):
            await told(backend, limit=9)
        assert await kept(backend, queue) == given[:-11:-1]


async def test_a_look_in_between_sees_them(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        first, second = await put(backend, queue), await put(backend, queue)
        claimed = await take(backend, queue, 2)
        acks = [backend.ack(queue, [each.receipt], now=NOW + place, keep=KEEP) for place, each in enumerate(claimed)]
        looked = backend.records(queue, after=None, limit=9, now=NOW + 1)
        finding = backend.find_records(queue, [first, MessageId(9)], now=NOW + 1)
        pruning = backend.prune(queue, [second])
        stats = backend.stats(queue)
        for ack in acks:
            await ack
        assert [record.id for record in await looked] == [second, first]
        assert [record and record.id for record in await finding] == [first, None]
        assert await pruning == [DONE]
        assert (await stats).done == 1


async def test_a_page_begins_where_the_last_ended_also_among_equal_times(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        given: list[MessageId] = []
        for second in range(3):
            given += await finish(backend, queue, 5, now=NOW + second, keep=replace(KEEP, records=12))
        pages: list[MessageId] = []
        after: Ended | None = None
        while page := await backend.records(queue, after=after, limit=2, now=NOW):
            pages += [record.id for record in page]
            after = page[-1].ended
        assert pages == given[:2:-1]
        between = Ended(NOW + 0.5, MessageId(1))
        assert [record.id for record in await backend.records(queue, after=between, limit=9, now=NOW)] == given[4:2:-1]


# When they go -------------------------------------------------------------------------------------------------------


async def test_rounds_of_upkeep_drop_them_a_few_at_a_time(url: str) -> None:
    async with opened(url) as backend:
        queue, other = await new_queue(backend), await new_queue(backend, "other")
        given = await finish(backend, queue, 100, keep=replace(KEEP, records=100))
        others = await finish(backend, other, 10, now=NOW + 1)
        await backend.ack(queue, [], now=NOW, keep=replace(KEEP, records=20))
        assert await kept(backend, queue) == given[:-21:-1]
        tick = await backend.tick(now=NOW, limit=30)
        assert (tick.terminated, tick.next_due) == ([(queue, message) for message in given[:30]], 0.0)
        assert await told(backend, limit=60) == given[30:80]
        assert in_file(backend) == 30
        tick = await backend.tick(now=NOW + 60, limit=25)
        assert (tick.terminated, tick.next_due) == ([(queue, message) for message in given[80:]], 1.0)
        assert await kept(backend, other, now=NOW + 60) == others[::-1]
        assert await told(backend, now=NOW + 61) == others
        assert (await backend.tick(now=NOW + 61, limit=9)).next_due is None


async def test_what_they_are_kept_by_outlives_a_restart(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        given = await finish(backend, queue, 12, keep=replace(KEEP, records=12))
        await backend.nack(queue, [], now=NOW, keep=KEEP)
    async with opened(url) as backend:
        assert await kept(backend, queue) == given[:1:-1]
        assert await kept(backend, queue, now=NOW + 60) == []
        assert (await backend.tick(now=NOW, limit=9)).next_due == 60.0
        assert (await backend.stats(queue)).done == 10


async def test_to_prune_all_is_one_step_whatever_the_number(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        keep = replace(KEEP, records=1000)
        given = await finish(backend, queue, 1000, keep=keep)
        changes = inside(backend).db.total_changes
        pruned, again, removed = (
            backend.prune(queue, None),
            backend.prune(queue, [given[0]]),
            backend.remove_queue(queue),
        )
        assert await pruned == [DONE] * 1000
        assert await again == [UNKNOWN]
        await removed
        assert inside(backend).db.total_changes - changes < 500
        while inside(backend).trash:
            await backend.tick(now=NOW, limit=100)
        assert in_file(backend) == 0


async def test_a_queue_takes_its_records_along(url: str) -> None:
    async with opened(url) as backend:
        queue, other = await new_queue(backend), await new_queue(backend, "other")
        await finish(backend, queue, 10)
        given = await finish(backend, other, 5)
        await backend.remove_queue(queue)
        while (tick := await backend.tick(now=NOW, limit=3)).next_due == 0.0:
            assert tick.terminated == []
        assert in_file(backend) == 5
        assert await kept(backend, other) == given[::-1]


async def test_what_is_pruned_brings_nothing_back(url: str) -> None:
    """What was too much is gone for good, though nothing has dropped it yet."""
    async with opened(url) as backend:
        queue = await new_queue(backend)
        given = await finish(backend, queue, 20, keep=replace(KEEP, records=20))
        await backend.ack(queue, [], now=NOW, keep=replace(KEEP, records=5))
        assert await backend.prune(queue, [given[0], given[-1]]) == [UNKNOWN, DONE]
        assert await kept(backend, queue) == given[-2:-6:-1]
        assert sorted(await told(backend)) == given[:15]


async def test_a_record_that_comes_again_takes_the_place_of_the_first(url: str) -> None:
    """From another store, or because a message of its id came from there and is done here too."""
    async with opened(url) as backend:
        queue = await new_queue(backend)
        await backend.restore_record(queue, RECORD, keep=KEEP)
        again = replace(RECORD, detail=b"again", finished_at=NOW + 1)
        twice = [backend.restore_record(queue, record, keep=KEEP) for record in (RECORD, again)]
        for answer in twice:
            await answer
        assert await backend.records(queue, after=None, limit=9, now=NOW) == [again]
        message = await backend.stage(
            queue, b"abc", draft=DRAFT, room=Room(), partial=False, now=NOW, message=MessageId(1)
        )
        await backend.publish(queue, message, now=NOW, window=0.0)
        other = await put(backend, queue)
        claimed = await take(backend, queue, 2)
        outcome = Outcome(status=Status.TIMEOUT, detail=b"here")
        await backend.ack(queue, [each.receipt for each in claimed], now=NOW + 2, keep=KEEP, outcome=outcome)
        records = await backend.records(queue, after=None, limit=9, now=NOW)
        assert [(record.id, record.detail) for record in records] == [(other, b"here"), (1, b"here")]
        assert (await backend.stats(queue)).done == 2
        assert await backend.last_id() == other == 2


# When something fails -------------------------------------------------------------------------------------------------


async def test_a_failed_commit_loses_and_tells_nothing_twice(url: str, logs: Logs) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        given = await finish(backend, queue, 15)
        more = [await put(backend, queue) for _ in range(20)]
        claimed = await take(backend, queue, 20)
        let_fail(backend, "COMMIT", "SQLITE_IOERR_FSYNC", instead="ROLLBACK")
        logs.expect("commit failed")
        refs = [each.receipt for each in claimed]
        failed = [backend.ack(queue, refs, now=NOW, keep=KEEP), backend.tick(now=NOW, limit=99)]
        for answer in failed:
            with pytest.raises(OutcomeUnknown):
                await answer
        assert await backend.ack(queue, refs, now=NOW, keep=KEEP) == [DONE] * 20
        assert await kept(backend, queue) == more[:-11:-1]
        assert sorted(await told(backend)) == [*given, *more[:10]]
        assert await told(backend) == []


async def test_a_refused_call_beside_it_loses_and_tells_nothing_twice(url: str) -> None:
    async with opened(url) as backend:
        queue = await new_queue(backend)
        given = [await put(backend, queue) for _ in range(15)]
        claimed = await take(backend, queue, 15)
        ack = backend.ack(queue, [each.receipt for each in claimed], now=NOW, keep=KEEP)
        bad = staging(backend, queue, priority=2**70)  # a bug of its caller: the batch is played again
        assert await ack == [DONE] * 15
        with pytest.raises(OverflowError):
            await bad
        assert await kept(backend, queue) == given[:-11:-1]
        assert await told(backend) == given[:5]


async def test_on_a_full_disk_what_is_done_leaves_no_record_and_is_done(
    mount_disk: Callable[[int], Path], logs: Logs
) -> None:
    disk = mount_disk(SIZE)
    keep = Retention(records=10**6, seconds=60.0)
    outcome = Outcome(detail=PAYLOAD)  # larger than what the ack frees
    async with opened(f"sqlite://{disk}/queue.db") as backend:
        queue = await new_queue(backend)
        first = await finish(backend, queue, 1, keep=keep)
        many = [await stage(backend, queue, b"small") for _ in range(300)]
        for message in many:
            await backend.publish(queue, message, now=NOW, window=0.0)
        occupy(disk)
        logs.expect("disk full: the reserve is given up")
        for claimed in await take(backend, queue, 300):
            assert await backend.ack(queue, [claimed.receipt], now=NOW, keep=keep, outcome=outcome) == [DONE]
        assert in_file(backend) < 200
        assert (await backend.counts(queue)).processing == 0
        with pytest.raises(StoreFull):
            await backend.restore_record(queue, replace(RECORD, detail=PAYLOAD * 100), keep=keep)
        (disk / "occupied").unlink()
        last = await finish(backend, queue, 1, keep=keep)
        assert (await kept(backend, queue))[0] == last[0]
        assert (await backend.find_records(queue, first, now=NOW))[0] is not None
