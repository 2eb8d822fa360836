"""Reads queries.sql and audit.sql: each statement under its name."""

from __future__ import annotations

import re
from importlib.resources import files

from queuefs_sqlite.ledger import ACCOUNT_COLUMNS, COUNTERS, QUEUE_COLUMNS
from queuefs_sqlite.rows import RecordRow, Row

_BLOCK = re.compile(r"^-- name: (\w+)\n((?:--[^\n]*\n)+)(.*?)(?=^--|\Z)", re.MULTILINE | re.DOTALL)

_COLUMNS = {
    "queue": ", ".join(QUEUE_COLUMNS),
    "account": ", ".join(ACCOUNT_COLUMNS),
    "counters": ", ".join(COUNTERS),
    "counter_values": ", ".join("?" for _ in COUNTERS),
    "row": ", ".join(Row._fields),
    "row_of_messages": ", ".join(f"messages.{column}" for column in Row._fields),
    "record": ", ".join(RecordRow._fields),
    "record_values": ", ".join("?" for _ in RecordRow._fields),
}


def parse(text: str) -> dict[str, str]:
    """Return the statements of *text* by name, without their comments."""
    return {name: " ".join(query.split()).format_map(_COLUMNS) for name, _comment, query in _BLOCK.findall(text)}


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


#: What creates a store.
SCHEMA = _text("schema.sql")

#: What brings a store of each older version to the next one, but for the parts that are new.
UPGRADES = {1: _text("upgrade1.sql"), 2: _text("upgrade2.sql")}

#: Every other statement.
QUERIES = parse(_text("queries.sql")) | parse(_text("audit.sql"))
