"""Runs the statements of the .sql files by name, on one connection."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from queuefs_sqlite.queries import QUERIES
from queuefs_sqlite.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from sqlite3 import Connection, Cursor


class Statements:
    """A connection, and what is asked of it."""

    def __init__(self, db: Connection) -> None:
        """Ask *db*."""
        self.db = db

    def run(self, query: str, *values: object) -> Cursor:
        """Run one statement."""
        return self.db.execute(QUERIES[query], values)

    def run_many(self, query: str, values: Sequence[Sequence[object]]) -> int:
        """Run one statement with each of *values*, and return how many rows that changed."""
        return self.db.executemany(QUERIES[query], values).rowcount

    def value(self, query: str, *values: object) -> Any:
        """Return the first column of a statement's only row."""
        # fetchall: a cursor that is left half-read keeps a read transaction open, and the WAL grows without end.
        return self.run(query, *values).fetchall()[0][0]

    def first(self, query: str, *values: object) -> Any:
        """Return a statement's first row, or None."""
        cursor = self.run(query, *values)
        try:
            return cursor.fetchone()
        finally:
            cursor.close()

    def rows(self, query: str, *values: object) -> list[Row]:
        """Return all messages that a statement selects."""
        return [Row._make(row) for row in self.run(query, *values).fetchall()]


class Snapshot(Statements):
    """A connection that only looks."""

    @contextmanager
    def held(self) -> Iterator[None]:
        """See the store as it is now, whatever others write meanwhile."""
        self.db.execute("BEGIN")
        try:
            yield
        finally:
            self.db.execute("ROLLBACK")
