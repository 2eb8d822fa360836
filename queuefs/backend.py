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

from queuefs.message import Outcome

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from queuefs.clock import ClockMark
    from queuefs.lifecycle import State, Verb
    from queuefs.message import (
        Counts,
        Draft,
        Ended,
        Message,
        MessageId,
        Owner,
        Place,
        Queue,
        QueueId,
        Record,
        Ref,
        Retention,
        Room,
        Space,
        Stats,
        Verdict,
    )


#: How a message ends that is acknowledged and of which nothing else is said.
SUCCEEDED = Outcome()


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
    #: No unacknowledged message of that id in this queue (for `retry` and `drop`: no dead one either; for `prune`: no
    #: record of that id).
    UNKNOWN = "unknown"
    #: The message is not in the state that the verb needs, or the receipt is of another claim.
    STALE = "stale"
    #: Done, but the message is cancelled: its holder should stop (only from `extend`).
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One step of one message, as another daemon made it."""

    #: None: something may have happened anywhere, such as after an outage.
    queue: QueueId | None
    verb: Verb | None
    message: MessageId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overdue:
    """A message in processing whose lease has ended; it stays there until `expire` says what becomes of it."""

    queue: QueueId
    #: Its present claim.
    receipt: Ref
    attempt: int
    cancelled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """What a round of upkeep did, what it found, and when the next is due."""

    #: Messages whose lease has ended, oldest deadline first.
    overdue: Sequence[Overdue]
    #: Messages that were pending until their time to live ended, and are gone.
    lapsed: Sequence[tuple[QueueId, MessageId]]
    #: Queues in which a delay ended, so that there is something to hand out.
    ripe: Sequence[QueueId]
    #: Messages of dead daemons that were published.
    adopted: Sequence[tuple[QueueId, MessageId]]
    #: Messages whose records are gone, because their time was over or there were later ones.
    terminated: Sequence[tuple[QueueId, MessageId]]
    #: Seconds until something is due; 0 if more is due now (overdue messages that were reported do not count), None if
    #: nothing is in sight.
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
        """Remove a queue that has no children and no messages, with its records, and nothing but it.

        Raises:
            QueueNotEmpty: it has children, unacknowledged messages or dead ones.
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

    def set_file_owner(self, queue: QueueId, file: str, owner: Owner) -> Awaitable[None]:
        """Change who owns one control file or state directory of a queue, whatever its name; `Queue.files` has it."""

    def set_config(self, queue: QueueId, config: bytes, *, expected: bytes) -> Awaitable[bool]:
        """Replace the queue's config if it is still *expected*; return whether it was."""

    # Writing ------------------------------------------------------------------------------------------------------

    def stage(
        self,
        queue: QueueId,
        data: bytes,
        *,
        draft: Draft,
        room: Room,
        partial: bool,
        now: float,
        message: MessageId | None = None,
    ) -> Awaitable[MessageId]:
        """Store the beginning of a message and return its id, higher than every id given before.

        A staged message is in no count and nobody can claim or see it, but it takes room. It belongs to this open
        store: the first `tick` after the store is opened again (or, where it is shared, another daemon's `tick` that
        finds this one dead for 15 s or more) publishes it, or drops it if it is marked partial.

        Ids are never given twice, also when the store is opened after it was replaced by an older copy of itself.

        Args:
            queue: Where it shall be pending once published.
            data: Its first bytes; may be empty.
            draft: What its writer asks for.
            room: What the queue may hold: with this message in it, unacknowledged and staged messages together are at
                most ``room.messages``, and their payload bytes at most ``room.bytes``; 0 is no limit.
            partial: It is known that more must follow before it is a message.
            now: Kept as the time it was enqueued.
            message: The id that it had in another store, to have it here too; None: the next. No id up to it is given
                from then on.

        Raises:
            QueueFull: it does not fit; nothing was stored and no id was given.
            IdInUse: something has the id that was asked for (an unacknowledged, dead or staged message): in this
                queue, and if the store sees that, in another.
            IdsExhausted: no higher id is left; now and for ever.
            StoreFull: nothing was stored.
        """

    def append(
        self, queue: QueueId, message: MessageId, data: bytes, *, offset: int, partial: bool, room: Room
    ) -> Awaitable[None]:
        """Add *data*, which begins at byte *offset*, to a staged message, and set or lift its partial mark.

        Raises:
            MessageNotFound: it is not staged (any more).
            BadValue: *offset* is not the number of bytes stored so far.
            QueueFull: the queue would hold more than ``room.bytes``; nothing was stored.
            StoreFull: nothing was stored.
        """

    def publish(self, queue: QueueId, message: MessageId, *, now: float, window: float) -> Awaitable[MessageId]:
        """Make a staged message pending and return its id; one that is not staged (any more) is left as it is.

        ``due`` becomes now + delay, and ``expires_at`` now + ttl, where the draft has them.

        If it has a key, and a message of that key in this queue is unacknowledged, or was published less than *window*
        seconds ago, it is dropped instead, and the id of that message is returned. (A message that `tick`
        publishes for a dead daemon gives way likewise, with a window of 0.)
        """

    def find_key(self, queue: QueueId, key: str, *, now: float, window: float) -> Awaitable[MessageId | None]:
        """Return the id of the message to which a message of *key* would give way if it were published now."""

    def restore(self, queue: QueueId, message: Message) -> Awaitable[None]:
        """Make a staged message what *message* says it was in another store: pending, processing or dead.

        All of *message* but its payload and size is taken over: the state, ``attempt``, ``claims``, every time, the
        pause, key and reason. The payload is what was staged, and counts from now on. No total changes but
        ``enqueued``.

        Raises:
            MessageNotFound: it is not staged.
        """

    def restore_record(self, queue: QueueId, record: Record, *, keep: Retention) -> Awaitable[None]:
        """Keep *record* as if its message had just been done here. One of the same id gives way to it.

        No id up to it is given from then on.
        """

    def discard(self, queue: QueueId, message: MessageId) -> Awaitable[None]:
        """Remove a staged message; a message that is not staged (any more) is left as it is."""

    # Reading and settling -------------------------------------------------------------------------------------------

    def claim(
        self, queue: QueueId, *, count: int, lease: float, lifo: bool, now: float, inline: int | None = None
    ) -> Awaitable[Sequence[Message]]:
        """Move the first *count* messages that can be handed out (or all there are) to processing and return them.

        * They are pending, not paused, ``due`` <= now or None, and ``expires_at`` > now or None.
        * The highest priority is first; among equals the lowest id, with *lifo* the highest.
        * Each gets ``attempt`` and ``claims`` one higher, ``lease_until`` = now + *lease* seconds, ``claimed_at`` =
          now, and no ``due``.
        * A payload of more than *inline* bytes is not read, let alone checked, and its ``data`` is None; with None all
          are read.
        * A message whose payload can't be read MUST NOT stop the ones behind it: it is skipped and stays pending.
        """

    def take(
        self, queue: QueueId, messages: Sequence[MessageId], *, lease: float, now: float
    ) -> Awaitable[Sequence[Settled]]:
        """Claim these messages, whatever stands before them, as `claim` would, delayed ones too; payloads are not read.

        STALE for one that is not pending or is paused; UNKNOWN also for one whose ``expires_at`` has come.
        """

    def undo(
        self, queue: QueueId, refs: Sequence[Ref], *, now: float, keep: Retention | None = None
    ) -> Awaitable[Sequence[Settled]]:
        """Take claims back: pending again, ``attempt`` one lower, ``claims`` and ``claimed_at`` as they are."""

    def ack(
        self,
        queue: QueueId,
        refs: Sequence[Ref],
        *,
        now: float,
        keep: Retention | None = None,
        outcome: Outcome = SUCCEEDED,
    ) -> Awaitable[Sequence[Settled]]:
        """Settle messages in processing for good: they are done, and their payloads are gone.

        This and the other settling methods take ids or receipts, try all, in order, in one atomic step, and return
        one `Settled` for each. An id names whatever claim the message is under; a receipt that claim alone. A message
        that is cancelled is done whichever way it is settled (but for `extend`), and also when its claim is undone; its
        status is then `Status.CANCELLED`, whatever *outcome* says.

        What is done leaves a `Record` with ``finished_at`` = now, if *keep* has room for one: None, or no records, or
        no seconds, keeps none. The last *keep* that a queue was told holds for all its records: `records` shows no more
        than that, and `tick` drops the others. To keep records never makes settling wait or fail: in a full store
        there may be fewer.
        """

    def nack(
        self, queue: QueueId, verdicts: Sequence[Verdict], *, now: float, keep: Retention | None = None
    ) -> Awaitable[Sequence[Settled]]:
        """Make messages in processing pending again, or dead; ``attempt`` stays, ``due`` = now + delay if it has one.

        What becomes pending and has outlived its ``expires_at`` lapses at the next `tick`, like any pending message.
        """

    def expire(
        self, queue: QueueId, verdicts: Sequence[Verdict], *, now: float, keep: Retention | None = None
    ) -> Awaitable[Sequence[Settled]]:
        """As `nack`, for messages whose lease is over at *now*; others are STALE and left as they are."""

    def extend(self, queue: QueueId, refs: Sequence[Ref], *, lease: float, now: float) -> Awaitable[Sequence[Settled]]:
        """Let the leases of messages in processing start anew: ``lease_until`` = now + *lease*.

        CANCELLED for one that was cancelled; its lease starts anew all the same.
        """

    def check(self, queue: QueueId, refs: Sequence[Ref]) -> Awaitable[Sequence[Settled]]:
        """Return what `ack` would answer, and change nothing."""

    def clear(self, queue: QueueId) -> Awaitable[Counts]:
        """Remove all pending and processing messages, not staged or dead ones; return how many of each there were."""

    # By name --------------------------------------------------------------------------------------------------------

    def pause(self, queue: QueueId, messages: Sequence[MessageId]) -> Awaitable[Sequence[Settled]]:
        """Keep pending messages from being handed out; STALE for those in processing; again is DONE again."""

    def resume(self, queue: QueueId, messages: Sequence[MessageId]) -> Awaitable[Sequence[Settled]]:
        """Let paused messages be handed out again; as `pause` otherwise."""

    def cancel(
        self, queue: QueueId, messages: Sequence[MessageId], *, now: float, keep: Retention | None = None
    ) -> Awaitable[Sequence[Settled]]:
        """End pending messages as cancelled; mark those in processing, again is DONE again."""

    def bury(
        self, queue: QueueId, messages: Sequence[MessageId], *, reason: str | None = None
    ) -> Awaitable[Sequence[Settled]]:
        """Make pending messages dead, paused ones too; STALE for those in processing. Without a reason the old stays.

        They have no ``due`` and no pause any more, and count in `Stats.buried`.
        """

    def move(self, queue: QueueId, message: MessageId, *, target: QueueId, room: Room) -> Awaitable[Settled]:
        """Let a pending message be one of *target*, as it is, its pause included; STALE if it is in processing.

        It counts in the target's `Stats.enqueued`. A key that keeps repetitions out keeps none out of *queue* any more.

        Raises:
            QueueFull: the *target* has no room for it; it is where it was.
            KeyInUse: an unacknowledged message of *target* has its key; likewise.
        """

    def retry(
        self, queue: QueueId, messages: Sequence[MessageId] | None, *, now: float
    ) -> Awaitable[Sequence[Settled]]:
        """Make dead messages pending, ``attempt`` 0, ``due`` and ``expires_at`` None; None: all of them.

        STALE for one that is not dead. With None there is one DONE for each.
        """

    def drop(self, queue: QueueId, messages: Sequence[MessageId] | None) -> Awaitable[Sequence[Settled]]:
        """Remove dead messages for good; as `retry` otherwise."""

    def prune(self, queue: QueueId, messages: Sequence[MessageId] | None) -> Awaitable[Sequence[Settled]]:
        """Remove records; None: all of them, with one DONE for each."""

    # Looking --------------------------------------------------------------------------------------------------------

    def counts(self, queue: QueueId) -> Awaitable[Counts]:
        """Return both counts, from one snapshot."""

    def peek(
        self, queue: QueueId, *, count: int, lifo: bool, now: float, inline: int | None = None
    ) -> Awaitable[Sequence[Message]]:
        """Return what `claim` would claim, as it is, with payloads; claim nothing."""

    def unacked_bytes(self, queue: QueueId) -> Awaitable[int]:
        """Return the sum of the payload sizes of all pending and processing messages."""

    def snapshot(self, queue: QueueId) -> Awaitable[Sequence[Message]]:
        """Return all pending and processing messages by priority and id, without payloads, from one snapshot."""

    def dead(self, queue: QueueId) -> Awaitable[Sequence[Message]]:
        """Return all dead messages by id, without payloads."""

    def page(
        self, queue: QueueId, state: State, *, after: Place | None, limit: int, lifo: bool = False
    ) -> Awaitable[Sequence[Message]]:
        """Return the messages of one state that stand behind *after* (None: from the first), without payloads.

        * PENDING: all, delayed, paused and lapsing ones too, in the order of their places; with *lifo*, among equal
          priorities the highest id first.
        * PROCESSING: in the order of their places. DEAD: by id; of *after* the id alone counts.
        * At least one if there are any, at most *limit*; what it costs depends on *limit* and not on how many there
          are. Who pages on from the last one's place meets each message once that is in the state all the while.
        """

    def places(
        self, queue: QueueId, state: State, *, after: Place | None, limit: int, lifo: bool = False
    ) -> Awaitable[Sequence[Place]]:
        """As `page`, but where the messages stand alone, which costs a fraction: for lists of names."""

    def records(self, queue: QueueId, *, after: Ended | None, limit: int, now: float) -> Awaitable[Sequence[Record]]:
        """Return the queue's records behind *after*, the latest first; at least one if there are any, at most *limit*.

        They are those whose time is not over, and no more than the queue was last told to keep.
        """

    def find_records(
        self, queue: QueueId, messages: Sequence[MessageId], *, now: float
    ) -> Awaitable[Sequence[Record | None]]:
        """Return records by id, of those that `records` would show; None for each that is none."""

    def read(self, queue: QueueId, message: MessageId, *, offset: int, size: int) -> Awaitable[bytes | None]:
        """Return a piece of the payload of a pending, processing or dead message; None if it is gone.

        Fewer than *size* bytes only at its end. It costs what *size* costs, so no checksum of the whole is looked at.

        Raises:
            StoreDamaged: that piece is missing.
        """

    def find(self, queue: QueueId, messages: Sequence[MessageId]) -> Awaitable[Sequence[Message | None]]:
        """Return pending, processing and dead messages by id, without payloads; None for each that is none."""

    def payloads(self, queue: QueueId, messages: Sequence[MessageId]) -> Awaitable[Sequence[bytes | None]]:
        """Return the payloads of pending, processing and dead messages, None for each that is gone."""

    def stats(self, queue: QueueId) -> Awaitable[Stats]:
        """Return all counts and totals, from one snapshot, without counting rows (but for a bounded few)."""

    # Upkeep ---------------------------------------------------------------------------------------------------------

    def tick(self, *, now: float, limit: int) -> Awaitable[Tick]:
        """Do what is due, at most about *limit* messages of it, report whose lease is over, and say when to come again.

        * Messages in processing with ``lease_until`` <= now are reported as overdue, and change nothing by that.
        * Pending messages with ``expires_at`` <= now are removed.
        * Delayed messages with ``due`` <= now can be handed out from then on (a claim does not need this round for it).
        * Keys of messages that are gone are forgotten once their window is over.
        * Records are dropped whose time is over, or that are more than their queue was last told to keep.
        * What dead daemons had staged is published, or dropped if partial; where the store is shared, this daemon is
          noted as alive.
        """

    def listen(self, heard: Callable[[Sequence[Transition]], None]) -> None:
        """Where the store is shared, call *heard* on the trio thread with what other daemons do from now on.

        Some may be missed; after an outage one with ``queue`` None is given. Elsewhere nothing is ever heard.
        """

    def load_clock(self) -> Awaitable[ClockMark | None]:
        """Return the mark that was saved last; None if there is none, or the server's clock counts."""

    def save_clock(self, mark: ClockMark) -> Awaitable[None]:
        """Keep *mark* beside the messages."""

    def space(self) -> Awaitable[Space]:
        """Return what the store takes up and what it could; must cost no more than a call on a message does."""

    def last_id(self) -> Awaitable[MessageId | None]:
        """Return the highest message id that was given; None if none was."""

    def audit(self) -> Awaitable[Sequence[str]]:
        """Return one sentence for each disagreement within the store: counts against rows, orphans, checksums.

        It may read everything, and holds nobody else up for long by that. Each sentence that is about one message names
        it as ``message ID``.
        """

    def repair(self) -> Awaitable[Sequence[str]]:
        """Put right what `audit` finds, and return one sentence for each thing done.

        * A pending message or one in processing whose payload is missing or not what was put in is made dead, its
          reason says so, and what there is of its payload can be read. A dead one gets the reason, and stays.
        * Parts that belong to no message are removed; counts are made what they count.
        * What can't be put right is named in a sentence that begins with ``not repaired``.
        """
