"""Small pictures of how a number has changed, one character for each moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_BLOCKS = "▁▂▃▄▅▆▇█"
#: For terminals that have nothing else.
_ASCII = "_.-=+*%#"


def spark(numbers: Sequence[float], columns: int, *, ascii_only: bool = False) -> str:
    """Return the last *columns* of *numbers*, the latest at the right; the highest of them is as high as can be."""
    steps = _ASCII if ascii_only else _BLOCKS
    latest = numbers[-columns:]
    top = max(latest, default=0)
    drawn = "".join(steps[_height(number, top, len(steps) - 1)] for number in latest)
    return drawn.rjust(columns)


def _height(number: float, top: float, most: int) -> int:
    """Return a step for *number*: nothing is the lowest, and what is more than nothing is higher than that."""
    return max(1, round(most * number / top)) if number > 0 else 0
