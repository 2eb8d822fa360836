"""Reads the URLs that name a Redis: one server, one behind Sentinels, or a Cluster."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from urllib.parse import parse_qsl, unquote

from queuefs.errors import StoreUnusable

_SCHEMES = {"redis", "rediss", "redis+sentinel", "redis+cluster"}
_URL = re.compile(
    r"(?P<scheme>[a-z+]+)://(?:(?P<login>[^/?]*)@)?(?P<hosts>[^/?@]*)(?P<path>/[^?]*)?(?:\?(?P<query>.*))?"
)
_HOST = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::(?P<port>[0-9]{1,5}))?")

#: A brace would end or begin the keys' hash tag; the others keep keys readable.
_PREFIX = re.compile(r"[A-Za-z0-9_.:-]{1,100}")

_DEFAULT_PORT = {"redis+sentinel": 26379}
_MAX_TIMEOUT = 60.0


class Kind(Enum):
    """What stands behind a URL."""

    SERVER = "a server"
    SENTINEL = "Redis Sentinel"
    CLUSTER = "Redis Cluster"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where the queues are."""

    kind: Kind
    hosts: tuple[tuple[str, int], ...]
    tls: bool = False
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    db: int = 0
    #: The name by which Sentinels know the master.
    master: str | None = None
    #: Begins every key, so that several stores fit into one server.
    prefix: str = "queuefs"
    #: Seconds after which a command that got no answer has failed.
    timeout: float = 3.0

    @property
    def label(self) -> str:
        """What logs and errors call it: never the password."""
        hosts = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.hosts)
        return f"{hosts}/{self.db}"


def parse(url: str) -> Target:
    """Read *url*.

    Raises:
        StoreUnusable: it can't be understood. Nothing of it is repeated but what can't be a password.
    """
    found = _URL.fullmatch(url)
    if found is None or found["scheme"] not in _SCHEMES:
        raise StoreUnusable("not a Redis URL (expected redis://[user:password@]host[:port][/database][?prefix=NAME])")
    scheme = found["scheme"]
    kind = {"redis+sentinel": Kind.SENTINEL, "redis+cluster": Kind.CLUSTER}.get(scheme, Kind.SERVER)
    username, password = _login(found["login"])
    hosts = _hosts(kind, found["hosts"], _DEFAULT_PORT.get(scheme, 6379))
    master, db = _place(kind, (found["path"] or "").strip("/"))
    options = _options(found["query"] or "")
    return Target(
        kind=kind,
        hosts=hosts,
        tls=scheme == "rediss",
        username=username,
        password=password,
        db=db,
        master=master,
        prefix=_prefix(options.get("prefix", "queuefs")),
        timeout=_timeout(options.get("timeout", "3")),
    )


def _login(text: str | None) -> tuple[str | None, str | None]:
    if not text:
        return None, None
    username, _, password = text.partition(":")
    return unquote(username) or None, unquote(password) or None


def _hosts(kind: Kind, text: str, default_port: int) -> tuple[tuple[str, int], ...]:
    hosts = []
    for part in text.split(",") if text else ["localhost"]:
        found = _HOST.fullmatch(part)
        # An unescaped "@" or "/" in a password ends up here, so the part is not shown.
        if found is None or not 0 < int(found["port"] or default_port) < 2**16:
            raise StoreUnusable(
                "the Redis URL has a host or port that can't be used (special characters in a password are written %XX)"
            )
        hosts.append((found["host"].strip("[]"), int(found["port"] or default_port)))
    if kind is Kind.SERVER and len(hosts) > 1:
        raise StoreUnusable("several hosts need redis+sentinel:// or redis+cluster://")
    return tuple(hosts)


def _place(kind: Kind, path: str) -> tuple[str | None, int]:
    """Return the Sentinel master's name and the database's number."""
    master = None
    if kind is Kind.SENTINEL:
        master, _, path = path.partition("/")
        if not master:
            raise StoreUnusable(
                "redis+sentinel:// needs the master's name: redis+sentinel://h1:26379,h2:26379/MASTER/0"
            )
    if not path:
        return master, 0
    if not re.fullmatch(r"[0-9]{1,5}", path):
        raise StoreUnusable("the database in the Redis URL must be a number, as in redis://host:6379/0")
    if kind is Kind.CLUSTER and int(path):
        raise StoreUnusable("a Redis Cluster has no databases but 0")
    return master, int(path)


def _options(query: str) -> dict[str, str]:
    options = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in {"prefix", "timeout"}:
            raise StoreUnusable(f"the Redis URL has an unknown option {name!r} (known: prefix, timeout)")
        options[name] = value
    return options


def _prefix(text: str) -> str:
    if not _PREFIX.fullmatch(text):
        raise StoreUnusable("prefix in the Redis URL must be 1 to 100 letters, digits or any of _ . : -")
    return text


def _timeout(text: str) -> float:
    if not re.fullmatch(r"[0-9]+(?:\.[0-9]+)?", text) or not 0 < float(text) <= _MAX_TIMEOUT:
        raise StoreUnusable(f"timeout in the Redis URL must be seconds, above 0 and up to {_MAX_TIMEOUT:g}")
    return float(text)
