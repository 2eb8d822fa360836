"""A hypothesis state machine: any sequence of calls leads a back end where it leads the memory back end.

Ids and numbers may differ from store to store; both sides are compared by the order in which theirs were given.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import hypothesis
import trio
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, initialize, multiple, rule, run_state_machine_as_test

from queuefs.message import ROOT, Draft, MessageId, QueueId, Ref, Room, Verdict
from queuefs.registry import open_backend
from queuefs.testing.base import OWNER, START, Contract
from queuefs.testing.comparing import Comparison, Side
from queuefs.testing.settling import VERBS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from queuefs.backend import Backend

#: The same examples each time: a failure that can't be repeated is worth little, and chance belongs to a nightly run.
PROFILE = hypothesis.settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=40,
    stateful_step_count=50,
    suppress_health_check=list(hypothesis.HealthCheck),
)

#: Seconds that a lease, a delay, a time to live or a window may last. Where the server's clock counts, a test can tell
#: but two of them apart: over at once, or never.
SECONDS = [0.0, 1.0, 4.0, 16.0]

#: Verbs that name messages, whoever holds them.
NAMING = ["pause", "resume", "cancel", "retry", "drop"]

#: What a queue may hold; mostly all there is.
ROOMS = [Room(), Room(), Room(), Room(messages=3), Room(bytes=6)]


class SameAsMemory(Comparison):
    """Makes each call on both stores and compares the answers, and then all that can be seen."""

    queues = Bundle("queues")
    messages = Bundle("messages")
    #: Messages that have been claimed at least once: what settling mostly is about.
    claimed = Bundle("claimed")
    names = st.sampled_from(["a_b", "aXb", "a"])
    some_seconds = st.sampled_from(SECONDS)
    drafts = st.builds(
        Draft,
        priority=st.sampled_from([0, 0, 0, 1, -1]),
        delay=st.sampled_from([0.0, 0.0, *SECONDS]),
        ttl=st.sampled_from([0.0, 0.0, *SECONDS[2:]]),
        key=st.sampled_from([None, None, "a", "b"]),
        extra=st.sampled_from([b"", b"\0\xff"]),
    )
    rooms = st.sampled_from(ROOMS)

    # Queues -----------------------------------------------------------------------------------------------------------

    @initialize(target=queues)
    def begin(self) -> int:
        """Start below a queue of its own: the stores stay open from one example to the next."""

        async def free_name() -> str:
            taken = {queue.name for side in self.sides for queue in await side.backend.children(ROOT)}
            return next(name for name in map("example {}".format, range(len(taken) + 1)) if name not in taken)

        name = trio.from_thread.run(free_name)
        number = self.made(lambda side: _create(side, ROOT, name), lambda side: side.queues)
        assert number is not None
        return number

    @rule(target=queues, parent=queues, name=names)
    def create_queue(self, parent: int, name: str) -> Any:
        """Make a child."""
        number = self.made(lambda side: _create(side, side.queues[parent], name), lambda side: side.queues)
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

    @rule(queue=queues, config=st.sampled_from([b"", b"a", b"\0\xff"]), expected=st.sampled_from([b"", b"", b"a"]))
    def set_config(self, queue: int, config: bytes, expected: bytes) -> None:
        """Change a config, or not."""
        self.both(lambda side: side.backend.set_config(side.queues[queue], config, expected=expected))

    def _window(self, queue: int) -> float:
        """Return the window of the keys of a queue, which is always the same."""
        return self.seconds(8.0 * (queue % 2))

    # Writing ----------------------------------------------------------------------------------------------------------

    @rule(target=messages, queue=queues, data=st.binary(max_size=5), draft=drafts, room=rooms, partial=st.booleans())
    def stage(self, queue: int, data: bytes, draft: Draft, room: Room, partial: bool) -> Any:  # noqa: FBT001 - hypothesis calls it
        """Begin a message, if there is room."""
        draft = replace(draft, delay=self.seconds(draft.delay), ttl=self.seconds(draft.ttl))
        number = self.made(
            lambda side: side.backend.stage(
                side.queues[queue], data, draft=draft, room=room, partial=partial, now=self.now
            ),
            lambda side: side.messages,
        )
        if number is None:
            return multiple()
        self._home.append(queue)
        self._sizes.append(len(data))
        return number

    @rule(target=messages, queue=queues, data=st.binary(max_size=5), draft=drafts)
    def put(self, queue: int, data: bytes, draft: Draft) -> Any:
        """Begin a message and publish it: most have to be published for the rest to have something to do."""
        number = self.stage(queue, data, draft, Room(), partial=False)
        if isinstance(number, int):
            self.publish(number)
        return number

    @rule(
        message=messages,
        data=st.binary(max_size=5),
        off=st.sampled_from([0, 0, 0, 1, -1]),
        room=rooms,
        partial=st.booleans(),
    )
    def append(self, message: int, data: bytes, off: int, room: Room, partial: bool) -> None:  # noqa: FBT001 - as above
        """Add to a message, at the wrong place now and then."""
        answer = self.both(
            lambda side: side.backend.append(
                side.queues[self._home[message]],
                side.messages[message],
                data,
                offset=max(0, self._sizes[message] + off),
                partial=partial,
                room=room,
            )
        )
        if answer is None:
            self._sizes[message] += len(data)

    @rule(message=messages)
    def publish(self, message: int) -> None:
        """Publish a message, also when it was published before."""
        self._publish(message, self._home[message])

    @rule(message=messages, queue=queues, discard=st.booleans())
    def finish_elsewhere(self, message: int, queue: int, discard: bool) -> None:  # noqa: FBT001 - as above
        """Publish or discard a message as if it were in another queue."""
        if discard:
            self.both(lambda side: side.backend.discard(side.queues[queue], side.messages[message]))
        else:
            self._publish(message, queue)

    def _publish(self, message: int, queue: int) -> None:
        async def call(side: Side) -> object:
            number = side.messages[message]
            there = await side.backend.publish(side.queues[queue], number, now=self.now, window=self._window(queue))
            # two of a key are unacknowledged if a dead one was retried, and which one is named is not said
            return there == number

        self.both(call)

    @rule(message=messages)
    def discard(self, message: int) -> None:
        """Discard a message, also when it was published before."""
        self.both(lambda side: side.backend.discard(side.queues[self._home[message]], side.messages[message]))

    @rule(queue=queues, key=st.sampled_from(["a", "b", "A"]))
    def find_key(self, queue: int, key: str) -> None:
        """Ask whether a key is in use."""

        async def call(side: Side) -> object:
            number = side.queues[queue]
            return await side.backend.find_key(number, key, now=self.now, window=self._window(queue)) is not None

        self.both(call)

    # Reading and settling ---------------------------------------------------------------------------------------------

    @rule(target=claimed, queue=queues, count=st.integers(1, 3), lease=some_seconds, lifo=st.booleans())
    def claim(self, queue: int, count: int, lease: float, lifo: bool) -> Any:  # noqa: FBT001 - as above
        """Claim up to three."""
        seconds = self.seconds(lease)
        answer = self.both(
            lambda side: side.backend.claim(side.queues[queue], count=count, lease=seconds, lifo=lifo, now=self.now)
        )
        return multiple(*(message.id for message in answer)) if isinstance(answer, list) else multiple()

    @rule(
        verb=st.sampled_from([*VERBS, "expire"]),
        queue=st.one_of(st.none(), st.none(), st.none(), queues),
        refs=st.lists(
            st.tuples(st.one_of(claimed, claimed, messages), st.sampled_from([None, None, 1, 1, 2])),
            min_size=1,
            max_size=3,
        ),
        lease=some_seconds,
        terms=st.builds(
            Verdict,
            ref=st.just(Ref(MessageId(1))),
            delay=some_seconds,
            dead=st.booleans(),
            reason=st.sampled_from([None, "", "é\n"]),
        ),
    )
    def settle(
        self, verb: str, queue: int | None, refs: Sequence[tuple[int, int | None]], lease: float, terms: Verdict
    ) -> None:
        """Settle up to three, in their queue or another, by id or by a receipt that may be stale."""
        place = self._home[refs[0][0]] if queue is None else queue
        terms = replace(terms, delay=self.seconds(terms.delay))

        def call(side: Side) -> Awaitable[object]:
            named = [Ref(side.messages[message], claim) for message, claim in refs]
            verdicts = [replace(terms, ref=ref) for ref in named]
            backend, number = side.backend, side.queues[place]
            match verb:
                case "extend":
                    return backend.extend(number, named, lease=self.seconds(lease), now=self.now)
                case "nack":
                    return backend.nack(number, verdicts, now=self.now)
                case "expire":
                    return backend.expire(number, verdicts, now=self.now)
                case _:
                    method = {"undo": backend.undo, "ack": backend.ack, "check": backend.check}[verb]
                    return method(number, named)

        self.both(call)

    @rule(
        verb=st.sampled_from(NAMING),
        queue=st.one_of(st.none(), st.none(), st.none(), queues),
        named=st.lists(st.one_of(claimed, messages), min_size=1, max_size=3),
    )
    def name(self, verb: str, queue: int | None, named: Sequence[int]) -> None:
        """Pause, resume, cancel, retry or drop up to three, in their queue or another."""
        place = self._home[named[0]] if queue is None else queue

        def call(side: Side) -> Awaitable[object]:
            numbers = [side.messages[message] for message in named]
            backend, number = side.backend, side.queues[place]
            if verb == "retry":
                return backend.retry(number, numbers, now=self.now)
            methods = {
                "pause": backend.pause,
                "resume": backend.resume,
                "cancel": backend.cancel,
                "drop": backend.drop,
            }
            return methods[verb](number, numbers)

        self.both(call)

    @rule(queue=queues, drop=st.booleans())
    def finish_the_dead(self, queue: int, drop: bool) -> None:  # noqa: FBT001 - as above
        """Retry or drop all that are dead."""
        if drop:
            self.both(lambda side: side.backend.drop(side.queues[queue], None))
        else:
            self.both(lambda side: side.backend.retry(side.queues[queue], None, now=self.now))

    @rule(queue=queues)
    def clear(self, queue: int) -> None:
        """Remove what is unacknowledged."""
        self.both(lambda side: side.backend.clear(side.queues[queue]))

    # Looking and upkeep -----------------------------------------------------------------------------------------------

    @rule(queue=queues, count=st.integers(1, 4), lifo=st.booleans())
    def peek(self, queue: int, count: int, lifo: bool) -> None:  # noqa: FBT001 - as above
        """Look at the first ones."""
        self.both(lambda side: side.backend.peek(side.queues[queue], count=count, lifo=lifo, now=self.now))

    @rule(queue=queues, wanted=st.lists(messages, max_size=4))
    def payloads(self, queue: int, wanted: Sequence[int]) -> None:
        """Read payloads of whatever messages."""
        self.both(lambda side: side.backend.payloads(side.queues[queue], [side.messages[each] for each in wanted]))

    @rule(queue=queues, wanted=st.lists(messages, max_size=4))
    def find(self, queue: int, wanted: Sequence[int]) -> None:
        """Look at whatever messages."""
        self.both(lambda side: side.backend.find(side.queues[queue], [side.messages[each] for each in wanted]))

    @rule(seconds=st.sampled_from([0.0, 1.0, 4.0, 20.0]))
    def tick(self, seconds: float) -> None:
        """Let time pass and do what is due; without a limit, as the contract does not say which is the first."""
        self.now += seconds

        async def call(side: Side) -> object:
            tick = await side.backend.tick(now=self.now, limit=1000)
            overdue = sorted(
                (side.queues.index(each.queue), side.messages.index(each.receipt.id), each.receipt.claim, each.attempt)
                for each in tick.overdue
            )
            lapsed = sorted((side.queues.index(queue), side.messages.index(each)) for queue, each in tick.lapsed)
            delayed = [(await self.answer(side, _delayed(queue))) for queue in side.queues]
            return overdue, lapsed, delayed, tick.next_due if self.own_time and self.alone else None

        self.both(call)

    def teardown(self) -> None:
        """Publish and read all there is; then leave no message behind for the next example's ticks to find."""
        for message in range(len(self._home)):
            self.publish(message)
        for queue in range(len(self.sides[0].queues)):
            self.payloads(queue, range(len(self._home)))

        async def sweep(side: Side) -> None:
            for queue in side.queues:
                calls: list[Awaitable[object]] = [side.backend.discard(queue, each) for each in side.messages]
                for call in [*calls, side.backend.clear(queue), side.backend.drop(queue, None)]:
                    await self.answer(side, lambda _, made=call: made)  # type: ignore[misc]

        for side in self.sides:
            trio.from_thread.run(sweep, side)


async def _create(side: Side, parent: QueueId, name: str) -> QueueId:
    return (await side.backend.create_queue(parent, name, owner=OWNER, now=START)).id


def _delayed(queue: QueueId) -> Callable[[Side], Awaitable[int]]:
    async def count(side: Side) -> int:
        return (await side.backend.stats(queue)).delayed

    return count


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
