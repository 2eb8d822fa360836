"""The contract between the daemon and a store of queues.

A back end is a set of primitives, each one atomic step which changes `pending` and `processing` together. Policy (which
lease, how often, who waits) is the service's. `queuefs.testing` holds the tests that every back end passes.

What holds for every method:

* A call takes its place in the order of operations when it is **made**, not when its result is awaited. The methods
  are plain functions that return awaitables: a file's last close must hand over a publication without waiting for it,
  and a later call must find it done.
* Every result MUST be awaited once; errors come from there.
* What is not a `QueueFSError` is a bug of the back end. Errors of the store are mapped next to the call that met them.
* No operation is tried again unless it is certain that it was not carried out, or a repetition can be told from a
  second request.
* `now` is seconds on the store's clock; where `Traits.server_time` is set it is ignored and the server's clock counts.
* Every method that takes a queue raises `QueueNotFound` when there is none of that number. The root is none: it may
  only be a parent.
* A message's place is its priority (higher first) and its id (lower first), for ever: whatever makes it pending again
  brings it back there.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from queuefs.clock import ClockMark
    from queuefs.message import Counts, Message, MessageId, Owner, Queue, QueueId, Ref


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What the core may rely on; it never asks which back end it has."""

    #: What is stored outlives the daemon.
    durable: bool
    #: Other daemons may have the same store open.
    shared: bool
    #: Every answer is there when the call returns; nothing waits for a disk or a network.
    instant: bool
    #: The store has a clock of its own, and `now` is ignored.
    server_time: bool


class Settled(Enum):
    """What became of one id or receipt that was to be settled."""

    #: Done as asked.
    DONE = "done"
    #: No unacknowledged message of that id in this queue.
    UNKNOWN = "unknown"
    #: The message is not in processing, or the receipt is of another claim.
    STALE = "stale"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """What a round of upkeep did and when the next is due."""

    #: Messages whose lease ended and which are pending again.
    expired: Sequence[tuple[QueueId, MessageId]]
    #: Messages of dead daemons that were published.
    adopted: Sequence[tuple[QueueId, MessageId]]
    #: Seconds until something is due; 0 if more is due now, None if nothing is in sight.
    next_due: float | None


