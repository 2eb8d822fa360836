"""The contract's methods that claim messages and settle them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from queuefs.backend import SUCCEEDED
from queuefs_redis import replies
from queuefs_redis.calls import Calls
from queuefs_redis.encoding import given, keep_args, microseconds, padded, ref_args, verdict_args
from queuefs_redis.metas import Taken, taken_of
from queuefs_redis.request import Request

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from queuefs.backend import Settled
    from queuefs.message import Counts, Message, MessageId, Outcome, QueueId, Ref, Retention, Room, Verdict


class Settling(Calls):
    """From a claim to its end, and what is done to messages by name."""

    def claim(
        self, queue: QueueId, *, count: int, lease: float, lifo: bool, now: float, inline: int | None = None
    ) -> Awaitable[Sequence[Message]]:
        """Move the first messages that can be handed out to processing."""
        longest = "" if inline is None else inline

        def take(wanted: int) -> Awaitable[Taken]:
            args = (queue, wanted, microseconds(lease), int(lifo), self._now(now), longest)
            return self._submit(Request("claim", *args, decode=self._taken))

        return self._damage.around(queue, take, count, take(count))

    def _taken(self, reply: Sequence[Any]) -> Taken:
        taken = taken_of(reply)
        for message in taken.messages:
            self._note_id(message.id)
        return taken

    def take(
        self, queue: QueueId, messages: Sequence[MessageId], *, lease: float, now: float
    ) -> Awaitable[Sequence[Settled]]:
        """Claim messages by id."""
        args = (queue, microseconds(lease), self._now(now), *map(padded, messages))
        return self._submit(Request("take", *args, decode=replies.settled_of))

    def undo(
        self, queue: QueueId, refs: Sequence[Ref], *, now: float, keep: Retention | None = None
    ) -> Awaitable[Sequence[Settled]]:
        """Take claims back."""
        return self._settle("undo", queue, refs, now=now, keep=keep)

    def ack(
        self,
        queue: QueueId,
        refs: Sequence[Ref],
        *,
        now: float,
        keep: Retention | None = None,
        outcome: Outcome = SUCCEEDED,
    ) -> Awaitable[Sequence[Settled]]:
        """Settle messages in processing for good."""
        return self._settle("ack", queue, refs, now=now, keep=keep, outcome=outcome)

    def nack(
        self, queue: QueueId, verdicts: Sequence[Verdict], *, now: float, keep: Retention | None = None
    ) -> Awaitable[Sequence[Settled]]:
        """Make messages in processing pending again, or dead."""
        return self._judge("nack", queue, verdicts, now, keep)

    def expire(
        self, queue: QueueId, verdicts: Sequence[Verdict], *, now: float, keep: Retention | None = None
    ) -> Awaitable[Sequence[Settled]]:
        """Make messages whose lease is over pending again, or dead."""
        return self._judge("expire", queue, verdicts, now, keep)

    def _judge(
        self, verb: str, queue: QueueId, verdicts: Sequence[Verdict], now: float, keep: Retention | None
    ) -> Awaitable[Sequence[Settled]]:
        args = (queue, verb, self._now(now), *keep_args(keep), *verdict_args(verdicts))
        return self._submit(Request("judge", *args, decode=replies.settled_of))

    def extend(self, queue: QueueId, refs: Sequence[Ref], *, lease: float, now: float) -> Awaitable[Sequence[Settled]]:
        """Let leases start anew."""
        return self._settle("extend", queue, refs, now=now, lease=lease)

    def _settle(
        self,
        verb: str,
        queue: QueueId,
        refs: Sequence[Ref],
        *,
        now: float,
        lease: float = 0.0,
        keep: Retention | None = None,
        outcome: Outcome = SUCCEEDED,
    ) -> Awaitable[Sequence[Settled]]:
        terms = (microseconds(lease), self._now(now), *keep_args(keep), outcome.status, outcome.detail)
        return self._submit(Request("settle", queue, verb, *terms, *ref_args(refs), decode=replies.settled_of))

    def check(self, queue: QueueId, refs: Sequence[Ref]) -> Awaitable[Sequence[Settled]]:
        """Return what `ack` would answer."""
        return self._submit(Request("check", queue, *ref_args(refs), decode=replies.settled_of))

    def clear(self, queue: QueueId) -> Awaitable[Counts]:
        """Remove all pending and processing messages."""
        return self._submit(Request("clear", queue, decode=replies.counts_of))

    # By name ----------------------------------------------------------------------------------------------------------

    def pause(self, queue: QueueId, messages: Sequence[MessageId]) -> Awaitable[Sequence[Settled]]:
        """Keep pending messages from being handed out."""
        return self._name("pause", queue, messages)

    def resume(self, queue: QueueId, messages: Sequence[MessageId]) -> Awaitable[Sequence[Settled]]:
        """Let paused messages be handed out again."""
        return self._name("resume", queue, messages)

    def cancel(
        self, queue: QueueId, messages: Sequence[MessageId], *, now: float, keep: Retention | None = None
    ) -> Awaitable[Sequence[Settled]]:
        """End pending messages, mark those in processing."""
        return self._name("cancel", queue, messages, self._now(now), keep)

    def bury(
        self, queue: QueueId, messages: Sequence[MessageId], *, reason: str | None = None
    ) -> Awaitable[Sequence[Settled]]:
        """Make pending messages dead."""
        return self._name("bury", queue, messages, reason=reason)

    def _name(
        self,
        verb: str,
        queue: QueueId,
        messages: Sequence[MessageId],
        now: int | str = 0,
        keep: Retention | None = None,
        reason: str | None = None,
    ) -> Awaitable[Sequence[Settled]]:
        args = (queue, verb, now, *keep_args(keep), given(reason), *map(padded, messages))
        return self._submit(Request("name", *args, decode=replies.settled_of))

    def move(self, queue: QueueId, message: MessageId, *, target: QueueId, room: Room) -> Awaitable[Settled]:
        """Let a pending message be one of another queue."""
        args = (queue, padded(message), target, room.messages, room.bytes)
        return self._submit(Request("move", *args, decode=lambda reply: replies.settled_of(reply)[0]))

    def retry(
        self,
        queue: QueueId,
        messages: Sequence[MessageId] | None,
        *,
        now: float,  # noqa: ARG002 - nothing is dated
    ) -> Awaitable[Sequence[Settled]]:
        """Make dead messages pending."""
        return self._submit(Request("graves", queue, "retry", *_named(messages), decode=replies.settled_of))

    def drop(self, queue: QueueId, messages: Sequence[MessageId] | None) -> Awaitable[Sequence[Settled]]:
        """Remove dead messages."""
        return self._submit(Request("graves", queue, "drop", *_named(messages), decode=replies.settled_of))

    def prune(self, queue: QueueId, messages: Sequence[MessageId] | None) -> Awaitable[Sequence[Settled]]:
        """Remove records."""
        return self._submit(Request("prune", queue, *_named(messages), decode=replies.settled_of))


def _named(messages: Sequence[MessageId] | None) -> Sequence[str]:
    return ["*"] if messages is None else [padded(message) for message in messages]
