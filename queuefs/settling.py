"""What ends a claim, and what is done to messages by name."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from queuefs import retry
from queuefs.backend import Settled
from queuefs.errors import MessageCancelled, MessageNotFound, QueueFSError, StaleReceipt
from queuefs.lifecycle import Verb
from queuefs.options import ExtendOptions, NackOptions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from queuefs.config import Config
    from queuefs.message import MessageId, QueueId, Ref, Verdict
    from queuefs.options import Options
    from queuefs.parts import Parts


#: What makes a message pending again.
RETURNS = frozenset({Verb.NACK, Verb.UNDO})

#: Such a message may have outlived its time while it was held; so soon that is looked at, once for many, seconds.
LAPSED_SECONDS = 0.05


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
        if verb is Verb.ACK:
            return _Settlement(refs, [verb] * len(refs), lambda: self._backend.ack(queue, refs))
        config = await self._configs.get(queue)
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
            lambda: self._backend.nack(queue, verdicts, now=self._clock.now()),
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

    async def undo(self, queue: QueueId, receipts: Sequence[Ref]) -> None:
        """Take claims back; never suspends. A repetition finds the claims over and changes nothing."""
        undo = _Settlement(receipts, [Verb.UNDO] * len(receipts), lambda: self._backend.undo(queue, receipts))
        await self._handover.until_done(queue, undo.call, self._teller(queue, undo))

    async def ack_read(self, queue: QueueId, receipts: Sequence[Ref]) -> None:
        """Settle claims whose reader asked for it by reading to the end; never suspends."""
        ack = _Settlement(receipts, [Verb.ACK] * len(receipts), lambda: self._backend.ack(queue, receipts))
        await self._handover.until_done(queue, ack.call, self._teller(queue, ack))

    async def by_name(self, verb: Verb, queue: QueueId, ref: Ref | None) -> None:
        """Pause, resume, cancel, retry or drop a message; None is all dead ones.

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

    def _by_name(
        self, verb: Verb, queue: QueueId, messages: Sequence[MessageId] | None
    ) -> Awaitable[Sequence[Settled]]:
        backend = self._backend
        if verb is Verb.RETRY:
            return backend.retry(queue, messages, now=self._clock.now())
        if verb is Verb.DROP:
            return backend.drop(queue, messages)
        calls = {Verb.PAUSE: backend.pause, Verb.RESUME: backend.resume, Verb.CANCEL: backend.cancel}
        return calls[verb](queue, messages or [])

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
