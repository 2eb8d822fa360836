"""What ends a claim, and what is done to messages by name."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

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

    #: A call on the back end, made when called.
    Settle = Callable[[], Awaitable[Sequence[Settled]]]


class Settling:
    """Settles the messages of one store."""

    def __init__(self, parts: Parts) -> None:
        """Settle in the store that *parts* belong to."""
        self._backend = parts.backend
        self._clock = parts.clock
        self._configs = parts.configs
        self._handover = parts.handover
        self._events = parts.events
        self._lobby = parts.lobby
        self._upkeep = parts.upkeep

    async def settle(
        self, verb: Verb, queue: QueueId, refs: Sequence[Ref], options: Options
    ) -> list[QueueFSError | None]:
        """Ack, nack or extend messages; return what is wrong with each, None where nothing is."""
        await self._handover.barrier(queue)
        settled = await (await self._settlement(verb, queue, refs, options))()
        self._tell(verb, queue, refs, settled)
        return [settled_error(ref, one) for ref, one in zip(refs, settled, strict=True)]

    async def _settlement(
        self, verb: Verb, queue: QueueId, refs: Sequence[Ref], options: Options
    ) -> Callable[[], Awaitable[Sequence[Settled]]]:
        """Return the call that settles messages, with all it has to know."""
        if verb is Verb.ACK:
            return lambda: self._backend.ack(queue, refs)
        config = await self._configs.get(queue)
        if isinstance(options, ExtendOptions):
            lease = config.lease if options.lease is None else options.lease
            self._upkeep.due_in(lease)
            return lambda: self._backend.extend(queue, refs, lease=lease, now=self._clock.now())
        assert isinstance(options, NackOptions)  # no other verb settles
        verdicts = await self._verdicts(queue, refs, config, options)
        self._upkeep.due_in(min((verdict.delay for verdict in verdicts), default=math.inf))
        return lambda: self._backend.nack(queue, verdicts, now=self._clock.now())

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
        call = await self._settlement(verb, queue, [ref], options)
        return lambda: self._handover.once(queue, call, self._teller(verb, queue, [ref]))

    def _teller(self, verb: Verb, queue: QueueId, refs: Sequence[Ref]) -> Callable[[Sequence[Settled]], str | None]:
        def tell(settled: Sequence[Settled]) -> str | None:
            self._tell(verb, queue, refs, settled)
            errors = [settled_error(ref, one) for ref, one in zip(refs, settled, strict=True)]
            return next((f"{verb}: {error}" for error in errors if error is not None), None)

        return tell

    def _tell(self, verb: Verb, queue: QueueId, refs: Sequence[Ref], settled: Sequence[Settled]) -> None:
        self._events.tell(queue, verb, [ref.id for ref, one in zip(refs, settled, strict=True) if one is Settled.DONE])

    async def undo(self, queue: QueueId, receipts: Sequence[Ref]) -> None:
        """Take claims back; never suspends. A repetition finds the claims over and changes nothing."""
        await self._handover.until_done(
            queue, lambda: self._backend.undo(queue, receipts), self._teller(Verb.UNDO, queue, receipts)
        )

    async def ack_read(self, queue: QueueId, receipts: Sequence[Ref]) -> None:
        """Settle claims whose reader asked for it by reading to the end; never suspends."""
        await self._handover.until_done(
            queue, lambda: self._backend.ack(queue, receipts), self._teller(Verb.ACK, queue, receipts)
        )

    async def by_name(self, verb: Verb, queue: QueueId, messages: Sequence[MessageId] | None) -> Sequence[Settled]:
        """Pause, resume, cancel, retry or drop messages by id; None is all dead ones."""
        await self._handover.barrier(queue)
        backend = self._backend
        if verb is Verb.RETRY:
            settled = await backend.retry(queue, messages, now=self._clock.now())
        elif verb is Verb.DROP:
            settled = await backend.drop(queue, messages)
        else:
            calls = {Verb.PAUSE: backend.pause, Verb.RESUME: backend.resume, Verb.CANCEL: backend.cancel}
            settled = await calls[verb](queue, messages or [])
        if messages is None:
            self._events.tell(queue, verb, [None] if settled else [])
            self._lobby.heed(queue, None, 1)
        else:
            done = [one for one, is_done in zip(messages, settled, strict=True) if is_done is Settled.DONE]
            self._events.tell(queue, verb, done)
        return settled


def settled_error(ref: Ref, settled: Settled) -> QueueFSError | None:
    """Return what a writer is told about one of its ids; None if it was done."""
    if settled is Settled.UNKNOWN:
        return MessageNotFound(f"no unacknowledged message {ref.id} in this queue")
    if settled is Settled.STALE:
        return StaleReceipt(f"{ref} is not held under that claim")
    if settled is Settled.CANCELLED:
        return MessageCancelled()
    return None
