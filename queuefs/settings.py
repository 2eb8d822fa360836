"""The options of one mount, read once from `-o` and checked before anything is opened."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from queuefs.errors import BadValue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

KIB = 1024
MIB = 1024 * KIB

#: No lease is longer; a bound that nobody needs catches a slip of the keyboard.
MAX_SECONDS = 10 * 366 * 86400

#: A message is held in memory while it is handed over, and SQLite's own limit is a little below 2 GiB.
MAX_MESSAGE_BYTES = 1024 * MIB

#: What FUSE itself is told; the rest of its options would change what a queue means, or are ours to choose.
_PASSED_ON = frozenset({"noatime", "nodev", "noexec", "nosuid"})

#: Known from fstab lines and true of every mount; nothing has to be done for them.
_ALREADY_SO = frozenset({"defaults", "rw"})

_REFUSED = {
    "ro": "a queue can't be mounted read-only: dequeue and ack change it",
    "allow_root": "allow_root is not reliable; use allow_other, the files' modes are enforced",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MountOptions:
    """How one mount behaves."""

    #: Other users may enter the mount; the kernel checks the files' modes.
    allow_other: bool = False
    #: Log what happens in detail.
    debug: bool = False
    #: Seconds for which a dequeued message belongs to its reader.
    lease: float = 300.0
    #: The longest message that `enqueue` takes.
    max_message_bytes: int = 64 * MIB
    #: Options handed to FUSE as they are.
    fuse_options: frozenset[str] = field(default_factory=frozenset)


def parse_options(words: Iterable[str], *, allow_other: bool) -> MountOptions:
    """Read the arguments of `-o`, each a comma-separated list; of two that contradict each other the later counts.

    Args:
        words: The arguments, in the order given.
        allow_other: What holds if they don't say.

    Raises:
        BadValue: an option is unknown, refused, or has a bad value; the sentence names it.
    """
    values: dict[str, float | int | bool] = {"allow_other": allow_other}
    passed_on: set[str] = set()
    for option in (option for word in words for option in word.split(",") if option):
        name, equals, text = option.partition("=")
        if name in _VALUED and equals:
            values[name] = _VALUED[name](name, text)
        elif option in _FLAGS:
            key, value = _FLAGS[option]
            values[key] = value
        elif option in _PASSED_ON:
            passed_on.add(option)
        elif option not in _ALREADY_SO:
            raise BadValue(f"mount option {option!r}: {_objection(name, known=name in _VALUED)}")
    return MountOptions(fuse_options=frozenset(passed_on), **values)  # type: ignore[arg-type]  # by _VALUED and _FLAGS


def _objection(name: str, *, known: bool) -> str:
    if known:
        return "it needs a value"
    if name in _FLAGS or name in _PASSED_ON:
        return "it takes no value"
    options = sorted([*_FLAGS, *_PASSED_ON, *(f"{valued}=…" for valued in _VALUED)])
    return _REFUSED.get(name, f"not known (known: {', '.join(options)})")


def parse_seconds(name: str, text: str) -> float:
    """Read a duration above zero, in decimal seconds with or without a fraction.

    Raises:
        BadValue: it is none, or longer than ten years.
    """
    seconds = float(text) if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,9})?", text, re.ASCII) else 0.0
    if not 0 < seconds <= MAX_SECONDS:
        raise BadValue(f"{name}={text}: seconds are expected, above 0 and at most ten years")
    return seconds


def parse_message_bytes(name: str, text: str) -> int:
    """Read the limit of a message's length.

    Raises:
        BadValue: not a number, or out of bounds.
    """
    count = int(text) if re.fullmatch(r"[0-9]{1,12}", text, re.ASCII) else 0
    if not 0 < count <= MAX_MESSAGE_BYTES:
        raise BadValue(f"{name}={text}: a number of bytes is expected, 1 to {MAX_MESSAGE_BYTES}")
    return count


_VALUED: dict[str, Callable[[str, str], float | int]] = {
    "lease": parse_seconds,
    "max_message_bytes": parse_message_bytes,
}
_FLAGS = {
    "allow_other": ("allow_other", True),
    "noallow_other": ("allow_other", False),
    "debug": ("debug", True),
}
