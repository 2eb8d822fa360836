"""Reads queries.sql: each statement under its name."""

from __future__ import annotations

import re
from importlib.resources import files

from queuefs_sqlite.ledger import COUNTERS, QUEUE_COLUMNS
from queuefs_sqlite.rows import Row

_BLOCK = re.compile(r"^-- name: (\w+)\n((?:--[^\n]*\n)+)(.*?)(?=^--|\Z)", re.MULTILINE | re.DOTALL)

_COLUMNS = {
    "queue": ", ".join(QUEUE_COLUMNS),
    "counters": ", ".join(COUNTERS),
    "counter_values": ", ".join("?" for _ in COUNTERS),
    "row": ", ".join(Row._fields),
}


def parse(text: str) -> dict[str, str]:
    """Return the statements of *text* by name, without their comments."""
    return {name: " ".join(query.split()).format_map(_COLUMNS) for name, _comment, query in _BLOCK.findall(text)}


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


#: What creates a store.
SCHEMA = _text("schema.sql")

#: What brings a store of version 1 up to date, but for the parts that are new.
UPGRADE = _text("upgrade.sql")

#: Every other statement.
QUERIES = parse(_text("queries.sql"))
