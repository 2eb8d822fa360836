"""Connections beside the writer's, that look at the whole file without holding anybody up."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from queuefs_sqlite.database import open_to_look

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from queuefs_sqlite.location import Location


class Lookers:
    """Those of one store. While one is at it, the log can't begin anew, so they give way when it must."""

    def __init__(self, location: Location) -> None:
        """Look at the file of *location*, which somebody has open."""
        self._location = location
        self._open: set[sqlite3.Connection] = set()

    @contextmanager
    def one(self) -> Iterator[sqlite3.Connection]:
        """Open one, for any thread.

        Raises:
            sqlite3.Error: the file can't be opened.
        """
        with closing(open_to_look(self._location)) as db:
            self._open.add(db)
            try:
                yield db
            finally:
                self._open.discard(db)

    def interrupt(self) -> None:
        """Let what each is at end with an error."""
        for db in list(self._open):
            db.interrupt()