class Backend(Protocol):
    """A store of queues."""

    traits: Traits

    # Queues -------------------------------------------------------------------------------------------------------

    def find_queue(self, parent: QueueId, name: str) -> Awaitable[Queue | None]:
        """Return the child *name* of *parent*, or None; a parent that does not exist has no children."""

    def get_queue(self, queue: QueueId) -> Awaitable[Queue]:
        """Return a queue by its number."""

    def children(self, parent: QueueId) -> Awaitable[Sequence[Queue]]:
        """Return the queues directly below *parent*, ordered by name; none for a parent that does not exist."""

    def create_queue(self, parent: QueueId, name: str, *, owner: Owner, now: float) -> Awaitable[Queue]:
        """Create an empty queue under a number that was never used.

        Raises:
            QueueExists: *parent* has a child of that name; names are compared byte for byte.
            QueueNotFound: there is no *parent* (the root, `ROOT`, always exists).
        """

    def remove_queue(self, queue: QueueId) -> Awaitable[None]:
        """Remove a queue that has no children and no messages, and nothing but it.

        Raises:
            QueueNotEmpty: it has children or unacknowledged messages.
            QueueBusy: it has none of these, but staged messages.
        """

    def rename_queue(self, queue: QueueId, *, parent: QueueId, name: str) -> Awaitable[None]:
        """Give a queue another place and name, with all below it, in one step.

        Raises:
            QueueExists: there is another queue of that name at that place.
            QueueNotFound: there is no such queue, or no such *parent*.
            BadValue: *parent* is the queue itself or below it.
        """

    def set_owner(self, queue: QueueId, owner: Owner) -> Awaitable[None]:
        """Change who owns a queue."""

    # Writing ------------------------------------------------------------------------------------------------------

    def stage(self, queue: QueueId, data: bytes, *, partial: bool, priority: int, now: float) -> Awaitable[MessageId]:
        """Store the beginning of a message and return its id, higher than every id given before.

        A staged message is in no count and nobody can claim or see it. It belongs to this open store: when the store
        is opened again after a crash (or, where it is shared, another daemon's `tick` finds this one dead for 15 s or
        more), it is published, or dropped if it is marked partial.

        Args:
            queue: Where it shall be pending once published.
            data: Its first bytes; may be empty.
            partial: It is known that more must follow before it is a message.
            priority: Its place, -100000 to 100000.
            now: Kept as the time it was enqueued.

        Raises:
            IdsExhausted: no higher id is left; now and for ever.
            StoreFull: nothing was stored.
        """

    def append(self, queue: QueueId, message: MessageId, data: bytes, *, offset: int, partial: bool) -> Awaitable[None]:
        """Add *data*, which begins at byte *offset*, to a staged message, and set or lift its partial mark.

        Raises:
            MessageNotFound: it is not staged (any more).
            BadValue: *offset* is not the number of bytes stored so far.
            StoreFull: nothing was stored.
        """

    def publish(self, queue: QueueId, message: MessageId) -> Awaitable[None]:
        """Make a staged message pending; a message that is not staged (any more) is left as it is."""

    def discard(self, queue: QueueId, message: MessageId) -> Awaitable[None]:
        """Remove a staged message; a message that is not staged (any more) is left as it is."""

    # Reading and settling -------------------------------------------------------------------------------------------

    def claim(self, queue: QueueId, *, count: int, lease: float, now: float) -> Awaitable[Sequence[Message]]:
        """Move the first *count* pending messages (fewer if there are fewer) to processing and return them, in order.

        Each gets ``attempt`` and ``claims`` one higher, and ``lease_until`` = now + *lease* seconds.
        A message whose payload can't be read MUST NOT stop the ones behind it: it is skipped and stays pending.
        """

    def undo(self, queue: QueueId, refs: Sequence[Ref]) -> Awaitable[Sequence[Settled]]:
        """Take claims back: pending again, ``attempt`` one lower, ``claims`` as it is."""

    def ack(self, queue: QueueId, refs: Sequence[Ref]) -> Awaitable[Sequence[Settled]]:
        """Remove messages in processing for good.

        This and the other settling methods take ids or receipts, try all, in order, in one atomic step, and return
        one `Settled` for each. An id names whatever claim the message is under; a receipt that claim alone.
        """

    def nack(self, queue: QueueId, refs: Sequence[Ref]) -> Awaitable[Sequence[Settled]]:
        """Make messages in processing pending again; ``attempt`` stays."""

    def extend(self, queue: QueueId, refs: Sequence[Ref], *, lease: float, now: float) -> Awaitable[Sequence[Settled]]:
        """Let the leases of messages in processing start anew: ``lease_until`` = now + *lease*."""

    def check(self, queue: QueueId, refs: Sequence[Ref]) -> Awaitable[Sequence[Settled]]:
        """Return what `ack` would answer, and change nothing."""

    def clear(self, queue: QueueId) -> Awaitable[Counts]:
        """Remove all pending and processing messages, not the staged ones; return how many of each there were."""

    # Looking --------------------------------------------------------------------------------------------------------

    def counts(self, queue: QueueId) -> Awaitable[Counts]:
        """Return both counts, from one snapshot."""

    def peek(self, queue: QueueId, *, count: int) -> Awaitable[Sequence[Message]]:
        """Return the first *count* pending messages in order, with their payloads; claim nothing."""

    def unacked_bytes(self, queue: QueueId) -> Awaitable[int]:
        """Return the sum of the payload sizes of all pending and processing messages."""

    def snapshot(self, queue: QueueId) -> Awaitable[Sequence[Message]]:
        """Return all pending and processing messages by priority and id, without payloads, from one snapshot."""

    def payloads(self, queue: QueueId, messages: Sequence[MessageId]) -> Awaitable[Sequence[bytes | None]]:
        """Return the payloads of unacknowledged messages, None for each that is gone."""

    # Upkeep ---------------------------------------------------------------------------------------------------------

    def tick(self, *, now: float, limit: int) -> Awaitable[Tick]:
        """Do what is due, at most *limit* messages of it, and say when to come again.

        * Messages in processing with ``lease_until`` <= now become pending again; ``attempt`` stays.
        * Where the store is shared: this daemon is noted as alive, and what dead ones had staged is published, or
          dropped if partial.
        """

    def load_clock(self) -> Awaitable[ClockMark | None]:
        """Return the mark that was saved last; None if there is none, or the server's clock counts."""

    def save_clock(self, mark: ClockMark) -> Awaitable[None]:
        """Keep *mark* beside the messages."""

    def audit(self) -> Awaitable[Sequence[str]]:
        """Return one sentence for each disagreement within the store: counts against rows, orphans, checksums.

        For tests and checks: it may read everything.
        """
