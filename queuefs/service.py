"""The verbs as calls: what a lease is, whose turn it is and what an error means, whatever the store."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import structlog

from queuefs.backend import Settled
from queuefs.delivery import Delivery
from queuefs.errors import MessageNotFound, QueueFSError, ShuttingDown, StaleReceipt
from queuefs.lifecycle import Verb
from queuefs.listing import Listing
from queuefs.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from queuefs.backend import Backend
    from queuefs.clock import Clock
    from queuefs.handover import Handover
    from queuefs.message import Counts, Message, QueueId, Ref
    from queuefs.upkeep import Upkeep

log = structlog.get_logger(__name__)


class Service:
    """The queues of one store."""

    def __init__(
        self,
        backend: Backend,
        clock: Clock,
        handover: Handover,
        upkeep: Upkeep,
        *,
        lease: float,
        max_message_bytes: int,
    ) -> None:
        """Serve *backend*.

        Args:
            backend: The store.
            clock: The store's time.
            handover: Finishes what closes leave to be done.
            upkeep: Lets leases end.
            lease: Seconds for which a claim holds.
            max_message_bytes: The most bytes a message may have.
        """
        self._backend = backend
        self.clock = clock
        self._handover = handover
        self._upkeep = upkeep
        self._lease = lease
        self.max_message_bytes = max_message_bytes
        #: Whether an answer never has to be waited for.
        self.instant = backend.traits.instant
        self._stopping = False

    def stop(self) -> None:
        """Begin nothing new from now on; what has been begun may be finished."""
        self._stopping = True

    def _admit(self) -> None:
        if self._stopping:
            raise ShuttingDown

    # Writing ------------------------------------------------------------------------------------------------------

    def stage(self, queue: QueueId) -> Stage:
        """Begin to write a message.

        Raises:
            ShuttingDown: the daemon is stopping.
        """
        self._admit()
        return Stage(self._backend, self._handover, queue, limit=self.max_message_bytes, clock=self.clock)

    # Reading ------------------------------------------------------------------------------------------------------

    def deliver(self, queue: QueueId) -> Delivery:
        """Begin to read the next message.

        Raises:
            ShuttingDown: the daemon is stopping.
        """
        self._admit()
        return Delivery(partial(self.claim, queue), partial(self.undo, queue), self.clock, instant=self.instant)

    async def claim(self, queue: QueueId) -> Message | None:
        """Claim the next message; None if there is none."""
        self._admit()
        await self._handover.barrier(queue)
        lease = self._lease
        claimed = await self._backend.claim(queue, count=1, lease=lease, now=self.clock.now())
        if not claimed:
            return None
        self._upkeep.lease_given(lease)
        return claimed[0]

    async def undo(self, queue: QueueId, receipt: Ref) -> None:
        """Take a claim back; never suspends. A repetition finds the claim over and changes nothing."""
        await self._handover.until_done(queue, lambda: self._backend.undo(queue, [receipt]))

    # Settling -----------------------------------------------------------------------------------------------------

    async def settle(self, verb: Verb, queue: QueueId, refs: Sequence[Ref]) -> Sequence[Settled]:
        """Ack, nack or extend messages; return one answer for each reference."""
        await self._handover.barrier(queue)
        settled = await self._settle(verb, queue, refs)
        if verb is Verb.EXTEND:
            self._upkeep.lease_given(self._lease)
        return settled

    def _settle(self, verb: Verb, queue: QueueId, refs: Sequence[Ref]) -> Awaitable[Sequence[Settled]]:
        if verb is Verb.ACK:
            return self._backend.ack(queue, refs)
        if verb is Verb.NACK:
            return self._backend.nack(queue, refs)
        return self._backend.extend(queue, refs, lease=self._lease, now=self.clock.now())

    async def check(self, queue: QueueId, refs: Sequence[Ref]) -> Sequence[Settled]:
        """Return what settling would answer; change nothing."""
        await self._handover.barrier(queue)
        return await self._backend.check(queue, refs)

    async def settle_after_close(self, verb: Verb, queue: QueueId, ref: Ref) -> None:
        """Settle by a last line that had no newline; never suspends.

        Made once: an id that is settled again after an unknown outcome could meet somebody else's claim.
        """

        def complaint(settled: Sequence[Settled]) -> str | None:
            error = settled_error(ref, settled[0])
            return None if error is None else f"{verb}: {error}"

        await self._handover.once(queue, lambda: self._settle(verb, queue, [ref]), complaint)

    # Looking --------------------------------------------------------------------------------------------------------

    async def counts(self, queue: QueueId) -> Counts:
        """Return both counts, from one snapshot."""
        await self._handover.barrier(queue)
        return await self._backend.counts(queue)

    async def peek(self, queue: QueueId) -> Message | None:
        """Return the next message and leave it where it is; None if there is none."""
        await self._handover.barrier(queue)
        found = await self._backend.peek(queue, count=1)
        return found[0] if found else None

    async def unacked_bytes(self, queue: QueueId) -> int:
        """Return the payload bytes of all unacknowledged messages."""
        await self._handover.barrier(queue)
        return await self._backend.unacked_bytes(queue)

    async def messages(self, queue: QueueId) -> Listing:
        """Return all unacknowledged messages as of now, in order."""
        await self._handover.barrier(queue)
        return Listing(self._backend, queue, await self._backend.snapshot(queue))

    async def clear(self, queue: QueueId) -> None:
        """Remove all pending and processing messages."""
        self._admit()
        await self._handover.barrier(queue)
        removed = await self._backend.clear(queue)
        log.info("cleared", queue=queue, pending=removed.pending, processing=removed.processing)


def settled_error(ref: Ref, settled: Settled) -> QueueFSError | None:
    """Return what a writer is told about one of its ids; None if it was done."""
    if settled is Settled.UNKNOWN:
        return MessageNotFound(f"no unacknowledged message {ref.id} in this queue")
    if settled is Settled.STALE:
        return StaleReceipt(f"{ref} is not held under that claim")
    return None
