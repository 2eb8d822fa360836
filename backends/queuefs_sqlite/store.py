"""One open database: runs statements by name, and knows how to read and delete a message."""

from __future__ import annotations

import zlib
from sqlite3 import Connection, Cursor, DatabaseError
from typing import TYPE_CHECKING, Any

import structlog

from queuefs_sqlite.faults import is_damage, loses_connection
from queuefs_sqlite.ledger import Ledger, counters_of
from queuefs_sqlite.queries import QUERIES
from queuefs_sqlite.rows import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from queuefs.message import QueueId
    from queuefs_sqlite.files import IdMark

log = structlog.get_logger(__name__)


class Store:
    """A connection, and what is known of the queues in it."""

    def __init__(self, db: Connection, ids: IdMark) -> None:
        """Read what is kept in memory; *ids* knows which ids may have been given.

        Raises:
            sqlite3.Error: it can't be read.
        """
        self.db = db
        self.ids = ids
        self.ledger = Ledger(self.run("all_queues"), last_box=self.value("last_box"), last_id=self.value("last_id"))
        #: Boxes whose messages are still to be deleted.
        self.trash = self.read_trash()
        #: Whether this batch changed which boxes these are.
        self.trash_touched = False
        #: The highest id that an earlier daemon can have staged, and the first rounds of upkeep adopt.
        self.inherited = self.ledger.last_id
        #: Queues in which a claim found delays that had ended, for the next round of upkeep to tell.
        self.ripe: set[QueueId] = set()
        #: Those of them that this batch tells.
        self.ripe_told: set[QueueId] = set()
        #: Messages whose payload was found damaged; each is logged once.
        self._damaged: set[int] = set()
        #: Messages whose payload the disk does not give; they are not tried again by this daemon.
        self._unreadable: set[int] = set()

    @classmethod
    def mended(
        cls, db: Connection, ids: IdMark, mend: Callable[[Store], None], *, before: Store | None = None
    ) -> Store:
        """Return the store in *db* after *mend* has done its part, in one transaction.

        Raises:
            sqlite3.Error: the database can't be read or written.
        """
        store = cls(db, ids)
        if before is not None:
            store.remember(before)
        db.execute("BEGIN IMMEDIATE")
        mend(store)
        store.seal()
        db.execute("COMMIT")
        store.keep()
        return store

    def remember(self, before: Store) -> None:
        """Take over what a store opened before had found out, and the file does not tell."""
        self.inherited = before.inherited
        self.ripe |= before.ripe
        self._damaged |= before._damaged
        self._unreadable |= before._unreadable

    def run(self, query: str, *values: object) -> Cursor:
        """Run one statement of queries.sql."""
        return self.db.execute(QUERIES[query], values)

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

    # A batch ------------------------------------------------------------------------------------------------------

    def seal(self) -> None:
        """Write what the batch has gathered; the last thing before its commit."""
        for queue, account in self.ledger.changed():
            self.run("set_counters", *counters_of(account), queue)
        if self.trash_touched:
            self._new_trash = self.read_trash()

    def keep(self) -> None:
        """Take note that the batch was committed."""
        self.ledger.keep()
        if self.trash_touched:
            self.trash = self._new_trash
            self.trash_touched = False
        self.ripe -= self.ripe_told
        self.ripe_told.clear()

    def forget(self) -> None:
        """Take note that the batch was rolled back."""
        self.ledger.forget()
        self.trash_touched = False
        self.ripe_told.clear()

    def read_trash(self) -> list[int]:
        """Return the boxes whose messages are to be deleted, as the batch has left them so far."""
        return [box for (box,) in self.run("trash").fetchall()]

    def throw_away(self, box: int) -> None:
        """Have the messages of a box deleted, a few at a time; the queue must have another one by now."""
        self.run("throw_away", box)
        self.trash_touched = True

    # Messages -----------------------------------------------------------------------------------------------------

    def message(self, message: int, box: int) -> Row | None:
        """Return a message of a box."""
        values = self.first("message", message, box)
        return None if values is None else Row._make(values)

    def rows(self, query: str, *values: object) -> list[Row]:
        """Return all messages that a statement selects."""
        return [Row._make(row) for row in self.run(query, *values).fetchall()]

    @property
    def damaged(self) -> int:
        """How many messages are known whose payload can't be read."""
        return len(self._damaged)

    def readable(self, rows: Iterable[Row], count: int) -> list[tuple[Row, bytes]]:
        """Return the first *count* of *rows* whose payloads can be read, in order."""
        found: list[tuple[Row, bytes]] = []
        for row in rows:
            data = self.payload(row)
            if data is not None:
                found.append((row, data))
                if len(found) == count:
                    break
        return found

    def payload(self, row: Row) -> bytes | None:
        """Return a message's payload, None if it is missing or not what was put in."""
        data = None if row.id in self._unreadable else self._read(row)
        if data is not None and len(data) == row.size and zlib.crc32(data) == row.crc:
            return data
        if row.id not in self._damaged:
            self._damaged.add(row.id)
            log.error("payload damaged; the message is skipped and stays where it is", message=row.id, size=row.size)
        return None

    def _read(self, row: Row) -> bytes | None:
        try:
            body = self.first("body", row.id)
            if body is None or not row.chunks:
                return body and body[0]  # type: ignore[no-any-return]  # the column is a BLOB
            return b"".join([body[0], *(data for (data,) in self.run("chunks", row.id))])
        except DatabaseError as error:
            if is_damage(error):
                return None
            if loses_connection(error):
                # SQLite has rolled back the transaction; when the batch is played again, this one is passed over.
                self._unreadable.add(row.id)
            raise

    def delete(self, message: int, *, chunks: int) -> None:
        """Delete a message and its payload."""
        self.run("delete_message", message)
        self.run("delete_body", message)
        if chunks:
            self.run("delete_chunks", message)
