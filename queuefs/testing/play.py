"""The steps of a comparison: what a back end and the memory back end are both asked to do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from queuefs.lifecycle import State
from queuefs.message import Draft, Owner, Ref, Room, Verdict
from queuefs.testing.comparison import NAMES, Comparison, Side

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from queuefs.message import MessageId


class Play(Comparison):
    """Each method is a step; its numbers are picks."""

    async def create_queue(self, *, parent: int, name: int) -> None:
        """Make a child, of a name that is taken now and then."""
        others = len(self._sides[0].queues)  # so that the next one of a name is not always below the same parent
        await self._create(self._queue(parent + others), NAMES[(name + others) % len(NAMES)])

    async def remove_queue(self, *, queue: int) -> None:
        """Remove a queue, but not the first, which holds the example together."""
        number = self._queue(queue) or len(self._sides[0].queues) - 1
        if await self._both(lambda side: side.backend.remove_queue(side.queues[number])) is None:
            self._removed.add(number)

    async def rename_queue(self, *, queue: int, parent: int, name: int) -> None:
        """Move a queue, where to it may not go included."""
        number, above = self._queue(queue) or len(self._sides[0].queues) - 1, self._queue(parent)
        await self._both(
            lambda side: side.backend.rename_queue(side.queues[number], parent=side.queues[above], name=NAMES[name])
        )

    async def set_config(self, *, queue: int, config: bytes, expected: bytes) -> None:
        """Change a config, or not."""
        number = self._queue(queue)
        await self._both(lambda side: side.backend.set_config(side.queues[number], config, expected=expected))

    async def set_owner(self, *, queue: int, uid: int) -> None:
        """Give a queue to somebody else."""
        number, owner = self._queue(queue), Owner(uid=uid, gid=uid, mode=0o700)
        await self._both(lambda side: side.backend.set_owner(side.queues[number], owner))

    async def stage(self, *, queue: int, data: bytes, draft: Draft, room: Room, partial: bool) -> None:
        """Begin a message, if there is room; its delay and its life are picks."""
        number = self._queue(queue)
        draft = replace(draft, delay=self._span(int(draft.delay)), ttl=self._span(int(draft.ttl)))

        async def call(side: Side) -> int:
            message = await side.backend.stage(
                side.queues[number], data, draft=draft, room=room, partial=partial, now=self._now
            )
            assert not side.messages or message > side.messages[-1], f"{message} is not higher than all before"
            side.messages.append(message)
            return len(side.messages) - 1

        if isinstance(await self._both(call), int):
            self._home.append(number)
            self._sizes.append(len(data))

    async def put(self, *, queue: int, data: bytes, draft: Draft) -> None:
        """Begin a message and publish it."""
        before = len(self._home)
        await self.stage(queue=queue, data=data, draft=draft, room=Room(), partial=False)
        if len(self._home) > before:
            await self._publish(before, self._home[before])

    async def append(self, *, message: int, data: bytes, off: int, partial: bool, room: Room) -> None:
        """Add to a message, at the wrong place now and then."""
        number = self._staged(message)
        if number is None:
            return
        if not data:
            room = Room()  # whether a piece of no bytes fits where there is too much already, is not said
        home, offset = self._home[number], max(0, self._sizes[number] + off)
        answer = await self._both(
            lambda side: side.backend.append(
                side.queues[home], side.messages[number], data, offset=offset, partial=partial, room=room
            )
        )
        if answer is None:
            self._sizes[number] += len(data)

    async def finish(self, *, message: int, queue: int, at_home: bool, discard: bool) -> None:
        """Publish or discard a message, as if it were in another queue now and then."""
        number = self._staged(message)
        if number is None:
            return
        place = self._home[number] if at_home else self._queue(queue)
        if discard:
            await self._both(lambda side: side.backend.discard(side.queues[place], side.messages[number]))
        else:
            await self._publish(number, place)

    async def _publish(self, message: int, queue: int) -> None:
        async def call(side: Side) -> bool:
            given = side.messages[message]
            there = await side.backend.publish(side.queues[queue], given, now=self._now, window=self._window(queue))
            # Two of a key are unacknowledged if a dead one was retried, and which of them is named is not said.
            return there == given

        await self._both(call)

    async def find_key(self, *, queue: int, key: str) -> None:
        """Ask whether a key is in use."""
        number = self._queue(queue)

        async def call(side: Side) -> bool:
            window = self._window(number)
            return await side.backend.find_key(side.queues[number], key, now=self._now, window=window) is not None

        await self._both(call)

    async def claim(self, *, queue: int, count: int, lease: int, lifo: bool) -> None:
        """Claim up to three."""
        number, seconds = self._queue_with(queue, State.PENDING), self._span(lease)
        await self._both(
            lambda side: side.backend.claim(side.queues[number], count=count, lease=seconds, lifo=lifo, now=self._now)
        )

    async def settle(
        self, *, verb: str, refs: Sequence[tuple[int, int | None]], queue: int, at_home: bool, lease: int
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
            method = {"undo": store.undo, "ack": store.ack}[verb]
            return method(side.queues[number], those, now=self._now)

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
            return method(side.queues[number], those, now=self._now)

        await self._both(call)

    async def name(self, *, verb: str, messages: Sequence[int], queue: int, at_home: bool) -> None:
        """Pause, resume, cancel, retry or drop up to three, in their queue or another."""
        state = State.DEAD if verb in {"retry", "drop"} else State.PENDING
        if verb == "cancel" and messages[0] % 2:
            state = State.PROCESSING
        named = [message for pick in messages if (message := self._message(pick, state)) is not None]
        if not named:
            return
        number = self._home[named[0]] if at_home else self._queue(queue)
        await self._both(lambda side: self._by_name(side, verb, number, [side.messages[each] for each in named]))

    async def finish_the_dead(self, *, queue: int, drop: bool) -> None:
        """Retry or drop all that are dead."""
        number = self._queue_with(queue, State.DEAD)
        await self._both(lambda side: self._by_name(side, "drop" if drop else "retry", number, None))

    def _by_name(self, side: Side, verb: str, queue: int, messages: Sequence[MessageId] | None) -> Awaitable[object]:
        store, number = side.backend, side.queues[queue]
        if verb == "retry":
            return store.retry(number, messages, now=self._now)
        if messages is None or verb == "drop":
            return store.drop(number, messages)
        if verb == "cancel":
            return store.cancel(number, messages, now=self._now)
        return {"pause": store.pause, "resume": store.resume}[verb](number, messages)

    async def clear(self, *, queue: int) -> None:
        """Remove what is unacknowledged."""
        number = self._queue(queue)
        await self._both(lambda side: side.backend.clear(side.queues[number]))

    async def look(self, *, queue: int, count: int, lifo: bool) -> None:
        """Read the first ones, and the payloads of all messages whatever their queue."""
        number = self._queue_with(queue, State.PENDING)
        await self._both(lambda side: side.backend.peek(side.queues[number], count=count, lifo=lifo, now=self._now))
        await self._read(number)

    async def _read(self, queue: int) -> None:
        await self._both(lambda side: side.backend.payloads(side.queues[queue], side.messages))
        await self._both(lambda side: side.backend.find(side.queues[queue], side.messages))

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
            return overdue, lapsed, delayed, tick.next_due if self._own_time and self._alone else None

        await self._both(call)

    async def _finish_all(self) -> None:
        """Publish and read what there is."""
        for message, home in enumerate(self._home):
            await self._publish(message, home)
        for queue in range(len(self._sides[0].queues)):
            await self._read(queue)
