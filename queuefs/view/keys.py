"""What a terminal sends for the keys that are pressed."""

from __future__ import annotations

import re
from enum import StrEnum


class Key(StrEnum):
    """Keys that are no characters."""

    UP = "up"
    DOWN = "down"
    PAGE_UP = "page up"
    PAGE_DOWN = "page down"
    HOME = "home"
    END = "end"
    ENTER = "enter"
    ESCAPE = "escape"


_ESCAPE = "\x1b"

_SEQUENCES = {
    "[A": Key.UP,
    "OA": Key.UP,
    "[B": Key.DOWN,
    "OB": Key.DOWN,
    "[5~": Key.PAGE_UP,
    "[6~": Key.PAGE_DOWN,
    "[H": Key.HOME,
    "OH": Key.HOME,
    "[1~": Key.HOME,
    "[F": Key.END,
    "OF": Key.END,
    "[4~": Key.END,
}

#: A sequence that a key sends behind the escape character, known here or not.
_SEQUENCE = re.compile(r"\[[0-?]*[ -/]*[@-~]|O[ -~]")
_BEGUN = re.compile(r"(\[[0-?]*[ -/]*|O)?")


class Decoder:
    """Makes keys of bytes, which may come in pieces."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._rest = ""

    @property
    def is_amid(self) -> bool:
        """Whether what has come may be the beginning of a key's sequence, or the escape key by itself."""
        return bool(self._rest)

    def feed(self, data: bytes) -> list[str]:
        """Return the keys that *data* completes: a `Key`, or the character itself."""
        text = self._rest + data.decode("latin-1")  # a key that we know is ASCII, others mean nothing
        self._rest = ""
        keys: list[str] = []
        while text:
            if not text.startswith(_ESCAPE):
                keys.append(Key.ENTER if text[0] in "\r\n" else text[0])
                text = text[1:]
            elif found := _SEQUENCE.match(text, 1):
                keys += [_SEQUENCES[found[0]]] if found[0] in _SEQUENCES else []
                text = text[found.end() :]
            elif _BEGUN.fullmatch(text, 1):
                self._rest, text = text, ""
            else:
                keys.append(Key.ESCAPE)
                text = text[1:]
        return keys

    def give_up(self) -> list[str]:
        """Return the escape key, if it is all that has come: nothing follows any more."""
        was_escape, self._rest = self._rest == _ESCAPE, ""
        return [Key.ESCAPE] if was_escape else []
