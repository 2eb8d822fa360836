"""Messages by state, as files show them: found, listed, read in pieces, moved from one state to another and removed."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from queuefs.config import Order
from queuefs.errors import MessageGone, MessageNotFound, NotPermitted, StaleReceipt
from queuefs.lifecycle import State, Verb
from queuefs.message import Ref
from queuefs.options import NackOptions, Options
from queuefs.settling import MOVED_THERE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from queuefs.clock import Clock
    from queuefs.message import Ended, Message, MessageId, Place, QueueId, Record
    from queuefs.parts import Parts
    from queuefs.settling import Settling

#: What it means to remove a message of each state by name.
REMOVALS = MappingProxyType(
    {
        State.PENDING: Verb.CANCEL,
        State.PROCESSING: Verb.ACK,
        State.DEAD: Verb.DROP,
        State.DONE: Verb.PRUNE,
    }
)

#: What it means to move one from state to state within its queue; no other move means anything.
MOVES = MappingProxyType(
    {
        (State.PENDING, State.PROCESSING): Verb.DEQUEUE,
        (State.PENDING, State.DEAD): Verb.BURY,
        (State.PROCESSING, State.PENDING): Verb.NACK,
        (State.PROCESSING, State.DEAD): Verb.BURY,
        (State.DEAD, State.PENDING): Verb.RETRY,
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
        self.clock: Clock = parts.clock

    # Looking --------------------------------------------------------------------------------------------------------

    async def places(self, queue: QueueId, state: State, *, after: Place | None, limit: int) -> Sequence[Place]:
        """Return where the next messages of a state stand, in the order of handing out; none at the end."""
        await self._handover.barrier(queue)
        lifo = (await self._configs.get(queue)).order is Order.LIFO
        return await self._backend.places(queue, state, after=after, limit=limit, lifo=lifo)

    async def records(self, queue: QueueId, *, after: Ended | None, limit: int) -> Sequence[Record]:
        """Return the next records of messages that are done, the latest first; none at the end."""
        await self._handover.barrier(queue)
        return await self._backend.records(queue, after=after, limit=limit, now=self.clock.now())

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
        found = (await self._backend.find_records(queue, [message], now=self.clock.now()))[0]
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
            verb = MOVES[state, to]
        except KeyError:
            raise NotPermitted(f"no verb makes a {state} message {to}") from None
        if verb is Verb.BURY and state is State.PROCESSING:
            await self._settle(Verb.NACK, queue, message, NackOptions(dead=True, reason=MOVED_THERE))
        elif verb is Verb.NACK:
            await self._settle(verb, queue, message, NackOptions())
        else:
            await self._carry_out(verb, queue, message)

    async def _carry_out(self, verb: Verb, queue: QueueId, message: MessageId) -> None:
        if verb is Verb.ACK:
            await self._settle(verb, queue, message, Options())
        elif verb is Verb.DEQUEUE:
            await self._settling.take(queue, message)
        else:
            await self._found(self._settling.by_name(verb, queue, Ref(message)))

    async def _settle(self, verb: Verb, queue: QueueId, message: MessageId, options: Options) -> None:
        error = (await self._settling.settle(verb, queue, [Ref(message)], options))[0]
        if isinstance(error, StaleReceipt):
            raise MessageNotFound(str(error))
        if error is not None:
            raise error

    @staticmethod
    async def _found(command: Awaitable[None]) -> None:
        """Carry out *command*; what is in another state is not there, as far as a file goes."""
        try:
            await command
        except StaleReceipt as error:
            raise MessageNotFound(str(error)) from error
