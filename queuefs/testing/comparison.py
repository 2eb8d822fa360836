"""Two back ends side by side, of which one is the memory back end: how calls are made on both and compared.

A step is a verb and a few small numbers. What these stand for is decided when the step is taken, by what there is then:
hypothesis' own state machine, which has to choose beforehand, settled not one message in 2000 steps. Ids and numbers
may differ from store to store; both sides are compared by the order in which theirs were given.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from queuefs.errors import QueueFSError
from queuefs.lifecycle import State
from queuefs.message import ROOT, Message, MessageId, Queue, QueueId, Record, Retention, Stats
from queuefs.testing.base import FOREVER, OWNER, START

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from queuefs.backend import Backend

    Call = Callable[["Side"], Awaitable[object]]

#: How long a lease, a delay or a life may last, seconds; for the latter two the first means none. Where the server's
#: clock counts, a test can only tell "over at once" from "never".
SPANS = (0.0, 1.0, 4.0, 16.0)

#: Of eight picks the one that may be anything, and not only what the step is meant for.
_RARE = 7

NAMES = ("a_b", "aXb", "a")

#: A moment that has not come, neither on a server's clock nor on a test's.
FAR_AWAY = 2.0**31

#: More than there ever is.
ALL = 1000


@dataclass
class Side:
    """One of the two stores, and what each of the machine's numbers is called in it."""

    backend: Backend
    queues: list[QueueId] = field(default_factory=list)
    messages: list[MessageId] = field(default_factory=list)
    #: Lower ids were enqueued before higher ones; else, which is the oldest is not said.
    in_order: bool = True

    def plain(self, answer: object, *, times: bool) -> Any:  # noqa: PLR0911 - a table
        """Return *answer* with this store's numbers replaced by the machine's."""

        def moment(at: float | None) -> float | None:
            return at if times or at is None else 0.0

        match answer:
            case Message():
                return replace(
                    answer,
                    id=MessageId(self.messages.index(answer.id)),
                    enqueued_at=answer.enqueued_at if times else 0.0,
                    lease_until=moment(answer.lease_until),
                    due=moment(answer.due),
                    expires_at=moment(answer.expires_at),
                    claimed_at=moment(answer.claimed_at),
                )
            case Record():
                return replace(
                    answer,
                    id=MessageId(self.messages.index(answer.id)),
                    enqueued_at=answer.enqueued_at if times else 0.0,
                    claimed_at=moment(answer.claimed_at),
                    finished_at=answer.finished_at if times else 0.0,
                )
            case Queue():
                return answer.name, self.queues.index(answer.id), answer.owner, answer.config, dict(answer.files)
            case Stats():  # whether a delay is over, a store may learn with the next tick
                oldest = moment(answer.oldest_pending) if self.in_order else answer.oldest_pending and 0.0
                return replace(answer, oldest_pending=oldest, delayed=0)
            case list() if not times and all(isinstance(each, Record) for each in answer):
                # what ends at one moment of a test ends at several of a server's
                return sorted((self.plain(each, times=times) for each in answer), key=lambda record: record.id)
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
        self._by_state: dict[State, list[int]] = {}
        self._published: set[int] = set()
        #: Whose records were shown, and have not ended since.
        self._recorded: set[int] = set()

    async def play(self, steps: Sequence[tuple[str, dict[str, Any]]]) -> None:
        """Take all *steps*; then publish and read what there is."""
        try:
            await self._create(None, self._name)
            for name in NAMES[:2]:
                await self._create(0, name)
            for verb, arguments in steps:
                await getattr(self, verb)(**arguments)
            await self._finish_all()
            for side in self._sides:
                assert await side.backend.audit() == []
                assert list(await side.backend.repair()) == []
        finally:
            for side in self._sides:
                await self._sweep(side)

    async def _sweep(self, side: Side) -> None:
        """Leave nothing that the next example's ticks would find."""
        for queue in side.queues:
            for message in side.messages:
                await self._answer(side, lambda side, at=(queue, message): side.backend.discard(*at))  # type: ignore[misc]
            await self._answer(side, lambda side, queue=queue: side.backend.clear(queue))  # type: ignore[misc]
            await self._answer(side, lambda side, queue=queue: side.backend.drop(queue, None))  # type: ignore[misc]
            await self._answer(side, lambda side, queue=queue: side.backend.prune(queue, None))  # type: ignore[misc]
        await side.backend.tick(now=self._now, limit=ALL)

    # How it is compared -----------------------------------------------------------------------------------------------

    async def _both(self, call: Call) -> Any:
        """Make a call on both sides and return the answer, which must be the same."""
        memory, other = [await self._answer(side, call) for side in self._sides]
        assert other == memory, "the answer is not that of the memory back end"
        seen_in_memory, seen = [await self._view(side) for side in self._sides]
        assert seen == seen_in_memory, "what can be seen afterwards is not what the memory back end shows"
        shown = [each for view in seen if isinstance(view, list) for each in view if isinstance(each, Message)]
        self._by_state = {state: [each.id for each in shown if each.state is state] for state in State}
        self._published.update(each.id for each in shown)
        records = [each for view in seen if isinstance(view, list) for each in view if isinstance(each, Record)]
        self._recorded.update(each.id for each in records)
        self._by_state[State.DONE] = [each.id for each in records]
        return memory

    async def _finish_all(self) -> None:
        """Do what remains to be done at the end."""

    async def _answer(self, side: Side, call: Call) -> Any:
        try:
            return side.plain(await call(side), times=self._own_time)
        except QueueFSError as error:
            return type(error)

    async def _view(self, side: Side) -> list[Any]:
        """Return all that can be seen of every queue."""
        store = side.backend
        looks = (
            store.get_queue,
            store.children,
            store.counts,
            store.unacked_bytes,
            store.snapshot,
            store.dead,
            store.stats,
        )
        calls: list[Awaitable[object]] = [look(queue) for queue in side.queues for look in looks]
        calls += [store.records(queue, after=None, limit=ALL, now=self._now) for queue in side.queues]
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

    def _queue_with(self, pick: int, state: State) -> int:
        """Return a queue, mostly one with messages in *state*."""
        few = self._by_state.get(state) if pick % 8 != _RARE else None
        return self._home[few[pick % len(few)]] if few else self._queue(pick)

    def _message(self, pick: int, state: State = State.PROCESSING) -> int | None:
        """Return a message, mostly one in *state*."""
        few = self._by_state.get(state) if pick % 8 != _RARE else None
        return _one_of(few or range(len(self._home)), pick)

    def _staged(self, pick: int) -> int | None:
        """Return a message, mostly one that was not published yet."""
        everything = range(len(self._home))
        return _one_of([each for each in everything if pick % 8 == _RARE or each not in self._published], pick)

    def _span(self, pick: int) -> float:
        return SPANS[pick] if self._own_time or not pick else FOREVER

    def _keep(self, queue: int) -> Retention | None:
        """Return which records a queue keeps, which is always the same, likewise."""
        if queue % 3 == 2:  # noqa: PLR2004 - the third
            return None
        if not self._own_time:
            return Retention(records=ALL, seconds=FOREVER)
        return Retention(records=2, seconds=FOREVER) if queue % 3 else Retention(records=ALL, seconds=4.0)

    def _moment(self, pick: int) -> float | None:
        """Return a moment to come, or none."""
        if not pick:
            return None
        return self._now + SPANS[pick] if self._own_time else FAR_AWAY

    def _window(self, queue: int) -> float:
        """Return the window of the keys of a queue, which is always the same: what a change forgets is not said."""
        return self._span(2 if queue % 2 else 0)


def _one_of(few: Sequence[int], pick: int) -> int | None:
    return few[pick % len(few)] if few else None
