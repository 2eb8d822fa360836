"""The contract of the lifecycle: every pair of state and verb, driven through the back end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from queuefs.backend import Settled
from queuefs.lifecycle import TRANSITIONS, State, Verb
from queuefs.message import Counts, Draft, MessageId, QueueId, Ref, Verdict
from queuefs.testing.base import (
    BRIEF,
    FOREVER,
    LATER,
    START,
    Contract,
    nack,
    publish,
    put,
    put_dead,
    stage,
    state_of,
    take,
)

if TYPE_CHECKING:
    from queuefs.backend import Backend

DATA = b"data"
KEY = "key"

#: What a message is drafted with, so that the verb has something to do.
DRAFTS = {Verb.REPEAT: Draft(key=KEY), Verb.LAPSE: Draft(ttl=BRIEF)}


async def bring_to(backend: Backend, queue: QueueId, state: State, draft: Draft) -> MessageId:
    """Return a message in *state*."""
    match state:
        case State.STAGED:
            return await stage(backend, queue, DATA, draft=draft)
        case State.PENDING:
            return await put(backend, queue, DATA, draft=draft)
        case State.PROCESSING:
            message = await put(backend, queue, DATA, draft=draft)
            await take(backend, queue, lease=0.0)  # over at once, so that EXPIRE needs no time to pass
            return message
        case State.DEAD:
            return (await put_dead(backend, queue, DATA, draft=draft)).id
        case State.GONE:
            message = await stage(backend, queue, DATA, draft=draft)
            await backend.discard(queue, message)
            return message


async def drive(  # noqa: C901, PLR0911, PLR0912 - a table
    backend: Backend, queue: QueueId, message: MessageId, state: State, verb: Verb
) -> object:
    """Apply *verb* to a message in *state* and return what the back end answered."""
    refs = [Ref(message)]
    match verb:
        case Verb.PUBLISH:
            return await publish(backend, queue, message)
        case Verb.REPEAT:
            if state is not State.STAGED:
                return await publish(backend, queue, message, window=FOREVER)
            first = await put(backend, queue, draft=DRAFTS[verb], window=FOREVER)
            await backend.clear(queue)
            return await publish(backend, queue, message, window=FOREVER) == first
        case Verb.DISCARD:
            return await backend.discard(queue, message)  # type: ignore[func-returns-value]  # None, as it has to be
        case Verb.DEQUEUE:
            return [each.id for each in await take(backend, queue, 5)]
        case Verb.UNDO:
            return list(await backend.undo(queue, refs))
        case Verb.EXPIRE:
            return list(await backend.expire(queue, [Verdict(ref=Ref(message))], now=LATER))
        case Verb.ACK:
            return list(await backend.ack(queue, refs))
        case Verb.NACK:
            return list(await nack(backend, queue, refs))
        case Verb.BURY:
            return list(await backend.nack(queue, [Verdict(ref=Ref(message), dead=True)], now=START))
        case Verb.EXTEND:
            return list(await backend.extend(queue, refs, lease=0.0, now=START))
        case Verb.RETRY:
            return list(await backend.retry(queue, [message], now=START))
        case Verb.DROP:
            return list(await backend.drop(queue, [message]))
        case Verb.CANCEL:
            return list(await backend.cancel(queue, [message]))
        case Verb.PAUSE:
            return list(await backend.pause(queue, [message]))
        case Verb.RESUME:
            return list(await backend.resume(queue, [message]))
        case Verb.LAPSE:
            return list((await backend.tick(now=LATER, limit=5)).lapsed)
        case Verb.CLEAR:
            return await backend.clear(queue)


def expected_answer(  # noqa: PLR0911 - a table
    queue: QueueId, message: MessageId, state: State, verb: Verb
) -> object:
    """Return what the back end has to answer, by the table."""
    legal = verb in TRANSITIONS[state]
    match verb:
        case Verb.PUBLISH:
            return message
        case Verb.REPEAT:
            return True if legal else message
        case Verb.DISCARD:
            return None
        case Verb.DEQUEUE:
            return [message] if legal else []
        case Verb.LAPSE:
            return [(queue, message)] if legal else []
        case Verb.CLEAR:
            return Counts(pending=int(state is State.PENDING), processing=int(state is State.PROCESSING))
        case _ if legal:
            return [Settled.DONE]
        case Verb.RETRY | Verb.DROP:
            return [Settled.STALE if state in {State.PENDING, State.PROCESSING} else Settled.UNKNOWN]
        case Verb.PAUSE | Verb.RESUME:
            return [Settled.STALE if state is State.PROCESSING else Settled.UNKNOWN]
        case _:
            return [Settled.STALE if state is State.PENDING else Settled.UNKNOWN]


class LifecycleContract(Contract):
    """The life of a message is that of `queuefs.lifecycle`."""

    @pytest.mark.parametrize("state", State)
    async def test_every_verb_leads_where_the_table_says(self, backend: Backend, queue: QueueId, state: State) -> None:
        """What the table has not leaves the message as it is, and the answer says so."""
        for verb in Verb:
            if verb is Verb.LAPSE and backend.traits.server_time and state in {State.PROCESSING, State.DEAD}:
                continue  # it would have to be claimed before its time is over, and that is over at once
            message = await bring_to(backend, queue, state, DRAFTS.get(verb, Draft()))
            answer = await drive(backend, queue, message, state, verb)
            assert answer == expected_answer(queue, message, state, verb), verb
            expected = TRANSITIONS[state].get(verb, state)
            assert await state_of(backend, queue, message, size=len(DATA)) is expected, verb
            counts = Counts(pending=int(expected is State.PENDING), processing=int(expected is State.PROCESSING))
            assert await backend.counts(queue) == counts, verb
            assert (await backend.stats(queue)).dead == int(expected is State.DEAD), verb
            assert await backend.audit() == [], verb
            await backend.discard(queue, message)
            await backend.clear(queue)
            await backend.drop(queue, None)
