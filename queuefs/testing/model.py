"""A hypothesis state machine: any sequence of calls leads a back end where it leads the memory back end.

Ids and numbers may differ from store to store; both sides are compared by the order in which theirs were given.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import hypothesis
import trio
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, multiple, rule, run_state_machine_as_test

from queuefs.errors import QueueFSError
from queuefs.message import ROOT, Message, MessageId, QueueId, Ref
from queuefs.registry import open_backend
from queuefs.testing.base import OWNER, START, Contract
from queuefs.testing.settling import VERBS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from queuefs.backend import Backend

#: The same examples each time: a failure that can't be repeated is worth little, and chance belongs to a nightly run.
PROFILE = hypothesis.settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=60,
    stateful_step_count=50,
    suppress_health_check=list(hypothesis.HealthCheck),
)

#: Leases that a test can tell apart where the server's clock counts, seconds: over at once, or never.
SERVER_TIME_LEASES = {0.0: 0.0, 1.0: 1e6, 4.0: 1e6, 16.0: 1e6}


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
            case list() | tuple():
                return [self.plain(each, times=times) for each in answer]
            case _:
                return answer


class SameAsMemory(RuleBasedStateMachine):
    """Makes each call on both stores and compares the answers, and then all that can be seen."""

    queues = Bundle("queues")
    messages = Bundle("messages")
    #: Messages that have been claimed at least once: what settling mostly is about.
    claimed = Bundle("claimed")
    names = st.sampled_from(["a_b", "aXb", "a"])
    leases = st.sampled_from(sorted(SERVER_TIME_LEASES))

    def __init__(self, backend: Backend, memory: Backend) -> None:
        """Compare *backend* with *memory*; runs in a thread of the trio run that both belong to."""
        super().__init__()
        self._sides = [Side(memory), Side(backend)]
        self._own_time = not backend.traits.server_time
        self._alone = not backend.traits.shared
        self._now = START
        #: The queue each message was staged in, and how many bytes it has got.
        self._home: list[int] = []
        self._sizes: list[int] = []

    # How it is compared -----------------------------------------------------------------------------------------------

    def both(self, call: Callable[[Side], Awaitable[object]]) -> object:
        """Make a call on both sides and return the answer, which must be the same."""

        async def make() -> list[object]:
            answers = [await self._answer(side, call) for side in self._sides]
            views = [await self._view(side) for side in self._sides]
            assert answers[0] == answers[1], "the answers differ (memory's first)"
            assert views[0] == views[1], "what can be seen afterwards differs (memory's first)"
            return answers

        return trio.from_thread.run(make)[0]

    async def _answer(self, side: Side, call: Callable[[Side], Awaitable[object]]) -> object:
        try:
            return side.plain(await call(side), times=self._own_time)
        except QueueFSError as error:
            return type(error)

    async def _view(self, side: Side) -> object:
        """Return all that can be seen of every queue."""
        calls: list[Awaitable[object]] = []
        for queue in side.queues:
            calls += [look(queue) for look in (side.backend.counts, side.backend.unacked_bytes, side.backend.snapshot)]
            calls += [_tree(side, queue)]
        return [await self._answer(side, lambda _, made=call: made) for call in calls]  # type: ignore[misc]

    def _made(self, call: Callable[[Side], Awaitable[int]], ids: Callable[[Side], list[Any]]) -> int | None:
        """Make a call that returns a new number; return the machine's for it, None if both sides refused."""

        async def note(side: Side) -> int:
            number = await call(side)
            assert number not in ids(side), f"{number} was given before"
            ids(side).append(number)
            return len(ids(side)) - 1

        answer = self.both(note)
        return answer if isinstance(answer, int) else None

    # Queues -----------------------------------------------------------------------------------------------------------

    @initialize(target=queues)
    def begin(self) -> int:
        """Start below a queue of its own: the stores stay open from one example to the next."""

        async def free_name() -> str:
            taken = {queue.name for side in self._sides for queue in await side.backend.children(ROOT)}
            return next(name for name in map("example {}".format, range(len(taken) + 1)) if name not in taken)

        name = trio.from_thread.run(free_name)
        number = self._made(lambda side: _create(side, ROOT, name), lambda side: side.queues)
        assert number is not None
        return number

    @rule(target=queues, parent=queues, name=names)
    def create_queue(self, parent: int, name: str) -> Any:
        """Make a child."""
        number = self._made(lambda side: _create(side, side.queues[parent], name), lambda side: side.queues)
        return multiple() if number is None else number

    @rule(queue=queues)
    def remove_queue(self, queue: int) -> None:
        """Remove a queue, but not the first, which holds the example together."""
        if queue:
            self.both(lambda side: side.backend.remove_queue(side.queues[queue]))

    @rule(queue=queues, parent=queues, name=names)
    def rename_queue(self, queue: int, parent: int, name: str) -> None:
        """Move a queue, where to it may not go included."""
        if queue:
            self.both(lambda s: s.backend.rename_queue(s.queues[queue], parent=s.queues[parent], name=name))

    # Writing ----------------------------------------------------------------------------------------------------------

    @rule(
        target=messages,
        queue=queues,
        data=st.binary(max_size=5),
        priority=st.sampled_from([0, 0, 0, 1, -1]),
        partial=st.booleans(),
    )
    def stage(self, queue: int, data: bytes, priority: int, partial: bool) -> Any:  # noqa: FBT001 - hypothesis calls it
        """Begin a message."""
        number = self._made(
            lambda side: side.backend.stage(
                side.queues[queue], data, partial=partial, priority=priority, now=self._now
            ),
            lambda side: side.messages,
        )
        if number is None:
            return multiple()
        self._home.append(queue)
        self._sizes.append(len(data))
        return number

    @rule(target=messages, queue=queues, data=st.binary(max_size=5), priority=st.sampled_from([0, 0, 0, 1, -1]))
    def put(self, queue: int, data: bytes, priority: int) -> Any:
        """Begin a message and publish it: most have to be published for the rest to have something to do."""
        number = self.stage(queue, data, priority, partial=False)
        if isinstance(number, int):
            self.both(lambda side: side.backend.publish(side.queues[queue], side.messages[number]))
        return number

    @rule(message=messages, data=st.binary(max_size=5), off=st.sampled_from([0, 0, 0, 1, -1]), partial=st.booleans())
    def append(self, message: int, data: bytes, off: int, partial: bool) -> None:  # noqa: FBT001 - as above
        """Add to a message, at the wrong place now and then."""
        answer = self.both(
            lambda side: side.backend.append(
                side.queues[self._home[message]],
                side.messages[message],
                data,
                offset=max(0, self._sizes[message] + off),
                partial=partial,
            )
        )
        if answer is None:
            self._sizes[message] += len(data)

    @rule(message=messages)
    def publish(self, message: int) -> None:
        """Publish a message, also when it was published before."""
        self.both(lambda side: side.backend.publish(side.queues[self._home[message]], side.messages[message]))

    @rule(message=messages, queue=queues, discard=st.booleans())
    def finish_elsewhere(self, message: int, queue: int, discard: bool) -> None:  # noqa: FBT001 - as above
        """Publish or discard a message as if it were in another queue."""
        if discard:
            self.both(lambda side: side.backend.discard(side.queues[queue], side.messages[message]))
        else:
            self.both(lambda side: side.backend.publish(side.queues[queue], side.messages[message]))

    @rule(message=messages)
    def discard(self, message: int) -> None:
        """Discard a message, also when it was published before."""
        self.both(lambda side: side.backend.discard(side.queues[self._home[message]], side.messages[message]))

    # Reading and settling ---------------------------------------------------------------------------------------------

    @rule(target=claimed, queue=queues, count=st.integers(1, 3), lease=leases)
    def claim(self, queue: int, count: int, lease: float) -> Any:
        """Claim up to three."""
        seconds = lease if self._own_time else SERVER_TIME_LEASES[lease]
        answer = self.both(
            lambda side: side.backend.claim(side.queues[queue], count=count, lease=seconds, now=self._now)
        )
        return multiple(*(message.id for message in answer)) if isinstance(answer, list) else multiple()

    @rule(
        verb=st.sampled_from(VERBS),
        queue=queues,
        at_home=st.sampled_from([True, True, True, False]),
        refs=st.lists(
            st.tuples(st.one_of(claimed, claimed, messages), st.sampled_from([None, None, 1, 1, 2])),
            min_size=1,
            max_size=3,
        ),
        lease=leases,
    )
    def settle(
        self,
        verb: str,
        queue: int,
        at_home: bool,  # noqa: FBT001 - as above
        refs: Sequence[tuple[int, int | None]],
        lease: float,
    ) -> None:
        """Settle up to three, in their queue or another, by id or by a receipt that may be stale."""
        place = self._home[refs[0][0]] if at_home else queue
        seconds = lease if self._own_time else SERVER_TIME_LEASES[lease]

        async def call(side: Side) -> object:
            named = [Ref(side.messages[message], claim) for message, claim in refs]
            backend, number = side.backend, side.queues[place]
            if verb == "extend":
                return await backend.extend(number, named, lease=seconds, now=self._now)
            method = {"undo": backend.undo, "ack": backend.ack, "nack": backend.nack, "check": backend.check}[verb]
            return await method(number, named)

        self.both(call)

    @rule(queue=queues)
    def clear(self, queue: int) -> None:
        """Remove what is unacknowledged."""
        self.both(lambda side: side.backend.clear(side.queues[queue]))

    # Looking and upkeep -----------------------------------------------------------------------------------------------

    @rule(queue=queues, count=st.integers(1, 4))
    def peek(self, queue: int, count: int) -> None:
        """Look at the first ones."""
        self.both(lambda side: side.backend.peek(side.queues[queue], count=count))

    @rule(queue=queues, wanted=st.lists(messages, max_size=4))
    def payloads(self, queue: int, wanted: Sequence[int]) -> None:
        """Read payloads of whatever messages."""
        self.both(lambda side: side.backend.payloads(side.queues[queue], [side.messages[each] for each in wanted]))

    @rule(seconds=st.sampled_from([0.0, 1.0, 4.0, 20.0]))
    def tick(self, seconds: float) -> None:
        """Let time pass and do what is due; without a limit, as the contract does not say which is the first."""
        self._now += seconds

        async def call(side: Side) -> object:
            tick = await side.backend.tick(now=self._now, limit=1000)
            expired = sorted((side.queues.index(queue), side.messages.index(each)) for queue, each in tick.expired)
            return expired, tick.next_due if self._own_time and self._alone else None

        self.both(call)

    def teardown(self) -> None:
        """Publish and read all there is; then leave no message behind for the next example's ticks to find."""
        for message in range(len(self._home)):
            self.publish(message)
        for queue in range(len(self._sides[0].queues)):
            self.payloads(queue, range(len(self._home)))

        async def sweep(side: Side) -> None:
            for queue in side.queues:
                calls = [side.backend.discard(queue, message) for message in side.messages]
                for call in [*calls, side.backend.clear(queue)]:
                    await self._answer(side, lambda _, made=call: made)  # type: ignore[misc]

        for side in self._sides:
            trio.from_thread.run(sweep, side)


async def _create(side: Side, parent: QueueId, name: str) -> QueueId:
    return (await side.backend.create_queue(parent, name, owner=OWNER, now=START)).id


def _tree(side: Side, queue: QueueId) -> Awaitable[object]:
    calling = side.backend.children(queue)

    async def named() -> object:
        return [(child.name, side.queues.index(child.id), child.owner) for child in await calling]

    return named()


class ModelContract(Contract):
    """The memory back end is the model of all others."""

    #: How many examples are tried, and how many steps each has.
    model_settings = PROFILE

    async def test_it_does_what_the_memory_back_end_does(self, backend: Backend) -> None:
        """Whatever calls are made, the answers and all that can be seen are the same."""
        async with open_backend("memory:") as memory:
            await trio.to_thread.run_sync(
                lambda: run_state_machine_as_test(
                    lambda: SameAsMemory(backend, memory),  # type: ignore[arg-type]  # it takes any factory
                    settings=self.model_settings,
                )
            )
            assert await memory.audit() == []
