"""A random walk through the steps of messages, and what the totals have to be then."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from queuefs.backend import Settled
from queuefs.errors import KeyInUse
from queuefs.lifecycle import State
from queuefs.message import Draft, MessageId, QueueId, Ref, Retention, Stats, Verdict
from queuefs.testing.base import ANY, FOREVER, LATER, START, ids, publish, stage, take

if TYPE_CHECKING:
    import random

    from queuefs.backend import Backend


#: Fewer records than there would be.
KEPT = Retention(records=5, seconds=FOREVER)


@dataclass
class Counted:
    """A count kept by adding up answers."""

    enqueued: int = 0
    dequeued: int = 0
    acked: int = 0
    nacked: int = 0
    expired: int = 0
    buried: int = 0


@dataclass
class Walk:
    """Steps chosen at random, and what they have to add up to."""

    backend: Backend
    queue: QueueId
    #: Where messages are moved to, and come back from.
    other: QueueId
    random: random.Random
    stats: Counted = field(default_factory=Counted)
    given: list[MessageId] = field(default_factory=list)
    claimed: list[MessageId] = field(default_factory=list)

    async def step(self) -> None:
        """Make one step."""
        await self.random.choice(
            [
                *[self._put] * 3,
                *[self._claim] * 3,
                self._ack,
                self._nack,
                self._undo,
                self._expire,
                self._name,
                self._take,
                self._move,
                self._clear,
            ]
        )()

    def _some(self) -> list[MessageId]:
        return self.random.sample(choice := [*self.given[-6:], *self.claimed[-6:]], min(len(choice), 3))

    async def _put(self) -> None:
        draft = Draft(
            delay=self.random.choice([0, 0, 0, 0, FOREVER]), key=self.random.choice([None, None, None, "key"])
        )
        message = await stage(self.backend, self.queue, b"x" * self.random.randrange(9), draft=draft)
        self.given.append(message)
        self.stats.enqueued += await publish(self.backend, self.queue, message) == message

    async def _claim(self) -> None:
        claimed = ids(await take(self.backend, self.queue, 2, lease=0.0))
        self.stats.dequeued += len(claimed)
        self.claimed += claimed

    async def _ack(self) -> None:
        refs = [Ref(each) for each in self._some()]
        answers = await self.backend.ack(self.queue, refs, now=START, keep=KEPT)
        self.stats.acked += list(answers).count(Settled.DONE)

    async def _take(self) -> None:
        some = self._some()
        answers = list(await self.backend.take(self.queue, some, lease=0.0, now=START))
        self.stats.dequeued += answers.count(Settled.DONE)
        self.claimed += [message for message, answer in zip(some, answers, strict=True) if answer is Settled.DONE]

    async def _move(self) -> None:
        away = self.random.random() < 1 / 2
        source, target = (self.queue, self.other) if away else (self.other, self.queue)
        for message in self._some():
            try:
                settled = await self.backend.move(source, message, target=target, room=ANY)
            except KeyInUse:
                continue
            self.stats.enqueued += settled is Settled.DONE and not away

    async def _undo(self) -> None:
        answers = await self.backend.undo(self.queue, [Ref(each) for each in self._some()], now=START, keep=KEPT)
        self.stats.dequeued -= list(answers).count(Settled.DONE)

    async def _nack(self) -> None:
        self.stats.nacked += await self._verdict(expire=False)

    async def _expire(self) -> None:
        self.stats.expired += await self._verdict(expire=True)

    async def _verdict(self, *, expire: bool) -> int:
        dead = self.random.random() < 1 / 2
        verdicts = [
            Verdict(ref=Ref(each), dead=dead, delay=self.random.choice([0, 0, FOREVER])) for each in self._some()
        ]
        found = await self.backend.find(self.queue, [each.ref.id for each in verdicts])
        call = self.backend.expire if expire else self.backend.nack
        answers = await call(self.queue, verdicts, now=LATER)
        done = [message for message, answer in zip(found, answers, strict=True) if answer is Settled.DONE]
        self.stats.buried += sum(message is not None and not message.cancelled for message in done) if dead else 0
        return len(done)

    async def _name(self) -> None:
        some = self._some()
        match self.random.choice(["pause", "resume", "cancel", "bury", "retry", "drop", "prune"]):
            case "pause":
                await self.backend.pause(self.queue, some)
            case "resume":
                await self.backend.resume(self.queue, some)
            case "cancel":
                await self.backend.cancel(self.queue, some, now=START, keep=KEPT)
            case "bury":
                answers = await self.backend.bury(self.queue, some)
                self.stats.buried += list(answers).count(Settled.DONE)
            case "prune":
                await self.backend.prune(self.queue, some)
            case "retry":
                await self.backend.retry(self.queue, some, now=START)
            case _:
                await self.backend.drop(self.queue, some)

    async def _clear(self) -> None:
        if self.random.random() < 1 / 8:
            await self.backend.clear(self.queue)

    async def compare(self) -> None:
        """Compare what `stats` says with what the answers add up to, and with what is shown."""
        viewing, asking = self.backend.snapshot(self.queue), self.backend.stats(self.queue)
        burying = self.backend.dead(self.queue)
        keeping = self.backend.records(self.queue, after=None, limit=99, now=START)
        shown = list(await viewing)
        stats = await asking
        pending = [each for each in shown if each.state is State.PENDING]
        assert stats == Stats(
            pending=len(pending),
            processing=len(shown) - len(pending),
            delayed=sum(each.due is not None and not each.paused for each in pending),
            paused=sum(each.paused for each in pending),
            dead=len(await burying),
            done=len(await keeping),
            unacked_bytes=sum(each.size for each in shown),
            oldest_pending=min((each.enqueued_at for each in pending), default=None),
            enqueued=self.stats.enqueued,
            dequeued=self.stats.dequeued,
            acked=self.stats.acked,
            nacked=self.stats.nacked,
            expired=self.stats.expired,
            buried=self.stats.buried,
        )
