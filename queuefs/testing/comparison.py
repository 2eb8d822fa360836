"""Makes the same calls on a back end and on the memory back end, and compares.

A step is a verb and a few small numbers. What these stand for is decided when the step is taken, by what there is then:
hypothesis' own state machine, which has to choose beforehand, settled not one message in 2000 steps. Ids and numbers
may differ from store to store; both sides are compared by the order in which theirs were given.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from queuefs.errors import QueueFSError
from queuefs.lifecycle import State
from queuefs.message import ROOT, Message, MessageId, Owner, Queue, QueueId, Ref
from queuefs.testing.base import OWNER, START

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from queuefs.backend import Backend

    Call = Callable[["Side"], Awaitable[object]]

#: Leases to choose from, seconds. Where the server's clock counts, a test can only tell "over at once" from "never".
LEASES = (0.0, 1.0, 4.0, 16.0)
SERVER_TIME_LEASES = (0.0, 1e6, 1e6, 1e6)

#: Of eight picks the one that may be anything, and not only what the step is meant for.
_RARE = 7

NAMES = ("a_b", "aXb", "a")


@dataclass
class Side:
    """One of the two stores, and what each of the machine's numbers is called in it."""

    backend: Backend
    queues: list[QueueId] = field(default_factory=list)
    messages: list[MessageId] = field(default_factory=list)

    def plain(self, answer: object, *, times: bool) -> Any:
        """Return *answer* with this store's numbers replaced by the machine's."""
        match answer:
            case Message():
                lease_until = answer.lease_until if times or answer.lease_until is None else 0.0
                number = MessageId(self.messages.index(answer.id))
                enqueued_at = answer.enqueued_at if times else 0.0
                return replace(answer, id=number, enqueued_at=enqueued_at, lease_until=lease_until)
            case Queue():
                return answer.name, self.queues.index(answer.id), answer.owner
            case list() | tuple():
                return [self.plain(each, times=times) for each in answer]
            case _:
                return answer


