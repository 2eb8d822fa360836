"""The Lua scripts: one file for each step, put together with the files that its first line names."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Script:
    """One script as the server keeps it."""

    name: str
    source: bytes
    sha: str
    #: Its answer is recorded under the request's number, so a repetition does nothing.
    once: bool


def _load() -> dict[str, Script]:
    folder = files(__package__) / "lua"
    texts = {
        entry.name.removesuffix(".lua"): entry.read_text(encoding="ascii")
        for entry in folder.iterdir()
        if entry.name.endswith(".lua")
    }
    scripts = {}
    for name, text in texts.items():
        uses = re.match(r"-- uses: (.*)", text)
        if uses is None:  # a part of others
            continue
        parts = uses[1].split(", ")
        source = "\n".join([*(texts[part] for part in parts), text]).encode("ascii")
        sha = hashlib.sha1(source, usedforsecurity=False).hexdigest()
        scripts[name] = Script(name, source, sha, once="once" in parts)
    return scripts


#: All scripts by name.
SCRIPTS = _load()
