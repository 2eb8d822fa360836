"""The contract of the order of calls, and of many at once."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest
import trio
import trio.testing

from queuefs.backend import Settled
from queuefs.errors import QueueExists, QueueNotFound
from queuefs.lifecycle import State
from queuefs.message import ROOT, Counts, Draft, Message, MessageId, QueueId, Ref, Verdict
from queuefs.testing.base import (
    ANY,
    KEEP,
    LATER,
    LEASE,
    OWNER,
    START,
    Contract,
    bury,
    nack,
    new_queue,
    pending,
    put,
    stage,
    take,
    take_one,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from queuefs.backend import Backend

#: Tasks of each kind in the hammer, and messages of each producer.
TASKS = 8
EACH = 20


class OrderContract(Contract):
    """A call takes its place when it is made."""

    async def test_a_publication_counts_before_it_is_awaited(self, backend: Backend, queue: QueueId) -> None:
        """A later claim finds it done."""
        message = await stage(backend, queue)
        published = backend.publish(queue, message, now=START, window=0)
        claimed = await take(backend, queue)
        assert [each.id for each in claimed] == [message]
        await published

    async def test_answers_may_be_awaited_in_any_order(self, backend: Backend, queue: QueueId) -> None:
        """Each call's answer is that of its place among the calls."""
        for _ in range(2):
            await put(backend, queue)
        calls = [backend.counts(queue)]
        first = backend.claim(queue, count=1, lease=LEASE, lifo=False, now=START)
        calls.append(backend.counts(queue))
        second = backend.claim(queue, count=1, lease=LEASE, lifo=False, now=START)
        calls.append(backend.counts(queue))
        answers = [await call for call in reversed(calls)]
        assert answers == [Counts(0, 2), Counts(1, 1), Counts(2, 0)]
        later, earlier = await second, await first
        assert earlier[0].id < later[0].id

    async def test_a_settled_message_is_settled_for_the_next_call(self, backend: Backend, queue: QueueId) -> None:
        """Claim, nack, claim and ack without waiting in between."""
        message = await put(backend, queue)
        first = backend.claim(queue, count=1, lease=LEASE, lifo=False, now=START)
        nacked = backend.nack(queue, [Verdict(ref=Ref(message))], now=START)
        second = backend.claim(queue, count=1, lease=LEASE, lifo=False, now=START)
        acked = backend.ack(queue, [Ref(message, 1), Ref(message, 2)], now=START)
        counts = backend.counts(queue)
        assert [each.receipt for each in await first] == [Ref(message, 1)]
        assert list(await nacked) == [Settled.DONE]
        assert [each.receipt for each in await second] == [Ref(message, 2)]
        assert list(await acked) == [Settled.STALE, Settled.DONE]
        assert await counts == Counts(0, 0)

    async def test_what_is_named_has_changed_for_the_next_call(self, backend: Backend, queue: QueueId) -> None:
        """Pause, resume, cancel, burial, retry and drop without waiting in between, with a look after each."""
        message = await put(backend, queue)

        def claim() -> Awaitable[Sequence[Message]]:
            return backend.claim(queue, count=1, lease=LEASE, lifo=False, now=START)

        steps: list[Awaitable[Sequence[Settled]]] = [backend.pause(queue, [message])]
        claims, looks = [claim()], [backend.stats(queue)]
        steps.append(backend.resume(queue, [message]))
        claims.append(claim())
        steps.append(backend.nack(queue, [Verdict(ref=Ref(message), dead=True)], now=START))
        looks.append(backend.stats(queue))
        steps.append(backend.retry(queue, None, now=START))
        claims.append(claim())
        steps.append(backend.cancel(queue, [message], now=START))
        steps.append(backend.extend(queue, [Ref(message)], lease=LEASE, now=START))
        steps.append(backend.undo(queue, [Ref(message)], now=START))
        looks.append(backend.stats(queue))
        steps.append(backend.drop(queue, [message]))
        stats = [await look for look in looks]
        assert [(each.paused, each.dead, each.pending, each.processing) for each in stats] == [
            (1, 0, 1, 0),
            (0, 1, 0, 0),
            (0, 0, 0, 0),
        ]
        assert [[each.receipt.claim for each in await claimed] for claimed in claims] == [[], [1], [2]]
        done = [Settled.DONE]
        assert [list(await step) for step in steps] == [*[done] * 5, [Settled.CANCELLED], done, [Settled.UNKNOWN]]

    async def test_what_is_filed_has_changed_for_the_next_call(self, backend: Backend, queue: QueueId) -> None:
        """Burial, retry, move, claim by name, ack and prune without waiting in between, with a look after each."""
        target = await new_queue(backend, "target")
        message = await put(backend, queue, b"abc")
        order = [State.PENDING, State.PROCESSING, State.DEAD]

        def look(number: QueueId) -> list[Awaitable[Sequence[Message]]]:
            return [backend.page(number, state, after=None, limit=9) for state in order]

        steps: list[Awaitable[Sequence[Settled]]] = [backend.bury(queue, [message])]
        looks = [look(queue)]
        steps.append(backend.retry(queue, None, now=START))
        moving = backend.move(queue, message, target=target, room=ANY)
        looks += [look(queue), look(target)]
        steps.append(backend.take(target, [message], lease=LEASE, now=START))
        looks.append(look(target))
        piece = backend.read(target, message, offset=1, size=1)
        steps.append(backend.ack(target, [Ref(message, 1)], now=START, keep=KEEP))
        looks.append(look(target))
        kept = backend.records(target, after=None, limit=9, now=START)
        steps.append(backend.prune(target, None))
        left = backend.records(target, after=None, limit=9, now=START)
        shown = [[[each.id for each in await page] for page in pages] for pages in looks]
        none: list[MessageId] = []
        assert shown == [
            [none, none, [message]],
            [none, none, none],
            [[message], none, none],
            [none, [message], none],
            [none, none, none],
        ]
        assert ([record.id for record in await kept], list(await left), await piece) == ([message], [], b"b")
        assert [list(await step) for step in steps] == [[Settled.DONE]] * 5
        assert await moving is Settled.DONE

    async def test_a_key_is_taken_by_the_first_call(self, backend: Backend, queue: QueueId) -> None:
        """Of publications that are on their way, the one that was called for first wins."""
        draft = Draft(key="key")
        first, second = [await stage(backend, queue, draft=draft) for _ in range(2)]
        before = backend.find_key(queue, "key", now=START, window=0)
        winning = backend.publish(queue, second, now=START, window=0)
        between = backend.find_key(queue, "key", now=START, window=0)
        losing = backend.publish(queue, first, now=START, window=0)
        clearing = backend.clear(queue)
        after = backend.find_key(queue, "key", now=START, window=0)
        assert [await each for each in (before, between, after)] == [None, second, None]
        assert (await winning, await losing) == (second, second)
        assert await clearing == Counts(1, 0)

    async def test_the_tree_changes_in_the_order_of_calls(self, backend: Backend) -> None:
        """A queue is found as soon as its making has been called for, and under its new name after a rename."""
        making = backend.create_queue(ROOT, "a", owner=OWNER, now=START)
        found = await backend.find_queue(ROOT, "a")
        assert found == await making
        assert found is not None
        renaming = backend.rename_queue(found.id, parent=ROOT, name="b")
        gone, there = backend.find_queue(ROOT, "a"), backend.find_queue(ROOT, "b")
        removing = backend.remove_queue(found.id)
        after = backend.find_queue(ROOT, "b")
        assert await gone is None
        assert (renamed := await there) is not None
        assert renamed.id == found.id
        assert await after is None
        await renaming
        await removing

    async def test_errors_come_from_awaiting(self, backend: Backend, queue: QueueId) -> None:
        """The call itself raises none, and those behind it are not disturbed."""
        wrong = backend.get_queue(QueueId(queue + 1000))
        taken = backend.create_queue(ROOT, "jobs", owner=OWNER, now=START)
        right = backend.get_queue(queue)
        assert (await right).id == queue
        with pytest.raises(QueueNotFound):
            await wrong
        with pytest.raises(QueueExists):
            await taken

    @pytest.mark.usefixtures("only_instant")
    async def test_an_instant_answer_is_there_at_once(self, backend: Backend, queue: QueueId) -> None:
        """Where the trait says so, awaiting never suspends."""
        with trio.testing.assert_no_checkpoints():
            message = await put(backend, queue)
            assert (await take_one(backend, queue)).id == message
            await nack(backend, queue, [Ref(message)], delay=1)
            await backend.pause(queue, [message])
            await backend.resume(queue, [message])
            await bury(backend, queue, await take_one(backend, queue, now=LATER))
            assert [each.id for each in await backend.dead(queue)] == [message]
            await backend.retry(queue, None, now=LATER)
            assert await backend.find_key(queue, "key", now=START, window=0) is None
            await backend.set_config(queue, b"a", expected=b"")
            await backend.cancel(queue, [message], now=START)
            await backend.move(queue, await put(backend, queue), target=queue, room=ANY)
            await backend.page(queue, State.PENDING, after=None, limit=1)
            await backend.bury(queue, await pending(backend, queue))
            await backend.drop(queue, None)
            await backend.records(queue, after=None, limit=1, now=START)
            await backend.space()
            await backend.tick(now=LATER, limit=10)
            await backend.stats(queue)
            assert await backend.counts(queue) == Counts(0, 0)


