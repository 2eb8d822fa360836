"""How names, numbers and times are shown to a person, at a terminal that nothing may break."""

from __future__ import annotations

import math
import unicodedata

#: Categories of characters that do something instead of showing something: controls, marks of direction, line ends,
#: and what is no character (bytes of a path that are not UTF-8, and what no standard has given a meaning).
_UNSHOWN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})

#: From here on a number is shortened, and from there on a tenth of it, which stands for a tenth no more.
_FOUR_DIGITS = 10_000
_THREE_DIGITS = 1000

_SECONDS = ((365 * 86400, "y"), (86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def shown(text: str) -> str:
    """Return *text* with everything escaped that would move the cursor, colour the screen or end the line.

    Backslashes are doubled, so that it can be told what was escaped.
    """
    if text.isascii() and text.isprintable() and "\\" not in text:
        return text
    return "".join(_escaped(character) for character in text)


def is_harmless(text: str) -> bool:
    """Tell whether nothing in *text* would do something instead of being shown."""
    return all(unicodedata.category(character) not in _UNSHOWN for character in text)


def _escaped(character: str) -> str:
    if character == "\\":
        return "\\\\"
    if unicodedata.category(character) not in _UNSHOWN:
        return character
    return ascii(character)[1:-1]


def width(text: str) -> int:
    """Return how many columns of a terminal *text* takes; it holds what `shown` returns."""
    if text.isascii():
        return len(text)
    return sum(_width(character) for character in text)


def _width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) == "Me":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, columns: int, *, mark: str = "…") -> str:
    """Return *text*, or as much of its beginning as fits in *columns* with *mark* behind it."""
    if width(text) <= columns:
        return text
    room = columns - width(mark)
    kept = []
    for character in text:
        room -= width(character)
        if room < 0:
            break
        kept.append(character)
    return "".join(kept) + mark


def age(seconds: float | None) -> str:
    """Return a duration in its largest unit, rounded down: ``59s``, ``3h``; ``-`` where there is none."""
    if seconds is None:
        return "-"
    whole = max(0, math.floor(seconds))
    for unit, letter in _SECONDS:
        if whole >= unit:
            return f"{whole // unit}{letter}"
    return "0s"


def short(number: float) -> str:
    """Return a number, rounded down, in at most five characters: ``9999``, ``12.3k``, ``4.5M``."""
    if number < _FOUR_DIGITS:
        return _figures(number)
    for unit, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if number >= unit:
            return f"{_figures(number / unit)}{letter}"
    return f"{_figures(number / 1000)}k"


def _figures(number: float) -> str:
    tenths = math.floor(number * 10)
    return str(tenths // 10) if tenths % 10 == 0 or tenths >= _THREE_DIGITS else f"{tenths / 10:.1f}"


def table(rows: list[tuple[str, ...]], *, right: frozenset[int]) -> list[str]:
    """Return *rows* as lines with aligned columns; those of the numbers *right* end at one place."""
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(_cells(row, widths, right)).rstrip() for row in rows]


def _cells(row: tuple[str, ...], widths: list[int], right: frozenset[int]) -> list[str]:
    cells = []
    for column, (text, columns) in enumerate(zip(row, widths, strict=True)):
        room = " " * (columns - width(text))
        cells.append(room + text if column in right else text + room)
    return cells
