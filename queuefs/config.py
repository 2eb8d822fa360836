"""What a queue's `config` says, as lines of ``key = value``; the back end keeps the text and does not read it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from queuefs import values
from queuefs.errors import BadName, BadValue
from queuefs.message import Retention, Room
from queuefs.names import queue_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

#: The longest text that is taken as a config, bytes.
LONGEST_CONFIG = 64 * 1024


class Order(StrEnum):
    """Which of the messages of one priority is first."""

    FIFO = "fifo"
    LIFO = "lifo"


class OnFull(StrEnum):
    """What a writer meets when the queue is full."""

    ERROR = "error"
    BLOCK = "block"


class Kind(StrEnum):
    """What the queue is for."""

    QUEUE = "queue"
    EVENT = "event"


def _forward(text: str) -> str:
    """Read paths of queues from the root, separated by blanks."""
    for path in text.split():
        for name in path.split("/"):
            if not name:
                raise BadValue(f"{path!r} is not the path of a queue")
            try:
                queue_name(name.encode())
            except BadName as error:
                raise BadValue(str(error)) from None
    return " ".join(text.split())


def _key(read: Callable[[str], Any], default: object) -> Any:
    return field(default=default, metadata={"read": read})


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """A queue's settings; the fields are the keys, in the order in which they are shown."""

    #: Higher priority is first whatever the order; it decides among equals.
    order: Order = _key(values.one_of(Order), Order.FIFO)
    #: Seconds for which a claim holds.
    lease: float = _key(values.some_seconds, 300.0)
    #: A message that was handed out so often and comes back is dead; 0: no limit.
    max_attempts: int = _key(values.whole, 0)
    #: Seconds before a message that comes back is handed out again.
    retry_delay: float = _key(values.seconds, 0.0)
    #: By which that is multiplied for each attempt after the first.
    retry_backoff: float = _key(values.factor, 2.0)
    #: What the queue may hold, messages being written included; 0: no limit.
    max_messages: int = _key(values.whole, 0)
    max_bytes: int = _key(values.whole, 0)
    max_message_bytes: int = _key(values.message_bytes, 64 * 1024 * 1024)
    on_full: OnFull = _key(values.one_of(OnFull), OnFull.ERROR)
    #: Seconds after which a message that is still pending lapses; 0: never.
    ttl: float = _key(values.seconds, 0.0)
    #: Seconds for which the record of a message is kept, and how many of them.
    retention: float = _key(values.seconds, 600.0)
    retain: int = _key(values.whole, 64)
    #: Seconds after its publication during which a message of the same key is a repetition, even if it is gone.
    dedup_window: float = _key(values.seconds, 0.0)
    #: Nothing is handed out.
    paused: bool = _key(values.truth, default=False)
    kind: Kind = _key(values.one_of(Kind), Kind.QUEUE)
    #: Seconds a worker may take for one message.
    timeout: float = _key(values.some_seconds, 600.0)
    #: Queues that get a copy of each message.
    forward: str = _key(_forward, "")

    @property
    def room(self) -> Room:
        """How much the queue may hold."""
        return Room(messages=self.max_messages, bytes=self.max_bytes)

    @property
    def keep(self) -> Retention:
        """Which records the queue keeps."""
        return Retention(records=self.retain, seconds=self.retention)

    def merged(self, text: bytes) -> Config:
        """Return this config with the lines of *text* applied.

        Raises:
            BadValue: one key or value is bad; the sentence names it.
        """
        return dataclasses.replace(self, **_settings(text))

    def text(self) -> bytes:
        """Return all keys with their values, as `merged` reads them."""
        return _lines({name: getattr(self, name) for name in _READERS})


def kept(old: bytes, text: bytes) -> bytes:
    """Return *old*, what was set before, with the lines of *text* applied.

    Only what was set is kept, so that defaults may change; and all of that, so that they change nothing that was set.

    Raises:
        BadValue: as of `Config.merged`.
    """
    return _lines(_settings(old) | _settings(text))


def _settings(text: bytes) -> dict[str, Any]:
    if len(text) > LONGEST_CONFIG:
        raise BadValue(f"a config may have {LONGEST_CONFIG} bytes at most")
    try:
        lines = text.decode().splitlines()
    except UnicodeDecodeError:
        raise BadValue("a config must be UTF-8") from None
    return dict(_setting(line) for line in lines if line.strip() and not line.lstrip().startswith("#"))


def _lines(settings: Mapping[str, object]) -> bytes:
    return b"".join(b"%s = %s\n" % (name.encode(), _shown(value).encode()) for name, value in settings.items())


_READERS: Mapping[str, Callable[[str], Any]] = {one.name: one.metadata["read"] for one in dataclasses.fields(Config)}


def _setting(line: str) -> tuple[str, Any]:
    name, equals, value = (part.strip() for part in line.partition("="))
    if not equals:
        raise BadValue(f"{line!r} is not `key = value`")
    if name not in _READERS:
        raise BadValue(f"config has no key {name!r} (it has {', '.join(_READERS)})")
    try:
        return name, _READERS[name](value)
    except BadValue as error:
        raise BadValue(f"{name}: {error}") from None


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.9f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
