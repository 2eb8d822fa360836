"""The options that stand after the comma in a verb's file name, such as ``dequeue,wait=10,lease=120``."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from queuefs import values
from queuefs.errors import BadValue

if TYPE_CHECKING:
    from collections.abc import Callable

#: The most messages that one read claims.
MOST_AT_ONCE = 10_000


def _option(read: Callable[[str], Any], default: object = None) -> Any:
    """Declare an option with a value."""
    return field(default=default, metadata={"read": read})


def _flag() -> Any:
    """Declare an option that is there or not."""
    return field(default=False, metadata={"read": None})


def _count(text: str) -> int:
    return values.whole(text, least=1, most=MOST_AT_ONCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of a verb that has none; the fields of a subclass are its options."""

    @classmethod
    def parse(cls, text: str | None) -> Self:
        """Read what stands after the comma; None where there is no comma.

        Raises:
            BadValue: an option is unknown, given twice, or has a bad value; the sentence names it.
        """
        if text is None:
            return cls()
        known = {one.name: one.metadata for one in dataclasses.fields(cls)}
        found: dict[str, Any] = {}
        for word in text.split(","):
            name, equals, value = word.partition("=")
            if name not in known:
                raise BadValue(f"no option {name!r} (there are: {', '.join(known) or 'none'})")
            if name in found:
                raise BadValue(f"option {name!r} is given twice")
            found[name] = _value(name, value if equals else None, known[name])
        return cls(**found)


def _value(name: str, text: str | None, metadata: Any) -> object:
    read = metadata["read"]
    if text is None:
        if read is not None and "bare" not in metadata:
            raise BadValue(f"option {name!r} needs a value")
        return metadata.get("bare", True)
    if read is None:
        raise BadValue(f"option {name!r} takes no value")
    try:
        return read(text)
    except BadValue as error:
        raise BadValue(f"option {name!r}: {error}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class EnqueueOptions(Options):
    """What `enqueue` takes."""

    #: Each line is a message.
    lines: bool = _flag()
    #: A message without any bytes, by an open that truncates.
    empty: bool = _flag()
    priority: int = _option(values.priority, 0)
    #: Seconds before it is handed out.
    delay: float = _option(values.seconds, 0.0)
    #: Seconds after which it lapses if it is still pending; 0: never; None: as the queue has it.
    ttl: float | None = _option(values.seconds)
    #: Seconds a worker may take for it; None: as the queue has it.
    timeout: float | None = _option(values.some_seconds)
    #: What tells its repetitions.
    key: str | None = _option(values.words)
    #: A repetition is refused.
    strict: bool = _flag()
    #: Bytes it must have.
    size: int | None = _option(values.whole)

    def __post_init__(self) -> None:
        """Refuse what means nothing."""
        if self.strict and self.key is None:
            raise BadValue("option 'strict' needs option 'key'")
        if self.empty and self.lines:
            raise BadValue("options 'empty' and 'lines' exclude each other")
        if self.empty and self.size:
            raise BadValue("options 'empty' and 'size' contradict each other: it has no bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class DequeueOptions(Options):
    """What `dequeue` takes."""

    #: Seconds to wait for a message; ``wait`` alone: as long as it takes.
    wait: float = field(default=0.0, metadata={"read": values.seconds, "bare": float("inf")})
    #: Seconds; None: as the queue has it.
    lease: float | None = _option(values.some_seconds)
    count: int = _option(_count, 1)
    #: The payload alone.
    raw: bool = _flag()
    #: The id alone.
    id: bool = _flag()
    #: Acknowledged once it has been read.
    ack: bool = _flag()

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        if self.raw and self.id:
            raise BadValue("options 'raw' and 'id' exclude each other")


@dataclass(frozen=True, slots=True, kw_only=True)
class PeekOptions(Options):
    """What `peek` takes."""

    count: int = _option(_count, 1)
    raw: bool = _flag()


@dataclass(frozen=True, slots=True, kw_only=True)
class NackOptions(Options):
    """What `nack` takes."""

    #: Seconds before it is handed out again; None: as the queue has it.
    delay: float | None = _option(values.seconds)
    reason: str | None = _option(values.words)
    #: Straight to the dead.
    dead: bool = _flag()

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        if self.dead and self.delay is not None:
            raise BadValue("options 'dead' and 'delay' exclude each other")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtendOptions(Options):
    """What `extend` takes."""

    #: Seconds; None: as the queue has it.
    lease: float | None = _option(values.some_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitOptions(Options):
    """What `wait` takes."""

    #: Seconds after which it gives up; None: never.
    timeout: float | None = _option(values.seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsOptions(Options):
    """What `events` takes."""

    #: What is there already comes first.
    replay: bool = _flag()


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesOptions(Options):
    """What `messages` takes."""

    #: The dead ones instead.
    dead: bool = _flag()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions(Options):
    """What `export` takes."""

    #: A queue, and those below it; None: all.
    queue: tuple[str, ...] | None = _option(values.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions(Options):
    """What `import` takes; see `queuefs.transfer.Terms`."""

    renumber: bool = _flag()
    resume: bool = _flag()
    release: bool = _flag()

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        if self.renumber and self.resume:
            raise BadValue("options 'renumber' and 'resume' exclude each other")
