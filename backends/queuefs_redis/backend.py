"""The Redis back end: each call is one script, run with all that were called meanwhile in one round trip."""

from __future__ import annotations

import json
import secrets
from contextlib import asynccontextmanager
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import structlog
import trio

from queuefs.backend import Traits
from queuefs.errors import BackendError, QueueFSError, StoreUnusable
from queuefs.groupcommit import GroupCommit
from queuefs.ticket import Answer, Failure
from queuefs_redis import audit, records
from queuefs_redis.connection import Connection
from queuefs_redis.damage import Damage
from queuefs_redis.inspection import inspect
from queuefs_redis.records import encoded_name, microseconds, padded, ref_args
from queuefs_redis.request import Request
from queuefs_redis.stages import Append, Checksums, EndStage, Stage
from queuefs_redis.views import Snapshot

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    import redis

    from queuefs.backend import Settled, Tick
    from queuefs.clock import ClockMark
    from queuefs.message import Counts, Message, MessageId, Owner, Queue, QueueId, Ref

T = TypeVar("T")

_log = structlog.get_logger(__name__)

#: How often a daemon shows that it lives; the silence after which others take what it staged, and forget it at last.
BEAT_SECONDS = 5.0
_DEAD_SECONDS = 15.0
_FORGOTTEN_SECONDS = 3600.0