class Comparison:
    """Takes each step on both sides and compares the answers, and then all that can be seen.

    The stores stay open from one example to the next, so each works below a queue of its own and leaves no message.
    """

    def __init__(self, backend: Backend, memory: Backend, *, name: str) -> None:
        """Compare *backend* with *memory* below the queue *name*, which is new to both."""
        self._sides = [Side(memory), Side(backend)]
        self._name = name
        self._own_time = not backend.traits.server_time
        self._alone = not backend.traits.shared
        self._now = START
        #: The queue each message was staged in, and how many bytes it has got.
        self._home: list[int] = []
        self._sizes: list[int] = []
        #: What there is, as of the last step.
        self._removed: set[int] = set()
        self._processing: list[int] = []
        self._published: set[int] = set()

    async def play(self, steps: Sequence[tuple[str, dict[str, Any]]]) -> None:
        """Take all *steps*; then publish and read what there is."""
        try:
            await self._create(None, self._name)
            await self.create_queue(parent=0, name=0)
            for verb, arguments in steps:
                await getattr(self, verb)(**arguments)
            everything = range(len(self._home))
            for message in everything:
                await self._finish(message, self._home[message])
            for queue in range(len(self._sides[0].queues)):
                await self._read(queue, everything)
        finally:
            for side in self._sides:
                await self._sweep(side)

    async def _sweep(self, side: Side) -> None:
        """Leave no message that the next example's ticks would find."""
        for queue in side.queues:
            for message in side.messages:
                await self._answer(side, lambda side, at=(queue, message): side.backend.discard(*at))  # type: ignore[misc]
            await self._answer(side, lambda side, queue=queue: side.backend.clear(queue))  # type: ignore[misc]

    # How it is compared -----------------------------------------------------------------------------------------------

    async def _both(self, call: Call) -> Any:
        """Make a call on both sides and return the answer, which must be the same."""
        memory, other = [await self._answer(side, call) for side in self._sides]
        assert other == memory, "the answer is not that of the memory back end"
        seen_in_memory, seen = [await self._view(side) for side in self._sides]
        assert seen == seen_in_memory, "what can be seen afterwards is not what the memory back end shows"
        shown = [each for view in seen if isinstance(view, list) for each in view if isinstance(each, Message)]
        self._processing = [each.id for each in shown if each.state is State.PROCESSING]
        self._published.update(each.id for each in shown)
        return memory

    async def _answer(self, side: Side, call: Call) -> Any:
        try:
            return side.plain(await call(side), times=self._own_time)
        except QueueFSError as error:
            return type(error)

    async def _view(self, side: Side) -> list[Any]:
        """Return all that can be seen of every queue."""
        store = side.backend
        looks = (store.get_queue, store.children, store.counts, store.unacked_bytes, store.snapshot)
        calls: list[Awaitable[object]] = [look(queue) for queue in side.queues for look in looks]
        return [await self._answer(side, lambda _, made=call: made) for call in calls]  # type: ignore[misc]

    async def _create(self, parent: int | None, name: str) -> None:
        async def call(side: Side) -> int:
            above = ROOT if parent is None else side.queues[parent]
            number = (await side.backend.create_queue(above, name, owner=OWNER, now=self._now)).id
            assert number not in side.queues, f"queue {number} was given before"
            side.queues.append(number)
            return len(side.queues) - 1

        await self._both(call)

    # What the numbers of a step stand for -----------------------------------------------------------------------------

    def _queue(self, pick: int) -> int:
        """Return a queue; one that was removed now and then."""
        queues = [
            queue for queue in range(len(self._sides[0].queues)) if pick % 8 == _RARE or queue not in self._removed
        ]
        return queues[pick % len(queues)]

    def _message(self, pick: int) -> int | None:
        """Return a message, mostly one in processing."""
        few = self._processing if pick % 8 != _RARE and self._processing else range(len(self._home))
        return few[pick % len(few)] if few else None

    def _staged(self, pick: int) -> int | None:
        """Return a message, mostly one that was not published yet."""
        everything = range(len(self._home))
        few = [each for each in everything if pick % 8 == _RARE or each not in self._published]
        return few[pick % len(few)] if few else None

    def _lease(self, pick: int) -> float:
        return (LEASES if self._own_time else SERVER_TIME_LEASES)[pick]

    # Steps ------------------------------------------------------------------------------------------------------------

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

    async def set_owner(self, *, queue: int, uid: int) -> None:
        """Give a queue to somebody else."""
        number, owner = self._queue(queue), Owner(uid=uid, gid=uid, mode=0o700)
        await self._both(lambda side: side.backend.set_owner(side.queues[number], owner))

    async def stage(self, *, queue: int, data: bytes, priority: int, partial: bool) -> None:
        """Begin a message."""
        number = self._queue(queue)

        async def call(side: Side) -> int:
            message = await side.backend.stage(
                side.queues[number], data, partial=partial, priority=priority, now=self._now
            )
            assert not side.messages or message > side.messages[-1], f"{message} is not higher than all before"
            side.messages.append(message)
            return len(side.messages) - 1

        if isinstance(await self._both(call), int):
            self._home.append(number)
            self._sizes.append(len(data))

    async def put(self, *, queue: int, data: bytes, priority: int) -> None:
        """Begin a message and publish it."""
        before = len(self._home)
        await self.stage(queue=queue, data=data, priority=priority, partial=False)
        if len(self._home) > before:
            await self._finish(before, self._home[before])

    async def append(self, *, message: int, data: bytes, off: int, partial: bool) -> None:
        """Add to a message, at the wrong place now and then."""
        number = self._staged(message)
        if number is None:
            return
        home, offset = self._home[number], max(0, self._sizes[number] + off)
        answer = await self._both(
            lambda side: side.backend.append(
                side.queues[home], side.messages[number], data, offset=offset, partial=partial
            )
        )
        if answer is None:
            self._sizes[number] += len(data)

    async def finish(self, *, message: int, queue: int, at_home: bool, discard: bool) -> None:
        """Publish or discard a message, as if it were in another queue now and then."""
        number = self._staged(message)
        if number is not None:
            await self._finish(number, self._home[number] if at_home else self._queue(queue), discard=discard)

    async def _finish(self, message: int, queue: int, *, discard: bool = False) -> None:
        def call(side: Side) -> Awaitable[None]:
            method = side.backend.discard if discard else side.backend.publish
            return method(side.queues[queue], side.messages[message])

        await self._both(call)

    async def claim(self, *, queue: int, count: int, lease: int) -> None:
        """Claim up to three."""
        number, seconds = self._queue(queue), self._lease(lease)
        await self._both(
            lambda side: side.backend.claim(side.queues[number], count=count, lease=seconds, now=self._now)
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
            if verb == "extend":
                return side.backend.extend(side.queues[number], those, lease=self._lease(lease), now=self._now)
            store = side.backend
            method = {"undo": store.undo, "ack": store.ack, "nack": store.nack, "check": store.check}[verb]
            return method(side.queues[number], those)

        await self._both(call)

    async def clear(self, *, queue: int) -> None:
        """Remove what is unacknowledged."""
        number = self._queue(queue)
        await self._both(lambda side: side.backend.clear(side.queues[number]))

    async def look(self, *, queue: int, count: int) -> None:
        """Read the first ones, and the payloads of all messages whatever their queue."""
        number = self._queue(queue)
        await self._both(lambda side: side.backend.peek(side.queues[number], count=count))
        await self._read(number, range(len(self._home)))

    async def _read(self, queue: int, wanted: Sequence[int]) -> None:
        await self._both(
            lambda side: side.backend.payloads(side.queues[queue], [side.messages[each] for each in wanted])
        )

    async def tick(self, *, seconds: float) -> None:
        """Let time pass and do what is due; without a limit, as the contract does not say which is the first."""
        self._now += seconds

        async def call(side: Side) -> object:
            tick = await side.backend.tick(now=self._now, limit=1000)
            expired = sorted((side.queues.index(queue), side.messages.index(each)) for queue, each in tick.expired)
            return expired, tick.next_due if self._own_time and self._alone else None

        await self._both(call)
