"""The contract of retention: which records are kept, in which order they are shown, and how they end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from queuefs.backend import Settled
from queuefs.message import Ended, MessageId, QueueId, Record, Retention, Verdict
from queuefs.testing.base import BRIEF, FOREVER, KEEP, LATER, NONE, START, Contract, new_queue, put, take, take_one
from queuefs.testing.due import INSTANT
from queuefs.testing.records import finish, kept

if TYPE_CHECKING:
    from queuefs.backend import Backend

only_own_time = pytest.mark.usefixtures("only_own_time")
only_durable = pytest.mark.usefixtures("only_durable")
only_shared = pytest.mark.usefixtures("only_shared")


async def paged(backend: Backend, queue: QueueId, limit: int, *, now: float = START) -> list[Record]:
    """Return all records, page by page."""
    found: list[Record] = []
    after: Ended | None = None
    while page := await backend.records(queue, after=after, limit=limit, now=now):
        assert len(page) <= limit
        found += page
        after = page[-1].ended
    return found


async def terminated(backend: Backend, *, now: float = START, limit: int = 100) -> list[tuple[QueueId, MessageId]]:
    """Return whose records have ended, by ticks until nothing more is due."""
    found: list[tuple[QueueId, MessageId]] = []
    for _ in range(20):
        tick = await backend.tick(now=now, limit=limit)
        found += tick.terminated
        if tick.next_due != 0:
            return found
    raise AssertionError("there is always more due")


class RetentionContract(Contract):
    """Records are kept by number and by time."""

    @pytest.mark.parametrize("limit", [1, 2, 7])
    async def test_the_latest_is_shown_first(self, backend: Backend, queue: QueueId, limit: int) -> None:
        """Whoever pages on from the last one's place meets each once."""
        given = [await finish(backend, queue) for _ in range(7)]
        records = await paged(backend, queue, limit)
        assert [record.id for record in records] == given[::-1]
        assert records == sorted(records, key=lambda record: record.ended, reverse=True)

    async def test_of_equals_the_highest_id_is_shown_first(self, backend: Backend, queue: QueueId) -> None:
        """Those that end in one call end at one time, in whichever order they are named."""
        given = [await put(backend, queue) for _ in range(5)]
        claimed = await take(backend, queue, 5)
        refs = [claimed[place].receipt for place in (3, 0, 4, 1, 2)]
        await backend.ack(queue, refs, now=START, keep=KEEP)
        records = await paged(backend, queue, 2)
        assert [record.id for record in records] == given[::-1]
        assert len({record.finished_at for record in records}) == 1

    @only_own_time
    async def test_the_latest_is_the_one_that_ended_last(self, backend: Backend, queue: QueueId) -> None:
        """By the time that the call says, whatever the order of the calls."""
        given = [await finish(backend, queue, now=START + second) for second in (5, 3, 9, 3)]
        assert [record.id for record in await paged(backend, queue, 1)] == [given[place] for place in (2, 0, 3, 1)]
        second = Retention(records=2, seconds=FOREVER)
        last = await finish(backend, queue, now=START + 1, keep=second)
        assert await kept(backend, queue) == [given[2], given[0]]
        assert last not in await kept(backend, queue)

    async def test_a_page_goes_on_behind_a_place_that_is_gone(self, backend: Backend, queue: QueueId) -> None:
        """The record that stood there may have been pruned meanwhile, and later ones have come."""
        given = [await finish(backend, queue) for _ in range(5)]
        first, second = await backend.records(queue, after=None, limit=2, now=START)
        await backend.prune(queue, [second.id, given[1]])
        await finish(backend, queue)
        rest = await backend.records(queue, after=second.ended, limit=9, now=START)
        assert [record.id for record in rest] == [given[2], given[0]]
        assert list(await backend.records(queue, after=rest[-1].ended, limit=9, now=START)) == []
        assert first.id == given[4]

    async def test_no_more_are_kept_than_was_said(self, backend: Backend, queue: QueueId) -> None:
        """The latest ones; each of the others is told once, by a tick."""
        keep = Retention(records=2, seconds=FOREVER)
        given = [await finish(backend, queue, keep=keep) for _ in range(5)]
        assert await kept(backend, queue) == [given[4], given[3]]
        assert [each and each.id for each in await backend.find_records(queue, given, now=START)] == [
            *[None] * 3,
            *given[3:],
        ]
        assert sorted(await terminated(backend)) == [(queue, message) for message in given[:3]]
        assert (await backend.stats(queue)).done == 2  # noqa: PLR2004 - as above
        assert await terminated(backend) == []
        given.append(await finish(backend, queue, keep=keep))
        assert await kept(backend, queue) == [given[5], given[4]]
        assert await terminated(backend) == [(queue, given[3])]

    async def test_what_was_said_last_holds_for_all(self, backend: Backend, queue: QueueId) -> None:
        """Fewer: the others are not shown from then on, and a tick drops them. More brings none back."""
        given = [await finish(backend, queue) for _ in range(4)]
        given.append(await finish(backend, queue, keep=Retention(records=3, seconds=FOREVER)))
        assert await kept(backend, queue) == given[:1:-1]
        assert sorted(await terminated(backend)) == [(queue, message) for message in given[:2]]
        given.append(await finish(backend, queue))
        assert await kept(backend, queue) == given[:1:-1]
        assert await terminated(backend) == []
        assert (await backend.stats(queue)).done == 4  # noqa: PLR2004 - as above

    async def test_none_from_now_on_means_none(self, backend: Backend, queue: QueueId) -> None:
        """Also of those that were kept before, and whichever call says so, though it leaves no record."""
        given = [await finish(backend, queue) for _ in range(2)]
        message = await put(backend, queue)
        refs = [(await take_one(backend, queue)).receipt]
        await backend.nack(queue, [Verdict(ref=refs[0])], now=START, keep=NONE)
        assert await kept(backend, queue) == []
        assert list(await backend.find_records(queue, given, now=START)) == [None, None]
        assert sorted(await terminated(backend)) == [(queue, each) for each in given]
        assert (await backend.stats(queue)).done == 0
        await backend.cancel(queue, [message], now=START, keep=KEEP)
        assert await kept(backend, queue) == [message]

    @only_own_time
    async def test_a_record_is_over_at_its_very_end(self, backend: Backend, queue: QueueId) -> None:
        """So many seconds after its message ended: not shown at that moment, and dropped by a tick that comes then."""
        keep = Retention(records=9, seconds=8)
        message = await finish(backend, queue, now=START + 2, keep=keep)
        early = START + 10 - INSTANT
        assert await kept(backend, queue, now=early) == [message]
        tick = await backend.tick(now=early, limit=100)
        assert list(tick.terminated) == []
        assert tick.next_due == INSTANT or (backend.traits.shared and tick.next_due)
        assert await kept(backend, queue, now=START + 10) == []
        assert list(await backend.find_records(queue, [message], now=START + 10)) == [None]
        assert await terminated(backend, now=START + 10) == [(queue, message)]
        assert await terminated(backend, now=START + 10) == []
        assert list(await backend.prune(queue, [message])) == [Settled.UNKNOWN]

    @only_own_time
    async def test_the_time_that_was_said_last_holds_for_all(self, backend: Backend, queue: QueueId) -> None:
        """Those that ended longer ago are not shown from then on."""
        given = [await finish(backend, queue, now=START + second) for second in (0, 4, 8)]
        given.append(await finish(backend, queue, now=START + 9, keep=Retention(records=9, seconds=5)))
        assert await kept(backend, queue, now=START + 9) == [given[3], given[2]]
        assert sorted(await terminated(backend, now=START + 9)) == [(queue, message) for message in given[:2]]
        assert (await backend.stats(queue)).done == 2  # noqa: PLR2004 - as above

    async def test_a_short_time_is_over_soon(self, backend: Backend, queue: QueueId) -> None:
        """On any clock; each is told with its queue, and once, however few a tick may do."""
        other = await new_queue(backend, "other", parent=queue)
        keep = Retention(records=100, seconds=BRIEF)
        given = [(number, await finish(backend, number, keep=keep)) for number in (queue, other, queue, other, queue)]
        assert await kept(backend, queue, now=LATER) == []
        assert sorted(await terminated(backend, now=LATER, limit=2)) == sorted(given)
        assert await terminated(backend, now=LATER) == []
        assert (await backend.stats(queue)).done == 0
        assert await backend.audit() == []

    async def test_a_removed_queues_records_are_not_told(self, backend: Backend, queue: QueueId) -> None:
        """They went with it, also those that were to be dropped."""
        for _ in range(3):
            await finish(backend, queue, keep=Retention(records=1, seconds=FOREVER))
        await backend.remove_queue(queue)
        assert await terminated(backend, now=START + 2 * FOREVER) == []

    @only_durable
    async def test_records_are_kept_with_the_store(self, url: str) -> None:
        """With all they say; and so is what was said last of how many to keep."""
        async with self.open_store(url) as backend:
            queue = await new_queue(backend, "jobs")
            given = [await finish(backend, queue, b"abc") for _ in range(3)]
            given.append(await finish(backend, queue, keep=Retention(records=2, seconds=FOREVER)))
            before = list(await backend.records(queue, after=None, limit=9, now=START))
            assert [record.id for record in before] == given[:1:-1]
        async with self.open_store(url) as backend:
            assert list(await backend.records(queue, after=None, limit=9, now=START)) == before
            dropped = await terminated(backend)
            assert set(dropped) <= {(queue, message) for message in given[:2]}
            assert (await backend.stats(queue)).done == 2  # noqa: PLR2004 - as above
            assert await put(backend, queue) > max(given)
            assert await backend.audit() == []

    @only_shared
    async def test_one_daemon_tells_the_end_of_anothers_record(
        self, backend: Backend, queue: QueueId, url: str
    ) -> None:
        """And of all daemons one does."""
        async with self.open_store(url) as other:
            message = await finish(backend, queue)
            assert await kept(other, queue) == [message]
            brief = await finish(other, queue, keep=Retention(records=9, seconds=BRIEF))
            told = await terminated(backend, now=LATER) + await terminated(other, now=LATER)
            assert sorted(told) == [(queue, message), (queue, brief)]
