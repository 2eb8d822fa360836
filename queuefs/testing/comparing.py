"""Two stores side by side: each call is made on both, and the answers and all that can be seen are compared.

Ids and numbers may differ from store to store; both sides are compared by the order in which theirs were given.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import trio
from hypothesis.stateful import RuleBasedStateMachine

from queuefs.errors import QueueFSError
from queuefs.message import Message, MessageId, QueueId, Stats
from queuefs.testing.base import FOREVER, START

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from queuefs.backend import Backend


@dataclass
class Side:
    """One of the two stores, and what each of the machine's numbers is called in it."""

    backend: Backend
    queues: list[QueueId] = field(default_factory=list)
    messages: list[MessageId] = field(default_factory=list)

    def plain(self, answer: object, *, times: bool) -> Any:
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
                )
            case Stats():  # whether a delay is over, a store may learn at the next tick
                return replace(answer, oldest_pending=moment(answer.oldest_pending), delayed=0)
            case list() | tuple():
                return [self.plain(each, times=times) for each in answer]
            case _:
                return answer


class Comparison(RuleBasedStateMachine):
    """Makes each call on both stores and compares the answers, and then all that can be seen."""

    def __init__(self, backend: Backend, memory: Backend) -> None:
        """Compare *backend* with *memory*; runs in a thread of the trio run that both belong to."""
        super().__init__()
        self.sides = [Side(memory), Side(backend)]
        self.own_time = not backend.traits.server_time
        self.alone = not backend.traits.shared
        self.now = START
        #: The queue each message was staged in, and how many bytes it has got.
        self._home: list[int] = []
        self._sizes: list[int] = []

    # How it is compared -----------------------------------------------------------------------------------------------

    def both(self, call: Callable[[Side], Awaitable[object]]) -> object:
        """Make a call on both sides and return the answer, which must be the same."""

        async def make() -> list[object]:
            answers = [await self.answer(side, call) for side in self.sides]
            views = [await self._view(side) for side in self.sides]
            assert answers[0] == answers[1], "the answers differ (memory's first)"
            assert views[0] == views[1], "what can be seen afterwards differs (memory's first)"
            return answers

        return trio.from_thread.run(make)[0]

    async def answer(self, side: Side, call: Callable[[Side], Awaitable[object]]) -> object:
        """Make a call on one side; a refusal is an answer too."""
        try:
            return side.plain(await call(side), times=self.own_time)
        except QueueFSError as error:
            return type(error)

    async def _view(self, side: Side) -> object:
        """Return all that can be seen of every queue."""
        calls: list[Awaitable[object]] = []
        for queue in side.queues:
            backend = side.backend
            looks = (backend.counts, backend.unacked_bytes, backend.snapshot, backend.dead, backend.stats)
            calls += [*(look(queue) for look in looks), _tree(side, queue)]
        return [await self.answer(side, lambda _, made=call: made) for call in calls]  # type: ignore[misc]

    def made(self, call: Callable[[Side], Awaitable[int]], ids: Callable[[Side], list[Any]]) -> int | None:
        """Make a call that returns a new number; return the machine's for it, None if both sides refused."""

        async def note(side: Side) -> int:
            number = await call(side)
            assert number not in ids(side), f"{number} was given before"
            ids(side).append(number)
            return len(ids(side)) - 1

        answer = self.both(note)
        return answer if isinstance(answer, int) else None

    def seconds(self, seconds: float) -> float:
        """Return *seconds*, or what stands for them where a test can't let them pass."""
        return seconds if self.own_time or not seconds else FOREVER


def _tree(side: Side, queue: QueueId) -> Awaitable[object]:
    calling = side.backend.children(queue)

    async def named() -> object:
        return [(child.name, side.queues.index(child.id), child.owner, child.config) for child in await calling]

    return named()
