"""The Redis back end: each call is one script, run with all that were called meanwhile in one round trip."""

from __future__ import annotations

import secrets
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import structlog
import trio

from queuefs.errors import BackendError, StoreUnusable
from queuefs.groupcommit import GroupCommit
from queuefs_redis.calls import Highest
from queuefs_redis.checking import Checking
from queuefs_redis.connection import Connection
from queuefs_redis.inspection import inspect
from queuefs_redis.listening import Listener
from queuefs_redis.looking import Looking
from queuefs_redis.queues import Queues
from queuefs_redis.replies import nothing
from queuefs_redis.request import Request
from queuefs_redis.settling import Settling
from queuefs_redis.upkeep import FORGOTTEN_SECONDS, Upkeep
from queuefs_redis.writing import Writing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    import redis

    from queuefs_redis.stages import Checksums

_log = structlog.get_logger(__name__)


class RedisBackend(Queues, Writing, Settling, Looking, Upkeep, Checking):
    """A store on a Redis server."""

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
            client_factory: Called once, and once more when somebody listens. The client's replies must be bytes, its
                retries off (redis-py's default is to try again by itself), and its socket timeouts a third of
                *timeout*.
            prefix: Begins every key.
            timeout: Seconds from a call to its failing when the server doesn't answer.
            server_time: Leases and the deaths of daemons go by the server's clock; else by the callers' ``now``.
            label: What logs and errors call the server.

        Raises:
            StoreUnusable: the server can't be reached, or would lose messages, or its store is of another version.
        """
        daemon = secrets.token_hex(8)
        highest = Highest()
        told: Checksums = {}
        base = "{" + prefix + "}:"
        connection = Connection(client_factory, base, daemon, highest, told, timeout=timeout, label=label)
        line = GroupCommit(connection.run, name="queuefs-redis")
        try:
            await cls._look(connection, base, timeout, label)
            async with line.open():
                backend = cls(line, daemon, highest, told, server_time=server_time)
                backend._listener = Listener(client_factory, base, daemon, label=label)
                try:
                    yield backend
                finally:
                    backend._listener.hush()
                    await backend._leave()
                    with trio.CancelScope(shield=True):
                        await backend._listener.close()
        finally:
            connection.close()

    @staticmethod
    async def _look(connection: Connection, base: str, seconds: float, label: str) -> None:
        try:
            with trio.fail_after(seconds):  # a server that answers byte by byte never runs into the socket's timeout
                await trio.to_thread.run_sync(inspect, connection, base, label, abandon_on_cancel=True)
        except trio.TooSlowError:
            raise StoreUnusable(f"the Redis server at {label} did not answer within {seconds:g} s") from None

    async def _leave(self) -> None:
        """Hand over what is staged, rather than let others wait until this daemon counts as dead."""
        now = self._now(self._last_now)
        try:
            await self._submit(Request("leave", int(FORGOTTEN_SECONDS), now, decode=nothing))
        except BackendError as error:
            _log.warning("redis left without notice", daemon=self.daemon, error=str(error))
