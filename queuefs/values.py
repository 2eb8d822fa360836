"""How numbers, durations and words are read where users write them: options of verbs, keys of `config`."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote

from queuefs.errors import BadValue
from queuefs.message import MAX_PRIORITY, MIN_PRIORITY

if TYPE_CHECKING:
    from collections.abc import Callable
    from enum import StrEnum

    E = TypeVar("E", bound=StrEnum)

#: No duration is longer, seconds: a bound that nobody needs catches a slip of the keyboard.
MAX_SECONDS = 10 * 366 * 86400

#: A limit that no message needs to pass: what a mistake can take of a disk is bounded.
LARGEST_MESSAGE_BYTES = 1024 * 1024 * 1024

#: No number of bytes or messages is higher: what SQLite and Redis count without loss in every place (2^53).
MAX_NUMBER = 2**53

_WHOLE = re.compile(r"[0-9]{1,16}", re.ASCII)
_SECONDS = re.compile(r"[0-9]{1,12}(\.[0-9]{1,9})?", re.ASCII)


def whole(text: str, *, least: int = 0, most: int = MAX_NUMBER) -> int:
    """Read a whole decimal number between *least* and *most*.

    Raises:
        BadValue: it is none.
    """
    if not _WHOLE.fullmatch(text) or not least <= int(text) <= most:
        raise BadValue(f"{text!r} is not a whole number from {least} to {most}")
    return int(text)


def message_bytes(text: str) -> int:
    """Read a limit of a message's length.

    Raises:
        BadValue: it is none, or above what can be handed over.
    """
    return whole(text, least=1, most=LARGEST_MESSAGE_BYTES)


def priority(text: str) -> int:
    """Read a priority, which may be negative.

    Raises:
        BadValue: it is none, or out of bounds.
    """
    digits = text.removeprefix("-")
    if not _WHOLE.fullmatch(digits) or not MIN_PRIORITY <= int(text) <= MAX_PRIORITY:
        raise BadValue(f"{text!r} is not a whole number from {MIN_PRIORITY} to {MAX_PRIORITY}")
    return int(text)


def seconds(text: str) -> float:
    """Read a duration in decimal seconds, with or without a fraction; 0 is one.

    Raises:
        BadValue: it is none, or longer than ten years.
    """
    if not _SECONDS.fullmatch(text) or Decimal(text) > MAX_SECONDS:
        raise BadValue(f"{text!r} is not a number of seconds from 0 to {MAX_SECONDS}")
    return float(text)


def some_seconds(text: str) -> float:
    """Read a duration above zero.

    Raises:
        BadValue: it is none.
    """
    duration = seconds(text)
    if not duration:
        raise BadValue(f"{text!r} is not a number of seconds above 0")
    return duration


def factor(text: str) -> float:
    """Read a factor from 1 to 1000.

    Raises:
        BadValue: it is none.
    """
    if not _SECONDS.fullmatch(text) or not 1 <= float(text) <= 1000:  # noqa: PLR2004 - said in the sentence
        raise BadValue(f"{text!r} is not a number from 1 to 1000")
    return float(text)


def truth(text: str) -> bool:
    """Read ``true`` or ``false``.

    Raises:
        BadValue: it is neither.
    """
    if text not in {"true", "false"}:
        raise BadValue(f"{text!r} is neither true nor false")
    return text == "true"


def words(text: str) -> str:
    """Read a text that is not empty.

    Raises:
        BadValue: it is empty.
    """
    if not text:
        raise BadValue("a text is expected")
    return text


def path(text: str) -> tuple[str, ...]:
    """Read the path of a queue from the root, percent-encoded where a file's name can't hold it: ``jobs%2Femail``.

    Raises:
        BadValue: it is none.
    """
    try:
        names = tuple(unquote(text, errors="strict").strip("/").split("/"))
    except UnicodeDecodeError:
        raise BadValue(f"{text!r} is not UTF-8") from None
    if not all(names):
        raise BadValue(f"{text!r} is not the path of a queue")
    return names


def one_of(choices: type[E]) -> Callable[[str], E]:
    """Return what reads one of *choices*."""

    def read(text: str) -> E:
        try:
            return choices(text)
        except ValueError:
            raise BadValue(f"{text!r} is none of {', '.join(choices)}") from None

    return read
