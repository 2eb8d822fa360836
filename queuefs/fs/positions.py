"""Where each entry of an open directory stands, so that a listing goes on at any of its offsets."""

from __future__ import annotations

import struct
import tempfile
from typing import TYPE_CHECKING, Generic, TypeVar

from queuefs.fs.reading import NoTemporarySpace
from queuefs.message import MessageId

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

P = TypeVar("P", bound=tuple[float, int])

#: Beyond this the places go to a temporary file, bytes.
KEPT_BYTES = 256 * 1024

_PLACE = struct.Struct("=dq")


class Positions(Generic[P]):
    """The places of the entries that were listed: offset 1 is behind the first, offset 2 behind the second, and so on.

    A place is for ever, so what comes or goes meanwhile neither moves nor repeats what is behind it.
    """

    def __init__(self, make: Callable[[float, MessageId], P]) -> None:
        """Begin with none; *make* makes a place of its two numbers."""
        self._make = make
        self._spool = tempfile.SpooledTemporaryFile(max_size=KEPT_BYTES)  # noqa: SIM115 - closed by `close`
        self._count = 0

    def note(self, start: int, places: Sequence[P]) -> None:
        """Note the *places* of the entries behind offset *start*; offsets come without gaps, and may come again."""
        try:
            self._spool.seek(start * _PLACE.size)
            self._spool.write(b"".join(_PLACE.pack(*place) for place in places))
        except OSError as error:
            raise NoTemporarySpace(f"a long listing can't be kept: {error.strerror}") from error
        self._count = max(self._count, start + len(places))

    def before(self, offset: int) -> P | None:
        """Return the place after which a listing goes on at *offset*; None where it begins."""
        offset = min(offset, self._count)  # an offset that was never given is behind all that were
        if offset <= 0:
            return None
        self._spool.seek((offset - 1) * _PLACE.size)
        first, number = _PLACE.unpack(self._spool.read(_PLACE.size))
        return self._make(first, MessageId(number))

    def close(self) -> None:
        """Forget all."""
        self._spool.close()
