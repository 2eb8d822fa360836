"""The contract of listening: what daemons on one store hear of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import trio
import trio.testing

from queuefs.backend import Settled, Transition
from queuefs.lifecycle import Verb
from queuefs.message import MessageId, QueueId, Retention, Verdict
from queuefs.testing.base import (
    ANY,
    BRIEF,
    FOREVER,
    LATER,
    LEASE,
    START,
    Contract,
    bury,
    nack,
    new_queue,
    put,
    take_one,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuefs.backend import Backend

#: The steps that others have to be told of.
OTHERS_VERBS = [
    Verb.PUBLISH,
    Verb.DEQUEUE,
    Verb.UNDO,
    Verb.ACK,
    Verb.NACK,
    Verb.EXPIRE,
    Verb.BURY,
    Verb.RETRY,
    Verb.DROP,
    Verb.PAUSE,
    Verb.RESUME,
    Verb.CANCEL,
    Verb.PRUNE,
    Verb.TERMINATE,
]

#: Something may have happened anywhere.
ANYTHING = Transition(queue=None, verb=None, message=None)

only_shared = pytest.mark.usefixtures("only_shared")


class Ears:
    """Listens to a back end, and waits until something was heard."""

    def __init__(self, backend: Backend) -> None:
        """Listen to *backend* from now on."""
        self.heard: list[Transition] = []
        self._more = trio.Event()
        backend.listen(self._hear)

    def _hear(self, transitions: Sequence[Transition]) -> None:
        self.heard += transitions
        self._more.set()

    async def hear(self, expected: set[Transition]) -> None:
        """Wait until all of *expected* were heard."""
        with trio.fail_after(10):
            while not expected <= set(self.heard):
                self._more = trio.Event()
                await self._more.wait()

    async def open(self, other: Backend, queue: QueueId) -> None:
        """Wait until what *other* does is heard; it may be missed at first."""
        self.heard.clear()
        with trio.fail_after(10):
            while not any(each.verb is Verb.PUBLISH for each in self.heard):
                self._more = trio.Event()
                await put(other, queue)
                with trio.move_on_after(0.1):
                    await self._more.wait()
        await other.clear(queue)


class ListeningContract(Contract):
    """`listen`: what daemons hear of each other."""

    async def test_a_store_of_ones_own_is_silent(self, backend: Backend, queue: QueueId) -> None:
        """Who listens hears nothing of what is done here, wherever it may be heard."""
        heard: list[Transition] = []
        backend.listen(heard.extend)
        await put(backend, queue)
        await backend.ack(queue, [(await take_one(backend, queue)).receipt], now=START)
        await backend.tick(now=START, limit=10)
        await trio.testing.wait_all_tasks_blocked()
        assert [each for each in heard if each.queue is not None] == []

    @only_shared
    async def test_what_others_do_is_heard(self, backend: Backend, queue: QueueId, url: str) -> None:
        """Each step with its queue and message, and the verb as the lifecycle has it; one's own steps are not."""
        ears = Ears(backend)
        async with self.open_store(url) as other:
            await ears.open(other, queue)
            own = await put(backend, queue, priority=9)
            await backend.ack(queue, [(await take_one(backend, queue)).receipt], now=START)
            expected = set()
            for verb in OTHERS_VERBS:
                message = await self._let_do(other, queue, verb)
                expected.add(Transition(queue=queue, verb=verb, message=message))
            await ears.hear(expected)
            assert not any(each.message == own for each in ears.heard)

    @only_shared
    async def test_moves_burials_and_claims_by_name_are_heard(self, backend: Backend, queue: QueueId, url: str) -> None:
        """A move in both queues: it is published in the target, for those who wait there."""
        target = await new_queue(backend, "target")
        ears = Ears(backend)
        async with self.open_store(url) as other:
            await ears.open(other, queue)
            moved, buried, taken = [await put(other, queue) for _ in range(3)]
            assert await other.move(queue, moved, target=target, room=ANY) is Settled.DONE
            await other.bury(queue, [buried])
            await other.take(queue, [taken], lease=LEASE, now=START)
            await ears.hear(
                {
                    Transition(queue=queue, verb=Verb.MOVE, message=moved),
                    Transition(queue=target, verb=Verb.PUBLISH, message=moved),
                    Transition(queue=queue, verb=Verb.BURY, message=buried),
                    Transition(queue=queue, verb=Verb.DEQUEUE, message=taken),
                }
            )

    @only_shared
    async def test_an_outage_is_told(self, backend: Backend, queue: QueueId, url: str) -> None:
        """Once it is over, for something may have happened anywhere; and then others are heard again."""
        ears = Ears(backend)
        async with self.open_store(url) as other:
            await ears.open(other, queue)
            await self.interrupt(backend, url)
            await ears.hear({ANYTHING})
            await ears.open(other, queue)

    async def _let_do(  # noqa: C901, PLR0912 - a table
        self, other: Backend, queue: QueueId, verb: Verb
    ) -> MessageId:
        """Let *other* make a step that is called *verb*; return its message, the only one in the queue."""
        await other.clear(queue)
        message = await put(other, queue)
        match verb:
            case Verb.PUBLISH:
                return message
            case Verb.PAUSE:
                await other.pause(queue, [message])
                return message
            case Verb.RESUME:
                await other.resume(queue, [message])
                return message
            case Verb.CANCEL:
                await other.cancel(queue, [message], now=START)
                return message
            case Verb.PRUNE | Verb.TERMINATE:
                brief = Retention(records=9, seconds=BRIEF if verb is Verb.TERMINATE else FOREVER)
                await other.cancel(queue, [message], now=START, keep=brief)
                if verb is Verb.PRUNE:
                    await other.prune(queue, [message])
                else:
                    await other.tick(now=LATER, limit=10)
                return message
        claimed = await take_one(other, queue, lease=0.0)
        refs = [claimed.receipt]
        match verb:
            case Verb.UNDO:
                await other.undo(queue, refs, now=START)
            case Verb.ACK:
                await other.ack(queue, refs, now=START)
            case Verb.NACK:
                await nack(other, queue, refs)
            case Verb.EXPIRE:
                await other.expire(queue, [Verdict(ref=claimed.receipt)], now=LATER)
            case Verb.BURY:
                await bury(other, queue, claimed)
            case Verb.RETRY:
                await bury(other, queue, claimed)
                await other.retry(queue, [message], now=START)
            case Verb.DROP:
                await bury(other, queue, claimed)
                await other.drop(queue, [message])
        return message
