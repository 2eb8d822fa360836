"""The options of one mount, read once from `-o` and checked before anything is opened."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from queuefs import values
from queuefs.errors import BadValue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

KIB = 1024
MIB = 1024 * KIB

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
    chosen: dict[str, float | int | bool] = {"allow_other": allow_other}
    passed_on: set[str] = set()
    for option in (option for word in words for option in word.split(",") if option):
        name, equals, text = option.partition("=")
        if name in _VALUED and equals:
            chosen[name] = _value(name, text)
        elif option in _FLAGS:
            key, value = _FLAGS[option]
            chosen[key] = value
        elif option in _PASSED_ON:
            passed_on.add(option)
        elif option not in _ALREADY_SO:
            raise BadValue(f"mount option {option!r}: {_objection(name, known=name in _VALUED)}")
    return MountOptions(fuse_options=frozenset(passed_on), **chosen)  # type: ignore[arg-type]  # by _VALUED and _FLAGS


def _value(name: str, text: str) -> float | int:
    try:
        return _VALUED[name](text)
    except BadValue as error:
        raise BadValue(f"{name}={text}: {error}") from None


def _objection(name: str, *, known: bool) -> str:
    if known:
        return "it needs a value"
    if name in _FLAGS or name in _PASSED_ON:
        return "it takes no value"
    options = sorted([*_FLAGS, *_PASSED_ON, *(f"{valued}=…" for valued in _VALUED)])
    return _REFUSED.get(name, f"not known (known: {', '.join(options)})")


_VALUED: dict[str, Callable[[str], float | int]] = {
    "lease": values.some_seconds,
    "max_message_bytes": values.message_bytes,
}
_FLAGS = {
    "allow_other": ("allow_other", True),
    "noallow_other": ("allow_other", False),
    "debug": ("debug", True),
}
