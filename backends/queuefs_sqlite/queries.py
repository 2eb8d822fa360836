"""Reads queries.sql: each statement under its name."""

from __future__ import annotations

import re
from importlib.resources import files

_BLOCK = re.compile(r"^-- name: (\w+)\n((?:--[^\n]*\n)+)(.*?)(?=^-- name:|\Z)", re.MULTILINE | re.DOTALL)


def parse(text: str) -> dict[str, str]:
    """Return the statements of *text* by name, without their comments."""
    return {name: " ".join(statement.split()) for name, _comment, statement in _BLOCK.findall(text)}


#: What creates a store.
SCHEMA = files(__package__).joinpath("schema.sql").read_text(encoding="utf-8")

#: Every other statement.
QUERIES = parse(files(__package__).joinpath("queries.sql").read_text(encoding="utf-8"))
