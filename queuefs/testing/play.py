"""The steps of a comparison: what a back end and the memory back end are both asked to do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from queuefs.backend import Settled
from queuefs.errors import KeyInUse, QueueFull
from queuefs.lifecycle import State
from queuefs.message import Ref, Verdict
from queuefs.testing.comparison import ALL, Side
from queuefs.testing.staging import Staging

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from queuefs.message import Draft, Ended, Message, MessageId, Outcome, Place, Record, Room


class Play(Staging):
    """Each method is a step; its numbers are picks."""

    async def claim(self, *, queue: int, count: int, lease: int, lifo: bool, inline: int | None) -> None:
        """Claim up to three."""
        number, seconds = self._queue_with(queue, State.PENDING), self._span(lease)
        await self._both(
            lambda side: side.backend.claim(
                side.queues[number], count=count, lease=seconds, lifo=lifo, now=self._now, inline=inline
            )
        )

    async def take(self, *, messages: Sequence[int], lease: int, queue: int, at_home: bool) -> None:
        """Claim up to three by name, in their queue or another."""
        if not (named := self._named(messages, State.PENDING)):
            return
        number, seconds = self._home[named[0]] if at_home else self._queue(queue), self._span(lease)

        def call(side: Side) -> Awaitable[object]:
            those = [side.messages[each] for each in named]
            return side.backend.take(side.queues[number], those, lease=seconds, now=self._now)

        await self._both(call)

    async def work(self, *, queue: int, data: bytes, draft: Draft, cancelled: bool, how: str, outcome: Outcome) -> None:
        """Put one, claim it and settle it, mostly after it was cancelled."""
        before = len(self._home)
        await self.put(queue=queue, data=data, draft=draft)
        if len(self._home) == before:
            return
        number, keep = self._home[before], self._keep(self._home[before])
        await self._both(
            lambda side: side.backend.take(side.queues[number], [side.messages[before]], lease=9.0, now=self._now)
        )
        if cancelled:
            await self._both(lambda side: self._by_name(side, "cancel", number, [side.messages[before]]))

        def call(side: Side) -> Awaitable[object]:
            store, there, refs = side.backend, side.queues[number], [Ref(side.messages[before])]
            if how == "ack":
                return store.ack(there, refs, now=self._now, keep=keep, outcome=outcome)
            if how == "undo":
                return store.undo(there, refs, now=self._now, keep=keep)
            return store.nack(there, [Verdict(ref=refs[0], dead=how == "bury")], now=self._now, keep=keep)

        await self._both(call)

    async def move(self, *, message: int, queue: int, target: int, at_home: bool, room: Room) -> None:
        """Move one, from its queue or another."""
        number = self._message(message, State.PENDING)
        if number is None:
            return
        source, goal = self._home[number] if at_home else self._queue(queue), self._queue(target)

        async def call(side: Side) -> object:
            try:
                return await side.backend.move(
                    side.queues[source], side.messages[number], target=side.queues[goal], room=room
                )
            except (QueueFull, KeyInUse):
                return "refused"  # which it is where it is both, is not said

        if await self._both(call) is Settled.DONE:
            self._home[number] = goal

    def _named(self, messages: Sequence[int], state: State) -> list[int]:
        """Return what is picked, mostly messages in *state*."""
        return [message for pick in messages if (message := self._message(pick, state)) is not None]

    async def settle(
        self,
        *,
        verb: str,
        refs: Sequence[tuple[int, int | None]],
        queue: int,
        at_home: bool,
        lease: int,
        outcome: Outcome,
    ) -> None:
        """Settle up to three, in their queue or another, by id or by a receipt that may be stale."""
        named = [(message, claim) for pick, claim in refs if (message := self._message(pick)) is not None]
        if not named:
            return
        number = self._home[named[0][0]] if at_home else self._queue(queue)

        def call(side: Side) -> Awaitable[object]:
            those = [Ref(side.messages[message], claim) for message, claim in named]
            store = side.backend
            if verb == "extend":
                return store.extend(side.queues[number], those, lease=self._span(lease), now=self._now)
            if verb == "check":
                return store.check(side.queues[number], those)
            if verb == "undo":
                return store.undo(side.queues[number], those, now=self._now, keep=self._keep(number))
            return store.ack(side.queues[number], those, now=self._now, keep=self._keep(number), outcome=outcome)

        await self._both(call)

    async def judge(
        self, *, expire: bool, refs: Sequence[tuple[int, int | None]], terms: Verdict, queue: int, at_home: bool
    ) -> None:
        """Nack up to three, or let their leases end; the delay is a pick."""
        named = [(message, claim) for pick, claim in refs if (message := self._message(pick)) is not None]
        if not named:
            return
        number = self._home[named[0][0]] if at_home else self._queue(queue)
        delay = self._span(int(terms.delay))

        def call(side: Side) -> Awaitable[object]:
            those = [replace(terms, ref=Ref(side.messages[message], claim), delay=delay) for message, claim in named]
            method = side.backend.expire if expire else side.backend.nack
            return method(side.queues[number], those, now=self._now, keep=self._keep(number))

        await self._both(call)

    async def name(self, *, verb: str, messages: Sequence[int], queue: int, at_home: bool) -> None:
        """Pause, resume, cancel, bury, retry, drop or prune up to three, in their queue or another."""
        state = {"retry": State.DEAD, "drop": State.DEAD, "prune": State.DONE}.get(verb, State.PENDING)
        if verb == "cancel" and messages[0] % 2:
            state = State.PROCESSING
        if not (named := self._named(messages, state)):
            return
        number = self._home[named[0]] if at_home else self._queue(queue)
        await self._both(lambda side: self._by_name(side, verb, number, [side.messages[each] for each in named]))

    async def finish_all(self, *, queue: int, verb: str) -> None:
        """Retry or drop all that are dead, or prune all records."""
        number = self._queue_with(queue, State.DONE if verb == "prune" else State.DEAD)
        await self._both(lambda side: self._by_name(side, verb, number, None))

    def _by_name(self, side: Side, verb: str, queue: int, messages: Sequence[MessageId] | None) -> Awaitable[object]:
        store, number = side.backend, side.queues[queue]
        if verb == "retry":
            return store.retry(number, messages, now=self._now)
        if messages is None or verb in {"drop", "prune"}:
            return (store.prune if verb == "prune" else store.drop)(number, messages)
        if verb == "cancel":
            return store.cancel(number, messages, now=self._now, keep=self._keep(queue))
        if verb == "bury":
            return store.bury(number, messages, reason=None if messages[0] % 2 else "é")
        return {"pause": store.pause, "resume": store.resume}[verb](number, messages)

    async def clear(self, *, queue: int) -> None:
        """Remove what is unacknowledged."""
        number = self._queue(queue)
        await self._both(lambda side: side.backend.clear(side.queues[number]))

    async def look(self, *, queue: int, count: int, lifo: bool, inline: int | None) -> None:
        """Read the first ones, and the payloads of all messages whatever their queue."""
        number = self._queue_with(queue, State.PENDING)
        await self._both(
            lambda side: side.backend.peek(side.queues[number], count=count, lifo=lifo, now=self._now, inline=inline)
        )
        await self._read(number)

        async def unacked(side: Side) -> int:
            return (await side.backend.space()).messages

        await self._both(unacked)

    async def page(self, *, queue: int, state: State, limit: int, lifo: bool) -> None:
        """Page through the messages of a state, or the records."""
        await self._page(self._queue_with(queue, state), state, limit, lifo=lifo)

    async def _page(self, number: int, state: State, limit: int, *, lifo: bool) -> None:
        async def call(side: Side) -> object:
            found: list[Message | Record] = []
            place: Place | None = None
            ended: Ended | None = None
            while len(found) < ALL:
                if state is State.DONE:
                    records = await side.backend.records(side.queues[number], after=ended, limit=limit, now=self._now)
                    found += records
                    ended = records[-1].ended if records else None
                else:
                    page = await side.backend.page(side.queues[number], state, after=place, limit=limit, lifo=lifo)
                    there = await side.backend.places(side.queues[number], state, after=place, limit=limit, lifo=lifo)
                    assert list(there) == [each.place for each in page]
                    found += page
                    place = page[-1].place if page else None
                if ended is None and place is None:
                    return found
            raise AssertionError("a page that never ends")

        await self._both(call)

    async def read(self, *, message: int, queue: int, at_home: bool, offset: int, size: int) -> None:
        """Read a piece of a payload, in its queue or another."""
        number = self._message(message, State.PENDING)
        if number is None:
            return
        place = self._home[number] if at_home else self._queue(queue)

        def call(side: Side) -> Awaitable[object]:
            return side.backend.read(side.queues[place], side.messages[number], offset=offset, size=size)

        await self._both(call)

    async def _read(self, queue: int) -> None:
        await self._both(lambda side: side.backend.payloads(side.queues[queue], side.messages))
        await self._both(lambda side: side.backend.find(side.queues[queue], side.messages))
        await self._both(lambda side: side.backend.find_records(side.queues[queue], side.messages, now=self._now))

    async def tick(self, *, seconds: float) -> None:
        """Let time pass and do what is due; without a limit, as the contract does not say which is the first."""
        self._now += seconds

        async def call(side: Side) -> object:
            tick = await side.backend.tick(now=self._now, limit=1000)
            overdue = sorted(
                (side.messages.index(each.receipt.id), each.receipt.claim, each.attempt, each.cancelled)
                for each in tick.overdue
            )
            lapsed = sorted((side.queues.index(queue), side.messages.index(each)) for queue, each in tick.lapsed)
            queues = [queue for place, queue in enumerate(side.queues) if place not in self._removed]
            delayed = [(await side.backend.stats(queue)).delayed for queue in queues]
            # Whether one ended that was never shown, for there were later ones when it came, is not said.
            ended = sorted({side.messages.index(each) for _, each in tick.terminated} & recorded)
            return overdue, lapsed, delayed, ended, tick.next_due if self._own_time and self._alone else None

        recorded, self._recorded = self._recorded, set()
        await self._both(call)

    async def _finish_all(self) -> None:
        """Publish, read and page through what there is."""
        for message, home in enumerate(self._home):
            await self._publish(message, home)
        for queue in range(len(self._sides[0].queues)):
            await self._read(queue)
            for state in (State.PENDING, State.PROCESSING, State.DEAD, State.DONE):
                await self._page(queue, state, 1 + queue % 3, lifo=queue % 2 == 0)
