"""The contract of the lifecycle: every pair of state and verb, driven through the back end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from queuefs.backend import Settled
from queuefs.lifecycle import TRANSITIONS, State, Verb
from queuefs.message import Counts, Draft, MessageId, QueueId, Ref, Retention, Verdict
from queuefs.testing.base import (
    ANY,
    BRIEF,
    FOREVER,
    KEEP,
    LATER,
    START,
    Contract,
    new_queue,
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

#: For how long its record is kept, likewise.
KEEPS = {Verb.TERMINATE: Retention(records=100, seconds=BRIEF)}

#: What is in processing when its time to live ends would have to be claimed before, and that is over at once.
AFTER_A_CLAIM = {State.PROCESSING, State.DEAD, State.DONE}


async def bring_to(backend: Backend, queue: QueueId, state: State, verb: Verb) -> MessageId:
    """Return a message in *state*, to which *verb* is going to be applied."""
    draft = DRAFTS.get(verb, Draft())
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
        case State.DONE:
            message = await put(backend, queue, DATA, draft=draft)
            await take(backend, queue)
            await backend.ack(queue, [Ref(message)], now=START, keep=KEEPS.get(verb, KEEP))
            return message
        case State.GONE:
            message = await stage(backend, queue, DATA, draft=draft)
            await backend.discard(queue, message)
            return message


async def drive(  # noqa: C901, PLR0911, PLR0912 - a table
    backend: Backend, queue: QueueId, other: QueueId, message: MessageId, state: State, verb: Verb
) -> object:
    """Apply *verb* to a message in *state* and return what the back end answered; *other* is where it moves to."""
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
            return list(await backend.undo(queue, refs, now=START, keep=KEEP))
        case Verb.EXPIRE:
            return list(await backend.expire(queue, [Verdict(ref=Ref(message))], now=LATER, keep=KEEP))
        case Verb.ACK:
            return list(await backend.ack(queue, refs, now=START, keep=KEEP))
        case Verb.NACK:
            return list(await backend.nack(queue, [Verdict(ref=Ref(message))], now=START, keep=KEEP))
        case Verb.BURY if state is State.PROCESSING:
            assert list(await backend.bury(queue, [message])) == [Settled.STALE]
            return list(await backend.nack(queue, [Verdict(ref=Ref(message), dead=True)], now=START, keep=KEEP))
        case Verb.BURY:
            refused = Settled.STALE if state is State.PENDING else Settled.UNKNOWN
            assert list(await backend.nack(queue, [Verdict(ref=Ref(message), dead=True)], now=START)) == [refused]
            return list(await backend.bury(queue, [message]))
        case Verb.MOVE:
            return [await backend.move(queue, message, target=other, room=ANY)]
        case Verb.EXTEND:
            return list(await backend.extend(queue, refs, lease=0.0, now=START))
        case Verb.RETRY:
            return list(await backend.retry(queue, [message], now=START))
        case Verb.DROP:
            return list(await backend.drop(queue, [message]))
        case Verb.CANCEL:
            return list(await backend.cancel(queue, [message], now=START, keep=KEEP))
        case Verb.PAUSE:
            return list(await backend.pause(queue, [message]))
        case Verb.RESUME:
            return list(await backend.resume(queue, [message]))
        case Verb.LAPSE:
            return list((await backend.tick(now=LATER, limit=5)).lapsed)
        case Verb.CLEAR:
            return await backend.clear(queue)
        case Verb.PRUNE:
            return list(await backend.prune(queue, [message]))
        case Verb.TERMINATE:
            return list((await backend.tick(now=LATER, limit=5)).terminated)


def expected_answer(  # noqa: C901, PLR0911 - a table
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
        case Verb.LAPSE | Verb.TERMINATE:
            return [(queue, message)] if legal else []
        case Verb.CLEAR:
            return Counts(pending=int(state is State.PENDING), processing=int(state is State.PROCESSING))
        case _ if legal:
            return [Settled.DONE]
        case Verb.RETRY | Verb.DROP:
            return [Settled.STALE if state in {State.PENDING, State.PROCESSING} else Settled.UNKNOWN]
        case Verb.PRUNE:
            return [Settled.UNKNOWN]
        case Verb.PAUSE | Verb.RESUME | Verb.BURY | Verb.MOVE:
            return [Settled.STALE if state is State.PROCESSING else Settled.UNKNOWN]
        case _:
            return [Settled.STALE if state is State.PENDING else Settled.UNKNOWN]


class LifecycleContract(Contract):
    """The life of a message is that of `queuefs.lifecycle`."""

    @pytest.mark.parametrize("state", State)
    async def test_every_verb_leads_where_the_table_says(self, backend: Backend, queue: QueueId, state: State) -> None:
        """What the table has not leaves the message as it is, and the answer says so."""
        other = await new_queue(backend, "other")
        for verb in Verb:
            if verb is Verb.LAPSE and backend.traits.server_time and state in AFTER_A_CLAIM:
                continue
            message = await bring_to(backend, queue, state, verb)
            answer = await drive(backend, queue, other, message, state, verb)
            assert answer == expected_answer(queue, message, state, verb), verb
            expected = TRANSITIONS[state].get(verb, state)
            place = other if verb is Verb.MOVE and verb in TRANSITIONS[state] else queue
            assert await state_of(backend, place, message, size=len(DATA)) is expected, verb
            counts = Counts(pending=int(expected is State.PENDING), processing=int(expected is State.PROCESSING))
            assert await backend.counts(place) == counts, verb
            stats = await backend.stats(place)
            assert (stats.dead, stats.done) == (int(expected is State.DEAD), int(expected is State.DONE)), verb
            assert await backend.audit() == [], verb
            await self._sweep(backend, place, message)

    async def _sweep(self, backend: Backend, queue: QueueId, message: MessageId) -> None:
        """Leave nothing of *message*."""
        await backend.discard(queue, message)
        await backend.clear(queue)
        await backend.drop(queue, None)
        await backend.prune(queue, None)
