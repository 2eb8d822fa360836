"""One open database: its statements, and what is gathered by a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs_sqlite.archive import Archive
from queuefs_sqlite.ledger import Ledger, counters_of
from queuefs_sqlite.payloads import Payloads
from queuefs_sqlite.rows import Row
from queuefs_sqlite.statements import Statements

if TYPE_CHECKING:
    from collections.abc import Callable
    from sqlite3 import Connection

    from queuefs.message import QueueId
    from queuefs_sqlite.files import IdMark

#: What one batch deletes at once of payloads, and of their rows; the rest lies in trash for a while.
_DELETE_BYTES = 8 << 20
_DELETE_CHUNKS = 1000

#: The box in trash for single messages.
_LITTER = 0


class Store(Statements):
    """A connection, and what is known of the queues in it."""

    def __init__(self, db: Connection, ids: IdMark) -> None:
        """Read what is kept in memory; *ids* knows which ids may have been given.

        Raises:
            sqlite3.Error: it can't be read.
        """
        super().__init__(db)
        self.ids = ids
        self.ledger = Ledger(self.run("all_queues"), last_box=self.value("last_box"), last_id=self.value("last_id"))
        self.payloads = Payloads(self)
        self.archive = Archive(self)
        #: Boxes whose messages are still to be deleted.
        self.trash = self.read_trash()
        #: Whether this batch changed which boxes these are.
        self.trash_touched = False
        #: What an earlier daemon had staged, and the first rounds of upkeep adopt;
        self.inherited: list[int] = [message for (message,) in self.run("left_staged").fetchall()]
        #: and with how many of them this batch is through.
        self.adopted = 0
        #: Queues in which a claim found delays that had ended, for the next round of upkeep to tell.
        self.ripe: set[QueueId] = set()
        #: Those of them that this batch tells.
        self.ripe_told: set[QueueId] = set()
        #: What this batch has deleted, bytes and rows of payload.
        self._deleted_bytes = self._deleted_chunks = 0

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
        self.payloads.remember(before.payloads)
        self.archive.remember(before.archive)

    # A batch ------------------------------------------------------------------------------------------------------

    def seal(self) -> None:
        """Write what the batch has gathered; the last thing before its commit."""
        self.archive.seal()
        for queue, account in self.ledger.changed():
            self.run("set_counters", *counters_of(account), queue)
        if self.trash_touched:
            self._new_trash = self.read_trash()

    def keep(self) -> None:
        """Take note that the batch was committed."""
        self.ledger.keep()
        self.archive.keep()
        if self.trash_touched:
            self.trash = self._new_trash
        del self.inherited[: self.adopted]
        self.ripe -= self.ripe_told
        self._begin_anew()

    def forget(self) -> None:
        """Take note that the batch was rolled back."""
        self.ledger.forget()
        self.archive.forget()
        self._begin_anew()

    def _begin_anew(self) -> None:
        self.trash_touched = False
        self.adopted = 0
        self.ripe_told.clear()
        self._deleted_bytes = self._deleted_chunks = 0

    def read_trash(self) -> list[int]:
        """Return the boxes whose messages are to be deleted, as the batch has left them so far."""
        return [box for (box,) in self.run("trash").fetchall()]

    def throw_away(self, box: int) -> None:
        """Have what lies in a box deleted, a little at a time; the queue must have another one by now."""
        self.run("throw_away", box)
        self.trash_touched = True

    def pass_id(self, message: int) -> None:
        """Let no id up to *message* be given from now on."""
        if message > self.ledger.last_id:
            self.ids.cover(message)
            self.run("forget_ids")
            self.run("skip_ids", message)
            self.ledger.last_id = message

    # Messages -----------------------------------------------------------------------------------------------------

    def message(self, message: int, box: int) -> Row | None:
        """Return a message of a box."""
        values = self.first("message", message, box)
        return None if values is None else Row._make(values)

    def delete(self, message: int, *, chunks: int, size: int) -> None:
        """Delete a message and its payload, or put it into trash if that is too much for this batch."""
        if self._deleted_bytes + size > _DELETE_BYTES or self._deleted_chunks + chunks > _DELETE_CHUNKS:
            self.run("litter", message)
            self.throw_away(_LITTER)
        else:
            self._deleted_bytes += size
            self._deleted_chunks += chunks
            self.erase(message, chunks=chunks)

    def erase(self, message: int, *, chunks: int) -> None:
        """Delete a message and its payload, whatever it takes."""
        self.run("delete_message", message)
        self.run("delete_body", message)
        if chunks:
            self.run("delete_chunks", message)
