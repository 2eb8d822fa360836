"""Looks at a server before it is trusted with messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import redis
import structlog

from queuefs.errors import StoreUnusable
from queuefs_redis.request import BROKEN, word_of

if TYPE_CHECKING:
    from queuefs_redis.connection import Connection

_log = structlog.get_logger(__name__)

#: The scripts use ZADD LT, which came with it.
_OLDEST = (6, 2)

#: The version of how things are kept below the prefix; the first one noted none.
LAYOUT = 3


def inspect(connection: Connection, base: str, label: str) -> None:
    """Connect, load the scripts and refuse a server that would lose messages; called on a worker thread.

    Raises:
        StoreUnusable: with one sentence that says why.
    """
    try:
        info = _info(connection)
        _check(info, connection, label)
        _check_layout(connection, base, label)
        connection.load_scripts()
    except redis.AuthenticationError as error:
        raise StoreUnusable(f"the Redis server at {label} refuses the login: {error}") from error
    except redis.BusyLoadingError as error:
        raise StoreUnusable(f"the Redis server at {label} is still loading its data") from error
    except (redis.InvalidResponse, ValueError) as error:
        raise StoreUnusable(f"what answers at {label} is not a Redis server") from error
    except BROKEN as error:
        raise StoreUnusable(f"the Redis server at {label} can't be reached: {error}") from error
    except redis.RedisError as error:
        refused = "refuses the login" if word_of(error) in {"NOAUTH", "WRONGPASS"} else "can't be used"
        raise StoreUnusable(f"the Redis server at {label} {refused}: {error}") from error


def _info(connection: Connection) -> dict[str, str]:
    """Return what the server says of itself; managed ones and fakeredis may say nothing."""
    try:
        text = connection.ask("INFO")
    except redis.AuthenticationError:
        raise
    except redis.ResponseError as error:
        if word_of(error) in {"NOAUTH", "WRONGPASS"}:
            raise
        return {}
    if not isinstance(text, bytes):
        raise redis.InvalidResponse(f"INFO gave {text!r}")
    lines = (line.partition(":") for line in text.decode("utf-8", "replace").splitlines())
    return {name: value for name, colon, value in lines if colon}


def _check(info: dict[str, str], connection: Connection, label: str) -> None:
    version = info.get("redis_version", "")
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if numbers and numbers < _OLDEST:
        raise StoreUnusable(f"the Redis server at {label} is version {version}; QueueFS needs 6.2 or newer")
    if info.get("cluster_enabled") == "1":
        raise StoreUnusable(f"the Redis server at {label} is part of a Redis Cluster, which is not supported yet")
    if info.get("role") == "slave":
        raise StoreUnusable(f"the Redis server at {label} is a replica; name its master")
    policy = info.get("maxmemory_policy") or _setting(connection, "maxmemory-policy")
    if policy.startswith("allkeys-"):
        # Measured with allkeys-lru: of 100 000 messages it accepted, 788 payloads were left.
        raise StoreUnusable(
            f"the Redis server at {label} throws away keys when its memory is full (maxmemory-policy {policy}), "
            "and messages with them; set maxmemory-policy noeviction"
        )
    replicated = info.get("connected_slaves", "0") != "0"
    if info and info.get("aof_enabled") != "1" and not replicated and not _setting(connection, "save"):
        _log.warning("redis keeps nothing on disk and has no replica: its end is that of all messages", server=label)


def _check_layout(connection: Connection, base: str, label: str) -> None:
    noted = connection.ask("GET", base + "layout")
    if noted is None and connection.ask("EXISTS", base + "queues"):
        noted = b"1"
    if noted not in (None, b"%d" % LAYOUT):
        raise StoreUnusable(
            f"the store at {label} has layout {noted.decode()}, and this QueueFS knows layout {LAYOUT} alone; "
            "name another prefix, or use the QueueFS that made it"
        )
    connection.ask("PUBLISH", base + "did", "")  # a login without the right to would fail in the middle of a step


def _setting(connection: Connection, name: str) -> str:
    try:
        reply: Any = connection.ask("CONFIG", "GET", name)
    except redis.ResponseError:  # unknown or forbidden
        return ""
    return reply[1].decode() if isinstance(reply, list) and len(reply) > 1 else ""
