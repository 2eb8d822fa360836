"""Messages by state, as files show them: found, listed, read in pieces, moved from one state to another and removed."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from queuefs.config import Order
from queuefs.errors import MessageGone, MessageNotFound, NotPermitted, StaleReceipt
from queuefs.lifecycle import State, Verb
from queuefs.message import Ref
from queuefs.options import NackOptions, Options
from queuefs.settling import MOVED_THERE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from queuefs.message import Ended, Message, MessageId, Place, QueueId, Record
    from queuefs.parts import Parts
    from queuefs.settling import Settling


class Act(NamedTuple):
    """What a removal or a move does."""

    verb: Verb
    #: How a claim is settled by it; None: the message is named, whoever holds it.
    options: Options | None = None


#: What it means to remove a message of each state by name.
REMOVALS = MappingProxyType(
    {
        State.PENDING: Act(Verb.CANCEL),
        State.PROCESSING: Act(Verb.ACK, Options()),
        State.DEAD: Act(Verb.DROP),
        State.DONE: Act(Verb.PRUNE),
    }
)

#: What it means to move one from state to state within its queue; no other move means anything.
MOVES = MappingProxyType(
    {
        (State.PENDING, State.PROCESSING): Act(Verb.DEQUEUE),
        (State.PENDING, State.DEAD): Act(Verb.BURY),
        (State.PROCESSING, State.PENDING): Act(Verb.NACK, NackOptions()),
        (State.PROCESSING, State.DEAD): Act(Verb.NACK, NackOptions(dead=True, reason=MOVED_THERE)),
        (State.DEAD, State.PENDING): Act(Verb.RETRY),
    }
)


class Filing:
    """The messages of one store as files."""

    def __init__(self, parts: Parts, settling: Settling) -> None:
        """Show what *parts* hold; moves and removals are *settling*'s verbs."""
        self._backend = parts.backend
        self._configs = parts.configs
        self._handover = parts.handover
        self._settling = settling
        self._clock = parts.clock

    # Looking --------------------------------------------------------------------------------------------------------

    async def places(self, queue: QueueId, state: State, *, after: Place | None, limit: int) -> Sequence[Place]:
        """Return where the next messages of a state stand, in the order of handing out; none at the end."""
        await self._handover.barrier(queue)
        lifo = (await self._configs.get(queue)).order is Order.LIFO
        return await self._backend.places(queue, state, after=after, limit=limit, lifo=lifo)

    async def records(self, queue: QueueId, *, after: Ended | None, limit: int) -> Sequence[Record]:
        """Return the next records of messages that are done, the latest first; none at the end."""
        await self._handover.barrier(queue)
        return await self._backend.records(queue, after=after, limit=limit, now=self._clock.now())

    async def find(self, queue: QueueId, state: State, message: MessageId) -> Message:
        """Return a message that is pending, in processing or dead, without its payload.

        Raises:
            MessageNotFound: it is not in that state.
        """
        await self._handover.barrier(queue)
        found = (await self._backend.find(queue, [message]))[0]
        if found is None or found.state is not state:
            raise MessageNotFound(f"message {message} is not {state}")
        return found

    async def record(self, queue: QueueId, message: MessageId) -> Record:
        """Return the record of a message that is done.

        Raises:
            MessageNotFound: there is none.
        """
        await self._handover.barrier(queue)
        found = (await self._backend.find_records(queue, [message], now=self._clock.now()))[0]
        if found is None:
            raise MessageNotFound(f"there is no record of message {message}")
        return found

    async def read(self, queue: QueueId, message: MessageId, *, offset: int, size: int) -> bytes:
        """Return a piece of a payload.

        Raises:
            MessageGone: it has left the queue.
            StoreDamaged: that piece is missing.
        """
        found = await self._backend.read(queue, message, offset=offset, size=size)
        if found is None:
            raise MessageGone
        return found

    # Changing -------------------------------------------------------------------------------------------------------

    async def remove(self, queue: QueueId, state: State, message: MessageId) -> None:
        """Remove a message of *state*: cancel, ack, drop or prune it, see `REMOVALS`.

        Raises:
            MessageNotFound: it is not in that state.
        """
        await self._carry_out(REMOVALS[state], queue, message)

    async def move(self, queue: QueueId, state: State, message: MessageId, *, target: QueueId, to: State) -> None:
        """Move a message of *state* to state *to* of the same queue, or a pending one to another queue.

        Raises:
            NotPermitted: that move means nothing.
            MessageNotFound: it is not in *state*.
            QueueFSError: why that verb can't be done.
        """
        if queue != target:
            if (state, to) != (State.PENDING, State.PENDING):
                raise NotPermitted("only a pending message goes to another queue, and there it is pending")
            await self._found(self._settling.move(queue, message, target))
            return
        try:
            act = MOVES[state, to]
        except KeyError:
            raise NotPermitted(f"no verb makes a {state} message {to}") from None
        await self._carry_out(act, queue, message)

    async def _carry_out(self, act: Act, queue: QueueId, message: MessageId) -> None:
        if act.options is not None:
            error = (await self._settling.settle(act.verb, queue, [Ref(message)], act.options))[0]
            if isinstance(error, StaleReceipt):
                raise MessageNotFound(str(error))
            if error is not None:
                raise error
        elif act.verb is Verb.DEQUEUE:
            await self._settling.take(queue, message)
        else:
            await self._found(self._settling.by_name(act.verb, queue, Ref(message)))

    @staticmethod
    async def _found(command: Awaitable[None]) -> None:
        """Carry out *command*; what is in another state is not there, as far as a file goes."""
        try:
            await command
        except StaleReceipt as error:
            raise MessageNotFound(str(error)) from error
