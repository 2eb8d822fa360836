"""What all lines of an export have in common: how their fields are checked, and how times and ids are written."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from queuefs.errors import BadValue
from queuefs.message import MAX_MESSAGE_ID, MAX_PRIORITY, MIN_PRIORITY, MessageId

#: A longer payload is cut into pieces of so many bytes, a line each.
PIECE_BYTES = 1024 * 1024

#: No line is longer: a piece's worth of control characters is six times as long in JSON.
LONGEST_LINE = 16 * PIECE_BYTES

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder().decode

#: Seconds on either side of 1970: a clock that was wrong may have been very wrong, but not by 35,000 years.
_MOST_SECONDS = 2.0**40

Number = Annotated[int, Meta(ge=0, le=2**53)]
Account = Annotated[int, Meta(ge=0, le=2**32 - 1)]
Id = Annotated[str, Meta(pattern=r"\A[1-9][0-9]{0,18}\Z")]
Mode = Annotated[str, Meta(pattern=r"\A[0-7]{4}\Z")]
Moment = Annotated[float, Meta(ge=-_MOST_SECONDS, le=_MOST_SECONDS)]
Priority = Annotated[int, Meta(ge=MIN_PRIORITY, le=MAX_PRIORITY)]


class ExportLine(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """The base of all lines; what has its default is left out."""

    def check(self) -> None:
        """Look for what no type can say.

        Raises:
            QueueFSError: with a sentence about it.
        """

    def encoded(self) -> bytes:
        """Return the line, with its newline."""
        return encode(self) + b"\n"


def object_of(text: bytes) -> dict[str, Any] | None:
    """Return the JSON object that *text* is, empty if there is no text; None if it is something else."""
    if not text:
        return {}
    try:
        found = decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def number_of(text: str) -> MessageId:
    """Return the id that a line has as *text*."""
    return MessageId(int(text))


def check_id(text: str) -> None:
    """Refuse an id that is too high.

    Raises:
        BadValue: it is.
    """
    if int(text) > MAX_MESSAGE_ID:
        raise BadValue(f"{text} is no message id: the highest is {MAX_MESSAGE_ID}")


def file_name(name: str) -> str:
    """Return *name* if a file can have it.

    Raises:
        BadValue: none can.
    """
    if name in {"", ".", ".."} or "/" in name or "\0" in name:
        raise BadValue(f"{name!r} is not the name of a file")
    return name


def wall(at: float, ahead: float) -> float:
    """Return the store's moment *at* as a line has it: by the wall clock, which is *ahead* seconds ahead."""
    return round(at + ahead, 6)


def some_wall(at: float | None, ahead: float) -> float | None:
    """Return the same of a moment that there may be."""
    return None if at is None else wall(at, ahead)


def ours(at: float | None, ahead: float) -> float | None:
    """Return the store's moment of one that a line may have."""
    return None if at is None else at - ahead