class HammerContract(Contract):
    """Many tasks at once."""

    async def test_no_message_is_lost_or_doubled_and_no_count_is_ever_off(
        self, backend: Backend, queue: QueueId
    ) -> None:
        """At every moment the counts are exactly what the calls made until then leave; each is acked once."""
        hammer = _Hammer(backend, queue)
        with trio.fail_after(60):
            await hammer.run()
        assert sorted(hammer.acked) == sorted(hammer.given)
        assert set(hammer.acked.values()) == {1}
        assert await backend.counts(queue) == Counts(0, 0)


class _Hammer:
    """Producers, consumers that now and then fail, and one who looks."""

    def __init__(self, backend: Backend, queue: QueueId) -> None:
        self._backend = backend
        self._queue = queue
        self._random = random.Random(11)  # noqa: S311 - the same each time
        self.given: list[MessageId] = []
        self.acked: Counter[MessageId] = Counter()
        #: Calls made, whether or not they are answered: by the contract their order is that of their making.
        self._published = 0
        self._acks = 0

    async def run(self) -> None:
        async with trio.open_nursery() as looking:
            looking.start_soon(self._look)
            async with trio.open_nursery() as nursery:
                for _ in range(TASKS):
                    nursery.start_soon(self._produce)
                    nursery.start_soon(self._consume)
            looking.cancel_scope.cancel()

    async def _produce(self) -> None:
        for number in range(EACH):
            message = await self._backend.stage(
                self._queue,
                b"%d" % number,
                draft=Draft(priority=self._random.randint(-1, 1)),
                room=ANY,
                partial=False,
                now=START,
            )
            self.given.append(message)
            published = self._backend.publish(self._queue, message, now=START, window=0)
            self._published += 1
            await published
            await trio.lowlevel.checkpoint()

    async def _consume(self) -> None:
        while self.acked.total() < TASKS * EACH:
            for message in await take(self._backend, self._queue, self._random.randint(1, 3)):
                await self._finish(message)
            await trio.lowlevel.checkpoint()

    async def _finish(self, message: Message) -> None:
        chance = self._random.random()
        refs = [message.receipt]
        if chance < 1 / 8:
            assert list(await nack(self._backend, self._queue, refs)) == [Settled.DONE]
        elif chance < 2 / 8:
            assert list(await self._backend.undo(self._queue, refs, now=START)) == [Settled.DONE]
        else:
            settled = self._backend.ack(self._queue, refs, now=START)
            self._acks += 1
            assert list(await settled) == [Settled.DONE]
            self.acked[message.id] += 1

    async def _look(self) -> None:
        while True:
            expected = self._published - self._acks
            counting, viewing = self._backend.counts(self._queue), self._backend.snapshot(self._queue)
            counts = await counting
            states = Counter(message.state for message in await viewing)
            assert counts.unacked == expected
            assert counts == Counts(states[State.PENDING], states[State.PROCESSING])
            await trio.lowlevel.checkpoint()
