"""How the contract's values are written for the scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from queuefs.message import MessageId, Ref, Retention, Verdict
    from queuefs_redis.request import Arg

#: Stands for a time, a text or a number that there is not.
NONE = "-"

_MICROSECONDS = 1_000_000

#: What is not UTF-8 is refused before it gets here; were it to come, it would come back as it is.
_ENCODING = ("utf-8", "surrogateescape")


def padded(message: MessageId) -> str:
    """Return an id as it is stored: 19 digits, so that equal scores sort by id."""
    return f"{message:019d}"


def microseconds(seconds: float) -> int:
    """Return a time or a duration as the scripts reckon it."""
    return round(seconds * _MICROSECONDS)


def moment(seconds: float | None) -> int | str:
    """Return a time as it is stored."""
    return NONE if seconds is None else microseconds(seconds)


def seconds_of(text: bytes) -> float | None:
    """Read a time that is stored."""
    return None if text == b"-" else float(text) / _MICROSECONDS


def encoded(text: str) -> bytes:
    """Return a text as it is stored."""
    return text.encode(*_ENCODING)


def decoded(text: bytes) -> str:
    """Read a text that is stored."""
    return text.decode(*_ENCODING)


def size_of(text: bytes | None) -> int | str:
    """Return the length that stands for *text*, which itself follows later."""
    return NONE if text is None else len(text)


def cut(size: bytes, text: bytes) -> tuple[str | None, bytes]:
    """Return the text of *size* bytes ('-' if there is none) at the beginning, and what follows it."""
    if size == b"-":
        return None, text
    return decoded(text[: int(size)]), text[int(size) :]


def given(text: str | None) -> bytes:
    """Return a text that may be missing, and may be empty, as an argument."""
    return b"" if text is None else b"+" + encoded(text)


def keep_args(keep: Retention | None) -> tuple[int | str, int | str]:
    """Return the arguments for what is to be kept of messages that are done."""
    return ("", "") if keep is None else (max(0, keep.records), max(0, microseconds(keep.seconds)))


def ref_args(refs: Sequence[Ref]) -> list[str]:
    """Return the arguments for *refs*: id and claim of each."""
    return [text for ref in refs for text in (padded(ref.id), "" if ref.claim is None else str(ref.claim))]


def verdict_args(verdicts: Sequence[Verdict]) -> list[Arg]:
    """Return the arguments for *verdicts*: id, claim, delay, whether it is dead, and the reason of each."""
    args: list[Arg] = []
    for verdict in verdicts:
        args += ref_args([verdict.ref])
        args += (microseconds(verdict.delay), int(verdict.dead), given(verdict.reason))
    return args


def pairs(flat: Any) -> Iterable[tuple[Any, Any]]:
    """Read keys and values: a flat list, or (in the third version of the protocol) a dict or a list of pairs."""
    if isinstance(flat, dict):
        return flat.items()
    if flat and isinstance(flat[0], list):
        return flat  # type: ignore[no-any-return]  # each of two
    return zip(flat[::2], flat[1::2], strict=True)
