"""The contract's methods that claim messages and settle them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs_redis import records
from queuefs_redis.calls import Calls
from queuefs_redis.records import microseconds, padded, ref_args, verdict_args
from queuefs_redis.request import Request

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from queuefs.backend import Settled
    from queuefs.message import Counts, Message, MessageId, QueueId, Ref, Verdict


class Settling(Calls):
    """From a claim to its end, and what is done to messages by name."""

    def claim(
        self, queue: QueueId, *, count: int, lease: float, lifo: bool, now: float
    ) -> Awaitable[Sequence[Message]]:
        """Move the first messages that can be handed out to processing."""

        def take(wanted: int) -> Awaitable[records.Taken]:
            args = (queue, wanted, microseconds(lease), int(lifo), self._now(now))
            return self._submit(Request("claim", *args, decode=self._taken))

        return self._damage.around(queue, take, count, take(count))

    def _taken(self, reply: Sequence[bytes]) -> records.Taken:
        taken = records.taken_of(reply)
        self._highest.message = max([self._highest.message, *(message.id for message in taken.messages)])
        return taken

    def undo(self, queue: QueueId, refs: Sequence[Ref]) -> Awaitable[Sequence[Settled]]:
        """Take claims back."""
        return self._settle("undo", queue, refs)

    def ack(self, queue: QueueId, refs: Sequence[Ref]) -> Awaitable[Sequence[Settled]]:
        """Remove messages in processing."""
        return self._settle("ack", queue, refs)

    def nack(self, queue: QueueId, verdicts: Sequence[Verdict], *, now: float) -> Awaitable[Sequence[Settled]]:
        """Make messages in processing pending again, or dead."""
        return self._judge("nack", queue, verdicts, now)

    def expire(self, queue: QueueId, verdicts: Sequence[Verdict], *, now: float) -> Awaitable[Sequence[Settled]]:
        """Make messages whose lease is over pending again, or dead."""
        return self._judge("expire", queue, verdicts, now)

    def _judge(
        self, verb: str, queue: QueueId, verdicts: Sequence[Verdict], now: float
    ) -> Awaitable[Sequence[Settled]]:
        args = (queue, verb, self._now(now), *verdict_args(verdicts))
        return self._submit(Request("judge", *args, decode=records.settled_of))

    def extend(self, queue: QueueId, refs: Sequence[Ref], *, lease: float, now: float) -> Awaitable[Sequence[Settled]]:
        """Let leases start anew."""
        return self._settle("extend", queue, refs, microseconds(lease), self._now(now))

    def _settle(
        self, verb: str, queue: QueueId, refs: Sequence[Ref], lease: int = 0, now: int | str = ""
    ) -> Awaitable[Sequence[Settled]]:
        return self._submit(Request("settle", queue, verb, lease, now, *ref_args(refs), decode=records.settled_of))

    def check(self, queue: QueueId, refs: Sequence[Ref]) -> Awaitable[Sequence[Settled]]:
        """Return what `ack` would answer."""
        return self._submit(Request("check", queue, *ref_args(refs), decode=records.settled_of))

    def clear(self, queue: QueueId) -> Awaitable[Counts]:
        """Remove all pending and processing messages."""
        return self._submit(Request("clear", queue, decode=records.counts_of))

    # By name ----------------------------------------------------------------------------------------------------------

    def pause(self, queue: QueueId, messages: Sequence[MessageId]) -> Awaitable[Sequence[Settled]]:
        """Keep pending messages from being handed out."""
        return self._name("name", queue, "pause", *map(padded, messages))

    def resume(self, queue: QueueId, messages: Sequence[MessageId]) -> Awaitable[Sequence[Settled]]:
        """Let paused messages be handed out again."""
        return self._name("name", queue, "resume", *map(padded, messages))

    def cancel(self, queue: QueueId, messages: Sequence[MessageId]) -> Awaitable[Sequence[Settled]]:
        """Remove pending messages, mark those in processing."""
        return self._name("name", queue, "cancel", *map(padded, messages))

    def retry(
        self,
        queue: QueueId,
        messages: Sequence[MessageId] | None,
        *,
        now: float,  # noqa: ARG002 - nothing is dated
    ) -> Awaitable[Sequence[Settled]]:
        """Make dead messages pending."""
        return self._name("graves", queue, "retry", *_named(messages))

    def drop(self, queue: QueueId, messages: Sequence[MessageId] | None) -> Awaitable[Sequence[Settled]]:
        """Remove dead messages."""
        return self._name("graves", queue, "drop", *_named(messages))

    def _name(self, script: str, queue: QueueId, *args: str) -> Awaitable[Sequence[Settled]]:
        return self._submit(Request(script, queue, *args, decode=records.settled_of))


def _named(messages: Sequence[MessageId] | None) -> Sequence[str]:
    return ["*"] if messages is None else [padded(message) for message in messages]
