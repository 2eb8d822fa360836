"""The contract of the lifecycle: every pair of state and verb, driven through the back end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from queuefs.backend import Settled
from queuefs.lifecycle import TRANSITIONS, State, Verb
from queuefs.message import Counts, MessageId, QueueId, Ref
from queuefs.testing.base import START, Contract, put, stage, state_of, take

if TYPE_CHECKING:
    from queuefs.backend import Backend

DATA = b"data"


async def bring_to(backend: Backend, queue: QueueId, state: State) -> MessageId:
    """Return a message in *state*."""
    match state:
        case State.STAGED:
            return await stage(backend, queue, DATA)
        case State.PENDING:
            return await put(backend, queue, DATA)
        case State.PROCESSING:
            message = await put(backend, queue, DATA)
            await take(backend, queue, lease=0.0)  # over at once, so that EXPIRE needs no time to pass
            return message
        case State.GONE:
            message = await stage(backend, queue, DATA)
            await backend.discard(queue, message)
            return message


async def drive(  # noqa: PLR0911 - a table
    backend: Backend, queue: QueueId, message: MessageId, verb: Verb
) -> object:
    """Apply *verb* and return what the back end answered."""
    refs = [Ref(message)]
    match verb:
        case Verb.PUBLISH:
            await backend.publish(queue, message)
            return None
        case Verb.DISCARD:
            await backend.discard(queue, message)
            return None
        case Verb.DEQUEUE:
            return [each.id for each in await take(backend, queue, 5)]
        case Verb.UNDO:
            return list(await backend.undo(queue, refs))
        case Verb.EXPIRE:
            return list((await backend.tick(now=START, limit=5)).expired)
        case Verb.ACK:
            return list(await backend.ack(queue, refs))
        case Verb.NACK:
            return list(await backend.nack(queue, refs))
        case Verb.EXTEND:
            return list(await backend.extend(queue, refs, lease=0.0, now=START))
        case Verb.CLEAR:
            return await backend.clear(queue)


def expected_answer(queue: QueueId, message: MessageId, state: State, verb: Verb) -> object:
    """Return what the back end has to answer, by the table."""
    legal = verb in TRANSITIONS[state]
    match verb:
        case Verb.PUBLISH | Verb.DISCARD:
            return None
        case Verb.DEQUEUE:
            return [message] if legal else []
        case Verb.EXPIRE:
            return [(queue, message)] if legal else []
        case Verb.CLEAR:
            return Counts(pending=int(state is State.PENDING), processing=int(state is State.PROCESSING))
        case _ if legal:
            return [Settled.DONE]
        case _:
            return [Settled.STALE if state is State.PENDING else Settled.UNKNOWN]


class LifecycleContract(Contract):
    """The life of a message is that of `queuefs.lifecycle`."""

    @pytest.mark.parametrize("state", State)
    async def test_every_verb_leads_where_the_table_says(self, backend: Backend, queue: QueueId, state: State) -> None:
        """What the table has not leaves the message as it is, and the answer says so."""
        for verb in Verb:
            message = await bring_to(backend, queue, state)
            answer = await drive(backend, queue, message, verb)
            assert answer == expected_answer(queue, message, state, verb), verb
            expected = TRANSITIONS[state].get(verb, state)
            assert await state_of(backend, queue, message, size=len(DATA)) is expected, verb
            counts = Counts(pending=int(expected is State.PENDING), processing=int(expected is State.PROCESSING))
            assert await backend.counts(queue) == counts, verb
            assert await backend.audit() == [], verb
            await backend.discard(queue, message)
            await backend.clear(queue)
