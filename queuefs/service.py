"""The verbs as calls: what a lease is, whose turn it is and what an error means, whatever the store."""

from __future__ import annotations

import itertools
import math
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import structlog
import trio

from queuefs.config import Config, OnFull, Order
from queuefs.delivery import INLINE_BYTES, Delivery
from queuefs.errors import (
    Interrupted,
    QueueFull,
    ShuttingDown,
    WaitTimedOut,
    WouldBlock,
)
from queuefs.lifecycle import Verb
from queuefs.lines import LineStage
from queuefs.listing import Listing
from queuefs.longtext import LongText, joined
from queuefs.message import Draft
from queuefs.render import extra_of, message_line
from queuefs.stage import Stage, Terms
from queuefs.writers import Patience, Writers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from queuefs.about import About
    from queuefs.longtext import Texts
    from queuefs.message import Counts, Message, QueueId, Ref, Stats
    from queuefs.options import DequeueOptions, EnqueueOptions, PeekOptions
    from queuefs.parts import Parts
    from queuefs.settling import Settling
    from queuefs.waiting import Caller
    from queuefs.wholestore import WholeStore

log = structlog.get_logger(__name__)


class Service:
    """The queues of one store."""

    def __init__(self, parts: Parts, settling: Settling, about: About, whole: WholeStore) -> None:
        """Serve a store by its *parts*; *settling* ends claims, *about* tells of the mount, *whole* sees all of it."""
        self._parts = parts
        self._backend = parts.backend
        self._configs = parts.configs
        self._handover = parts.handover
        self._lobby = parts.lobby
        self._upkeep = parts.upkeep
        self.clock = parts.clock
        self.events = parts.events
        self.waiting = parts.waiting
        self.settling = settling
        self.about = about
        self.whole = whole
        #: Whether an answer never has to be waited for.
        self.instant = parts.backend.traits.instant
        #: Told when a queue's config has changed.
        self.when_configured: Callable[[QueueId], None] = lambda _queue: None
        self._writers = Writers()
        self._stopping = False

    def stop(self) -> None:
        """Begin nothing new from now on and end all waits; what else has been begun may be finished."""
        self._stopping = True
        self.waiting.stop()

    def _admit(self) -> None:
        if self._stopping:
            raise ShuttingDown

    # Config -------------------------------------------------------------------------------------------------------

    async def config(self, queue: QueueId) -> Config:
        """Return a queue's config."""
        return await self._configs.get(queue)

    async def configure(self, queue: QueueId, text: bytes) -> None:
        """Merge *text* into a queue's config; all or nothing."""
        self._admit()
        await self._configs.merge(queue, text)
        log.info("config changed", queue=queue)
        self._lobby.heed(queue, None, 1)
        self.when_configured(queue)

    # Writing ------------------------------------------------------------------------------------------------------

    async def stage(
        self, queue: QueueId, options: EnqueueOptions, caller: Callable[[], Caller], *, may_wait: bool
    ) -> Stage | LineStage:
        """Begin to write a message, or a message a line.

        Args:
            queue: Where to.
            options: What the writer asks for.
            caller: Makes what is known of the writer, for a wait.
            may_wait: Whether the writer may be made to wait for room.

        Raises:
            ShuttingDown: the daemon is stopping.
        """
        self._admit()
        config = await self._configs.get(queue)
        ttl = config.ttl if options.ttl is None else options.ttl
        draft = Draft(priority=options.priority, delay=options.delay, ttl=ttl, key=options.key, extra=extra_of(options))
        terms = Terms(
            draft=draft,
            room=config.room,
            limit=config.max_message_bytes,
            size=options.size,
            window=config.dedup_window,
            strict=options.strict,
        )

        patience = None
        if config.on_full is OnFull.BLOCK:
            patience = Patience(
                with_room=lambda store: self._wait_for_room(queue, store, caller, may_wait=may_wait),
                writers=self._writers,
            )
        return (LineStage if options.lines else Stage)(self._parts, queue, terms, patience)

    async def _wait_for_room(
        self, queue: QueueId, store: Callable[[], Awaitable[None]], caller: Callable[[], Caller], *, may_wait: bool
    ) -> None:
        async def attempt() -> bool | None:
            try:
                await store()
            except QueueFull:
                if (await self._configs.get(queue)).on_full is OnFull.ERROR:  # by now
                    raise
                return None
            return True

        if not may_wait:
            if await attempt() is None:
                raise WouldBlock("the queue is full")
            return
        await self._lobby.room.take(queue, caller(), math.inf, attempt)

    # Reading ------------------------------------------------------------------------------------------------------

    def deliver(
        self, queue: QueueId, options: DequeueOptions, caller: Callable[[], Caller], *, may_wait: bool
    ) -> Delivery:
        """Begin to read messages.

        Raises:
            ShuttingDown: the daemon is stopping.
        """
        self._admit()
        return Delivery(
            _Claims(self, queue, options, caller, may_wait=may_wait),
            self._show(queue, options),
            acks=options.ack,
            instant=self.instant and not options.wait,
        )

    def _show(self, queue: QueueId, options: DequeueOptions) -> Callable[[Message], bytes | LongText]:
        if options.id:
            return lambda message: b"%d\n" % message.id
        return self._text_of(queue, raw=options.raw)

    def _text_of(self, queue: QueueId, *, raw: bool) -> Callable[[Message], bytes | LongText]:
        backend, clock = self._backend, self.clock

        def text(message: Message) -> bytes | LongText:
            if message.data is not None:
                return message.data if raw else message_line(message, clock)
            line = None if raw else message_line(replace(message, data=b""), clock)
            return LongText(backend, queue, message, line)

        return text

    async def claim(self, queue: QueueId, *, count: int, lease: float | None) -> Sequence[Message]:
        """Claim the next messages; none while the queue is paused."""
        self._admit()
        await self._handover.barrier(queue)
        config = await self._configs.get(queue)
        if config.paused:
            return ()
        lease = config.lease if lease is None else lease
        claimed = await self._backend.claim(
            queue,
            count=count,
            lease=lease,
            lifo=config.order is Order.LIFO,
            now=self.clock.now(),
            inline=INLINE_BYTES,
        )
        if claimed:
            self._upkeep.due_in(lease)
            self.events.tell(queue, Verb.DEQUEUE, [message.id for message in claimed])
        return claimed

    async def wait_to_claim(self, queue: QueueId, caller: Caller, options: DequeueOptions) -> Sequence[Message]:
        """Claim as soon as there is something to claim, in the order in which callers came."""

        async def attempt() -> Sequence[Message] | None:
            claimed = await self.claim(queue, count=options.count, lease=options.lease)
            if claimed and caller.has_signal():  # it came in the same moment, and nobody would read this
                await self.settling.undo(queue, [message.receipt for message in claimed])
                raise Interrupted
            return claimed or None

        return await self._lobby.claims.take(queue, caller, options.wait, attempt) or ()

    # Looking --------------------------------------------------------------------------------------------------------

    async def counts(self, queue: QueueId) -> Counts:
        """Return both counts, from one snapshot."""
        await self._handover.barrier(queue)
        return await self._backend.counts(queue)

    async def stats(self, queue: QueueId) -> Stats:
        """Return all counts and totals, from one snapshot."""
        await self._handover.barrier(queue)
        return await self._backend.stats(queue)

    async def peek(self, queue: QueueId, options: PeekOptions) -> bytes | Texts:
        """Return the text of the next messages, and leave them where they are."""
        await self._handover.barrier(queue)
        lifo = (await self._configs.get(queue)).order is Order.LIFO
        found = await self._backend.peek(
            queue, count=options.count, lifo=lifo, now=self.clock.now(), inline=INLINE_BYTES
        )
        texts = map(self._text_of(queue, raw=options.raw), found)
        text, _ = joined([*texts], nullcontext() if self.instant else trio.Lock())
        if not isinstance(text, bytes):
            await text.measure()
        return text

    async def unacked_bytes(self, queue: QueueId) -> int:
        """Return the payload bytes of all unacknowledged messages."""
        await self._handover.barrier(queue)
        return await self._backend.unacked_bytes(queue)

    async def messages(self, queue: QueueId, *, dead: bool) -> Listing:
        """Return all unacknowledged messages as of now, in order; or the dead ones."""
        await self._handover.barrier(queue)
        if dead:
            return Listing(self._backend, queue, await self._backend.dead(queue))
        found = await self._backend.snapshot(queue)
        if (await self._configs.get(queue)).order is Order.LIFO:
            found = sorted(found, key=lambda message: (message.priority, message.id), reverse=True)
        return Listing(self._backend, queue, found)

    async def retained(self, queue: QueueId) -> Iterator[Message]:
        """Return all messages there are, the dead ones last, without payloads."""
        await self._handover.barrier(queue)
        there = await self._backend.snapshot(queue)
        return itertools.chain(there, await self._backend.dead(queue))

    def removed(self, queue: QueueId) -> None:
        """Let those who wait in a queue that is gone find that out."""
        self._lobby.heed(queue, None, 1)

    async def wait_complete(self, queue: QueueId, caller: Caller, seconds: float | None) -> Counts:
        """Return the counts once both are zero.

        Raises:
            WaitTimedOut: they were not within *seconds*.
        """

        async def attempt() -> Counts | None:
            counts = await self.counts(queue)
            return None if counts.unacked else counts

        counts = await self._lobby.completion.take(queue, caller, math.inf if seconds is None else seconds, attempt)
        if counts is None:
            raise WaitTimedOut
        return counts

    async def command_after_close(self, queue: QueueId, command: Callable[[], Awaitable[None]]) -> None:
        """Carry out a last command that had no newline; later calls on the queue wait for it."""
        await self._handover.in_order(queue, command)

    async def clear(self, queue: QueueId) -> None:
        """Remove all pending and processing messages."""
        self._admit()
        await self._handover.barrier(queue)
        removed = await self._backend.clear(queue)
        log.info("cleared", queue=queue, pending=removed.pending, processing=removed.processing)
        if removed.unacked:
            self.events.tell(queue, Verb.CLEAR, [None])
            self._lobby.heed(queue, None, 1)  # there may be room for many


class _Claims:
    """Claims on behalf of one open of `dequeue`."""

    def __init__(
        self,
        service: Service,
        queue: QueueId,
        options: DequeueOptions,
        caller: Callable[[], Caller],
        *,
        may_wait: bool,
    ) -> None:
        self._service = service
        self._queue = queue
        self._options = options
        self._caller = caller
        self._may_wait = may_wait

    async def claim(self) -> Sequence[Message]:
        options = self._options
        if options.wait and self._may_wait:
            return await self._service.wait_to_claim(self._queue, self._caller(), options)
        claimed = await self._service.claim(self._queue, count=options.count, lease=options.lease)
        if options.wait and not claimed:
            raise WouldBlock("there is no message")
        return claimed

    async def undo(self, receipts: Sequence[Ref]) -> None:
        await self._service.settling.undo(self._queue, receipts)

    async def ack(self, receipts: Sequence[Ref]) -> None:
        await self._service.settling.ack_read(self._queue, receipts)

    async def bury(self, receipts: Sequence[Ref]) -> None:
        await self._service.settling.bury_damaged(self._queue, receipts)
