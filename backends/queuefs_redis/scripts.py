"""The Lua scripts: one file for each step, put together with those definitions of the parts that it uses.

A script that is run makes all its functions anew, for Redis keeps none from one run to the next: 20 of them that are
not used take as long as two commands.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_FOLDER = files(__package__) / "lua"

#: The parts, each after those that its definitions use.
_PARTS = (
    "common",
    "keys",
    "bodies",
    "messages",
    "rooms",
    "done",
    "claims",
    "stages",
    "ranks",
    "pages",
    "walk",
    "counters",
    "due",
)

#: A definition of a part: a function, or variables in one line.
_DEFINITION = re.compile(r"^local (?:function (\w+)\(.*?^end$|([\w, ]+?)(?: =[^\n]*)?$)", re.DOTALL | re.MULTILINE)
_STRING = re.compile(r"'[^'\n]*'")
_COMMENT = re.compile(r"--.*")
_NAME = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Script:
    """One script as the server keeps it."""

    name: str
    source: bytes
    sha: str
    #: Its answer is recorded under the request's number, so a repetition does nothing.
    once: bool


@dataclass(frozen=True, slots=True)
class _Definition:
    names: frozenset[str]
    text: str
    #: All names in it.
    uses: frozenset[str]


def _used(text: str) -> frozenset[str]:
    return frozenset(_NAME.findall(_STRING.sub("", _COMMENT.sub("", text))))


def _read(*path: str) -> str:
    return _FOLDER.joinpath(*path).read_text(encoding="ascii")


def _definitions() -> Iterator[_Definition]:
    for part in _PARTS:
        for found in _DEFINITION.finditer(_read("parts", f"{part}.lua")):
            names = [found[1]] if found[1] else found[2].split(", ")
            yield _Definition(frozenset(names), found[0], _used(found[0]))


def _with_definitions(definitions: list[_Definition], text: str) -> str:
    """Return *text* behind the definitions that it uses, and those that these use, in their order."""
    used, needed = _used(text), []
    for definition in reversed(definitions):  # none uses a later one
        if definition.names & used:
            used |= definition.uses
            needed.append(definition.text)
    return "\n".join([*reversed(needed), text])


def _load() -> dict[str, Script]:
    definitions, once_text = list(_definitions()), _read("parts", "once.lua")
    scripts = {}
    for entry in _FOLDER.iterdir():
        if not entry.name.endswith(".lua"):
            continue
        name, text = entry.name.removesuffix(".lua"), entry.read_text(encoding="ascii")
        once = text.startswith("-- uses: once")
        source = _with_definitions(definitions, once_text + text if once else text).encode("ascii")
        sha = hashlib.sha1(source, usedforsecurity=False).hexdigest()
        scripts[name] = Script(name, source, sha, once=once)
    return scripts


#: The length at which payloads are cut, as the scripts have it.
PIECE_BYTES = int(re.findall(r"PIECE = (\d+)", _read("parts", "bodies.lua"))[0])

#: All scripts by name.
SCRIPTS = _load()
