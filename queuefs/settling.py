"""What ends a claim, and what is done to messages by name."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from queuefs import retry
from queuefs.backend import Settled
from queuefs.errors import (
    MessageBusy,
    MessageCancelled,
    MessageNotFound,
    MessageTooBig,
    QueueFSError,
    QueuePaused,
    StaleReceipt,
)
from queuefs.lifecycle import Verb
from queuefs.message import Ref, Verdict
from queuefs.options import ExtendOptions, NackOptions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from queuefs.config import Config
    from queuefs.message import MessageId, QueueId
    from queuefs.options import Options
    from queuefs.parts import Parts


#: What makes a message pending again.
RETURNS = frozenset({Verb.NACK, Verb.UNDO})

#: Such a message may have outlived its time while it was held; so soon that is looked at, once for many, seconds.
LAPSED_SECONDS = 0.05

#: Why a pending message is dead.
MOVED_THERE = "moved to dead/"

#: Why a message is dead whose reader found that the store has lost a part of it.
DAMAGED = "its payload is damaged"

#: What can be done to all at once that are dead, or that are done.
OF_ALL = frozenset({Verb.DROP, Verb.PRUNE})

#: What leaves a record.
ENDS = frozenset({Verb.ACK, Verb.CANCEL})

#: A record may be one too many; so soon that is looked at, once for many, seconds.
SURPLUS_SECONDS = 0.5


class _Settlement(NamedTuple):
    """One call that settles messages, and what happens to each by it."""

    refs: Sequence[Ref]
    verbs: Sequence[Verb]
    #: Made when called.
    call: Callable[[], Awaitable[Sequence[Settled]]]


class Settling:
    """Settles the messages of one store."""

    def __init__(self, parts: Parts) -> None:
        """Settle in the store that *parts* belong to."""
        self._backend = parts.backend
        self._clock = parts.clock
        self._configs = parts.configs
        self._handover = parts.handover
        self._events = parts.events
        self._upkeep = parts.upkeep

    async def settle(
        self, verb: Verb, queue: QueueId, refs: Sequence[Ref], options: Options
    ) -> list[QueueFSError | None]:
        """Ack, nack or extend messages; return what is wrong with each, None where nothing is."""
        await self._handover.barrier(queue)
        settlement = await self._settlement(verb, queue, refs, options)
        settled = await settlement.call()
        self._tell(queue, settlement, settled)
        return [settled_error(ref, one) for ref, one in zip(refs, settled, strict=True)]

    async def _settlement(self, verb: Verb, queue: QueueId, refs: Sequence[Ref], options: Options) -> _Settlement:
        config = await self._configs.get(queue)
        if verb is Verb.ACK:
            return _Settlement(
                refs,
                [verb] * len(refs),
                lambda: self._backend.ack(queue, refs, now=self._clock.now(), keep=config.keep),
            )
        if isinstance(options, ExtendOptions):
            lease = config.lease if options.lease is None else options.lease
            self._upkeep.due_in(lease)
            return _Settlement(
                refs,
                [verb] * len(refs),
                lambda: self._backend.extend(queue, refs, lease=lease, now=self._clock.now()),
            )
        assert isinstance(options, NackOptions)  # no other verb settles
        verdicts = await self._verdicts(queue, refs, config, options)
        self._upkeep.due_in(min((verdict.delay for verdict in verdicts if verdict.delay), default=math.inf))
        return _Settlement(
            refs,
            [Verb.BURY if verdict.dead else Verb.NACK for verdict in verdicts],
            lambda: self._backend.nack(queue, verdicts, now=self._clock.now(), keep=config.keep),
        )

    async def _verdicts(
        self, queue: QueueId, refs: Sequence[Ref], config: Config, options: NackOptions
    ) -> list[Verdict]:
        if not retry.needs_attempt(config, options):
            return [retry.returned(config, ref, 0, options) for ref in refs]
        found = await self._backend.find(queue, [ref.id for ref in refs])
        # Each verdict is for the claim that was looked at, so that it never meets a later one.
        return [
            retry.returned(
                config,
                message.receipt if message and ref.claim is None else ref,
                message.attempt if message else 0,
                options,
            )
            for ref, message in zip(refs, found, strict=True)
        ]

    async def after_close(
        self, verb: Verb, queue: QueueId, ref: Ref, options: Options
    ) -> Callable[[], Awaitable[None]]:
        """Check that *ref* can be settled, and return what settles it at the last close, without suspending.

        It is made once: an id that is settled again after an unknown outcome could meet somebody else's claim.

        Raises:
            QueueFSError: it can't be settled.
        """
        await self._handover.barrier(queue)
        error = settled_error(ref, (await self._backend.check(queue, [ref]))[0])
        if error is not None:
            raise error
        settlement = await self._settlement(verb, queue, [ref], options)
        return lambda: self._handover.once(queue, settlement.call, self._teller(queue, settlement))

    def _teller(self, queue: QueueId, settlement: _Settlement) -> Callable[[Sequence[Settled]], str | None]:
        def tell(settled: Sequence[Settled]) -> str | None:
            self._tell(queue, settlement, settled)
            errors = [settled_error(ref, one) for ref, one in zip(settlement.refs, settled, strict=True)]
            return next((str(error) for error in errors if error is not None), None)

        return tell

    def _tell(self, queue: QueueId, settlement: _Settlement, settled: Sequence[Settled]) -> None:
        for ref, verb, one in zip(settlement.refs, settlement.verbs, settled, strict=True):
            if one is Settled.DONE:
                self._events.tell(queue, verb, [ref.id])
                if verb in RETURNS:
                    self._upkeep.due_in(LAPSED_SECONDS)
                elif verb in ENDS:
                    self._upkeep.due_in(SURPLUS_SECONDS)

    async def undo(self, queue: QueueId, receipts: Sequence[Ref]) -> None:
        """Take claims back; never suspends. A repetition finds the claims over and changes nothing."""
        keep = self._configs.known(queue).keep
        await self._until_done(
            Verb.UNDO, queue, receipts, lambda: self._backend.undo(queue, receipts, now=self._clock.now(), keep=keep)
        )

    async def ack_read(self, queue: QueueId, receipts: Sequence[Ref]) -> None:
        """Settle claims whose reader asked for it by reading to the end; never suspends."""
        keep = self._configs.known(queue).keep
        await self._until_done(
            Verb.ACK, queue, receipts, lambda: self._backend.ack(queue, receipts, now=self._clock.now(), keep=keep)
        )

    async def bury_damaged(self, queue: QueueId, receipts: Sequence[Ref]) -> None:
        """Set messages aside that their readers found damaged; never suspends."""
        keep = self._configs.known(queue).keep
        verdicts = [Verdict(ref=receipt, dead=True, reason=DAMAGED) for receipt in receipts]
        await self._until_done(
            Verb.BURY, queue, receipts, lambda: self._backend.nack(queue, verdicts, now=self._clock.now(), keep=keep)
        )

    async def _until_done(
        self, verb: Verb, queue: QueueId, receipts: Sequence[Ref], call: Callable[[], Awaitable[Sequence[Settled]]]
    ) -> None:
        """Make *call*, by which *verb* happens to all of *receipts*, until it is done; never suspends."""
        settlement = _Settlement(receipts, [verb] * len(receipts), call)
        await self._handover.until_done(queue, call, self._teller(queue, settlement))

    async def by_name(self, verb: Verb, queue: QueueId, ref: Ref | None) -> None:
        """Pause, resume, cancel, bury, retry, drop or prune a message; None is all, of the dead ones or the records.

        Raises:
            QueueFSError: it is not there, or not in the state that the verb needs.
        """
        await self._handover.barrier(queue)
        await self.by_name_now(verb, queue, ref)

    async def by_name_now(self, verb: Verb, queue: QueueId, ref: Ref | None) -> None:
        """As `by_name`, without waiting for what closes have left to be done: for what is a part of that itself."""
        if ref is None:
            settled = await self._by_name(verb, queue, None)
            self._events.tell(queue, verb, [None] if settled else [])
            return
        if ref.claim is not None:  # nobody's late command meets what someone else holds
            self._refuse(ref, (await self._backend.check(queue, [ref]))[0])
        self._refuse(ref, (await self._by_name(verb, queue, [ref.id]))[0])
        self._events.tell(queue, verb, [ref.id])
        if verb in ENDS:
            self._upkeep.due_in(SURPLUS_SECONDS)

    async def _by_name(self, verb: Verb, queue: QueueId, messages: Sequence[MessageId] | None) -> Sequence[Settled]:
        backend = self._backend
        if verb is Verb.RETRY:
            return await backend.retry(queue, messages, now=self._clock.now())
        if verb in OF_ALL:
            return await (backend.drop if verb is Verb.DROP else backend.prune)(queue, messages)
        assert messages is not None  # the others are for one message
        if verb is Verb.CANCEL:
            keep = (await self._configs.get(queue)).keep
            return await backend.cancel(queue, messages, now=self._clock.now(), keep=keep)
        if verb is Verb.BURY:
            return await backend.bury(queue, messages, reason=MOVED_THERE)
        calls = {Verb.PAUSE: backend.pause, Verb.RESUME: backend.resume}
        return await calls[verb](queue, messages)

    async def take(self, queue: QueueId, message: MessageId) -> None:
        """Claim this message, for as long as the queue's leases are.

        Raises:
            MessageNotFound: it is not pending.
            QueuePaused: the queue is.
            MessageBusy: it is paused, or somebody holds it.
        """
        await self._handover.barrier(queue)
        config = await self._configs.get(queue)
        if config.paused:
            raise QueuePaused
        settled = (await self._backend.take(queue, [message], lease=config.lease, now=self._clock.now()))[0]
        if settled is Settled.STALE:
            raise MessageBusy
        self._refuse(Ref(message), settled)
        self._upkeep.due_in(config.lease)
        self._events.tell(queue, Verb.DEQUEUE, [message])

    async def move(self, queue: QueueId, message: MessageId, target: QueueId) -> None:
        """Let a pending message be one of *target*.

        Raises:
            MessageNotFound: it is not pending.
            QueueFull: there is no room for it.
            MessageTooBig: it is longer than *target* takes.
            KeyInUse: *target* has an unacknowledged message of its key.
        """
        await self._handover.barrier(queue)
        await self._handover.barrier(target)
        config = await self._configs.get(target)
        found = (await self._backend.find(queue, [message]))[0]
        if found is not None and found.size > config.max_message_bytes:
            raise MessageTooBig(f"{found.size} bytes; the limit is {config.max_message_bytes}")
        settled = await self._backend.move(queue, message, target=target, room=config.room)
        self._refuse(Ref(message), settled)
        self._events.tell(queue, Verb.MOVE, [message])
        self._events.tell(target, Verb.PUBLISH, [message])

    @staticmethod
    def _refuse(ref: Ref, settled: Settled) -> None:
        error = settled_error(ref, settled)
        if error is not None:
            raise error


def settled_error(ref: Ref, settled: Settled) -> QueueFSError | None:
    """Return what a writer is told about one of its ids; None if it was done."""
    if settled is Settled.UNKNOWN:
        return MessageNotFound(f"no unacknowledged message {ref.id} in this queue")
    if settled is Settled.STALE:
        return StaleReceipt(f"{ref} is not held under that claim")
    if settled is Settled.CANCELLED:
        return MessageCancelled()
    return None