class RedisBackend:
    """A store on a Redis server."""

    def __init__(
        self, line: GroupCommit[Request[Any]], daemon: str, checksums: Checksums, *, server_time: bool
    ) -> None:
        """Take an open *line* and what its worker knows of messages being written; `connect` makes one."""
        self.traits = Traits(durable=True, shared=True, instant=False, server_time=server_time)
        self.daemon = daemon
        self._line = line
        self._checksums = checksums
        #: No tick has shown yet that this daemon lives.
        self._is_new = True
        self._damage = Damage(self._submit)

    @classmethod
    @asynccontextmanager
    async def connect(
        cls,
        client_factory: Callable[[], redis.Redis],
        *,
        prefix: str = "queuefs",
        timeout: float = 3.0,  # noqa: ASYNC109 - of each command, not of this call
        server_time: bool = True,
        label: str = "redis",
    ) -> AsyncIterator[RedisBackend]:
        """Open a store with a client of the caller's making.

        A test opens one by ``RedisBackend.connect(lambda: redis.Redis(port=port), prefix=name, server_time=False)``,
        or with ``lambda: fakeredis.FakeRedis(server=server)``; contexts with the same server and prefix share a store.

        Args:
            client_factory: Called once. The client's replies must be bytes, its retries off (redis-py's default is to
                try again by itself), and its socket timeouts a third of *timeout*.
            prefix: Begins every key.
            timeout: Seconds from a call to its failing when the server doesn't answer.
            server_time: Leases and the deaths of daemons go by the server's clock; else by the callers' ``now``.
            label: What logs and errors call the server.

        Raises:
            StoreUnusable: the server can't be reached, or would lose messages.
        """
        daemon = secrets.token_hex(8)
        told: Checksums = {}
        connection = Connection(client_factory, prefix=prefix, daemon=daemon, told=told, timeout=timeout, label=label)
        line = GroupCommit(connection.run, name="queuefs-redis")
        try:
            with trio.fail_after(timeout):  # a server that answers byte by byte never runs into the socket's timeout
                await trio.to_thread.run_sync(inspect, connection, label, abandon_on_cancel=True)
            async with line.open():
                backend = cls(line, daemon, told, server_time=server_time)
                try:
                    yield backend
                finally:
                    await backend._leave()
        except trio.TooSlowError:
            raise StoreUnusable(f"the Redis server at {label} did not answer within {timeout:g} s") from None
        finally:
            connection.close()

    def _submit(self, request: Request[T]) -> Awaitable[T]:
        try:
            return self._line.submit(request)
        except QueueFSError as error:  # it is closing; the contract has errors come from await
            return Failure(error)  # type: ignore[return-value]  # it never returns a value

    def _now(self, seconds: float) -> int | str:
        return "" if self.traits.server_time else microseconds(seconds)

    async def _leave(self) -> None:
        """Hand over what is staged, rather than let others wait until this daemon counts as dead."""
        try:
            await self._submit(Request("leave", int(_FORGOTTEN_SECONDS), decode=records.nothing))
        except BackendError as error:
            _log.warning("redis left without notice", daemon=self.daemon, error=str(error))

    # Queues -----------------------------------------------------------------------------------------------------------

    def find_queue(self, parent: QueueId, name: str) -> Awaitable[Queue | None]:
        """Return the child *name* of *parent*."""
        return self._submit(Request("find", parent, encoded_name(name), decode=records.found_queue))

    def get_queue(self, queue: QueueId) -> Awaitable[Queue]:
        """Return a queue by its number."""
        return self._submit(Request("get", queue, decode=records.queue_of))

    def children(self, parent: QueueId) -> Awaitable[Sequence[Queue]]:
        """Return the queues directly below *parent*."""
        return self._submit(Request("children", parent, decode=records.queues_of))

    def create_queue(self, parent: QueueId, name: str, *, owner: Owner, now: float) -> Awaitable[Queue]:
        """Create an empty queue."""
        args = (parent, encoded_name(name), owner.uid, owner.gid, owner.mode, self._now(now))
        return self._submit(Request("create", *args, decode=records.queue_of))

    def remove_queue(self, queue: QueueId) -> Awaitable[None]:
        """Remove a queue that is empty."""
        return self._submit(Request("remove", queue, decode=records.nothing))

    def rename_queue(self, queue: QueueId, *, parent: QueueId, name: str) -> Awaitable[None]:
        """Give a queue another place and name."""
        return self._submit(Request("rename", queue, parent, encoded_name(name), decode=records.nothing))

    def set_owner(self, queue: QueueId, owner: Owner) -> Awaitable[None]:
        """Change who owns a queue."""
        return self._submit(Request("owner", queue, owner.uid, owner.gid, owner.mode, decode=records.nothing))

    # Writing ----------------------------------------------------------------------------------------------------------

    def stage(self, queue: QueueId, data: bytes, *, partial: bool, priority: int, now: float) -> Awaitable[MessageId]:
        """Store the beginning of a message."""
        return self._submit(
            Stage(self._checksums, data, queue, int(partial), priority, self._now(now), int(self._is_new))
        )

    def append(self, queue: QueueId, message: MessageId, data: bytes, *, offset: int, partial: bool) -> Awaitable[None]:
        """Add to a staged message."""
        return self._submit(Append(self._checksums, queue, message, data, offset=offset, partial=partial))

    def publish(self, queue: QueueId, message: MessageId) -> Awaitable[None]:
        """Make a staged message pending."""
        return self._submit(EndStage(self._checksums, queue, message, publish=True))

    def discard(self, queue: QueueId, message: MessageId) -> Awaitable[None]:
        """Remove a staged message."""
        return self._submit(EndStage(self._checksums, queue, message, publish=False))

    # Reading and settling ---------------------------------------------------------------------------------------------

    def claim(self, queue: QueueId, *, count: int, lease: float, now: float) -> Awaitable[Sequence[Message]]:
        """Move the first pending messages to processing."""

        def take(wanted: int) -> Awaitable[records.Taken]:
            args = (queue, wanted, microseconds(lease), self._now(now))
            return self._submit(Request("claim", *args, decode=records.taken_of))

        return self._damage.around(queue, take, count, take(count))

    def peek(self, queue: QueueId, *, count: int) -> Awaitable[Sequence[Message]]:
        """Return the first pending messages."""

        def look(wanted: int) -> Awaitable[records.Taken]:
            return self._submit(Request("peek", queue, wanted, decode=records.taken_of))

        return self._damage.around(queue, look, count, look(count))

    def undo(self, queue: QueueId, refs: Sequence[Ref]) -> Awaitable[Sequence[Settled]]:
        """Take claims back."""
        return self._settle("undo", queue, refs)

    def ack(self, queue: QueueId, refs: Sequence[Ref]) -> Awaitable[Sequence[Settled]]:
        """Remove messages in processing."""
        return self._settle("ack", queue, refs)

    def nack(self, queue: QueueId, refs: Sequence[Ref]) -> Awaitable[Sequence[Settled]]:
        """Make messages in processing pending again."""
        return self._settle("nack", queue, refs)

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

    # Looking ----------------------------------------------------------------------------------------------------------

    def counts(self, queue: QueueId) -> Awaitable[Counts]:
        """Return both counts."""
        return self._submit(Request("counts", queue, decode=records.counts_of))

    def unacked_bytes(self, queue: QueueId) -> Awaitable[int]:
        """Return the sum of the payload sizes."""
        return self._submit(Request("counts", queue, decode=records.bytes_of))

    def snapshot(self, queue: QueueId) -> Awaitable[Sequence[Message]]:
        """Return all unacknowledged messages in order, without payloads."""
        return self._submit(Snapshot(queue))

    def payloads(self, queue: QueueId, messages: Sequence[MessageId]) -> Awaitable[Sequence[bytes | None]]:
        """Return the payloads of unacknowledged messages; None also for one that is not what was put in."""

        def checked(reply: Sequence[bytes]) -> list[bytes | None]:
            payloads: list[bytes | None] = []
            for message, meta, body in zip(messages, reply[1::2], reply[2::2], strict=True):
                good = bool(meta) and records.intact(meta.split(), body)
                if meta and not good:
                    self._damage.note(queue, message)
                payloads.append(body if good else None)
            return payloads

        return self._submit(Request("payloads", queue, *map(padded, messages), decode=checked))

    # Upkeep -----------------------------------------------------------------------------------------------------------

    def tick(self, *, now: float, limit: int) -> Awaitable[Tick]:
        """Do what is due."""
        now_, dead = self._now(now), microseconds(_DEAD_SECONDS)
        beat = self._submit(Request("beat", self.daemon, now_, dead, decode=bytes))
        done = self._submit(
            Request(
                "tick",
                now_,
                limit,
                dead,
                microseconds(_FORGOTTEN_SECONDS),
                decode=lambda reply: records.tick_of(reply, beat=BEAT_SECONDS),
            )
        )

        async def both() -> Tick:
            await beat
            self._is_new = False
            return await done

        return both()

    def load_clock(self) -> Awaitable[ClockMark | None]:
        """Return the mark that was saved last."""
        if self.traits.server_time:
            return Answer(None)
        return self._submit(Request("load_clock", decode=records.mark_of))

    def save_clock(self, mark: ClockMark) -> Awaitable[None]:
        """Keep *mark* beside the messages."""
        if self.traits.server_time:
            return Answer(None)
        return self._submit(Request("save_clock", json.dumps(asdict(mark)), decode=records.nothing))

    def audit(self) -> Awaitable[Sequence[str]]:
        """Return one sentence for each disagreement within the store."""
        return self._audit()

    async def _audit(self) -> Sequence[str]:
        tree = await self._submit(Request("audit_tree", decode=audit.Tree))
        sentences = list(tree.sentences())
        for number in tree.records:
            decode = partial(audit.QueueKeys, number)
            queue = await self._submit(Request("audit_queue", number, decode=decode))
            sentences += queue.sentences(tree)
        return sentences
