"""Carries out batches of operations, each batch in one transaction; everything here runs on the writer thread.

What a batch promises:

* All of it is committed before any of it is answered.
* An operation that is refused (no such queue, a name that exists) changes nothing, and the others go on.
* When one fails by the disk or by a bug, the batch is rolled back and played again one operation at a time, so that
  only the guilty one fails. This replaces a savepoint per operation, which costs 20 to 30 %.
* A commit that fails may be in the log all the same (measured: an fsync error, and the rows were there after the next
  opening). So nobody is told that it was not done: the connection is opened anew and the truth is read from the file.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any, NoReturn

import outcome
import structlog

from queuefs.errors import BackendError, BackendUnavailable, OutcomeUnknown, QueueFSError, StoreFull, StoreUnusable
from queuefs_sqlite import faults, trash, upkeep
from queuefs_sqlite.database import checkpoint, open_database
from queuefs_sqlite.lookers import Lookers
from queuefs_sqlite.names import Names
from queuefs_sqlite.pieces import Piece, portions
from queuefs_sqlite.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from queuefs_sqlite.files import Reserve
    from queuefs_sqlite.location import Location

log = structlog.get_logger(__name__)

#: Payloads from here on are looked at before they are tried: one of 30 MB that fits the log and then not the database
#: could not be moved out of the log again, whatever the reserve.
_BIG_BYTES = 1 << 20
_PAGE_BYTES = 4096
#: Free pages that a new message may need beside those of its payload, for all the indexes.
_SPARE_PAGES = 16


class _CommitFailed(Exception):
    """The outcome of a COMMIT is unknown."""


class Engine:
    """The writer thread's work."""

    def __init__(self, location: Location, store: Store, reserve: Reserve) -> None:
        """Serve *store*, which is open."""
        self._location = location
        self._store = store
        self._reserve = reserve
        self._names = Names(location)
        #: Connections beside this one.
        self.lookers = Lookers(location)
        self._is_lost = False
        #: Why nothing can be served, as it was logged.
        self._trouble: str | None = None
        #: How many pieces are done, and the trio thread may look at their results in the ledger.
        self.done = 0

    @property
    def store(self) -> Store:
        """The open store; another one after a failure."""
        return self._store

    @property
    def path(self) -> Path:
        """Where the database is."""
        return self._location.path

    @property
    def is_well(self) -> bool:
        """Whether what is in memory is known to be what is in the file."""
        return not self._is_lost and self._trouble is None

    def run(self, batch: Sequence[Piece]) -> list[outcome.Outcome[Any]]:
        """Carry out a batch; see `GroupCommit`."""
        try:
            return [answer for portion in portions(batch) for answer in self._portion(portion)]
        finally:
            self.done += len(batch)

    def close(self) -> None:
        """Leave a database without a log."""
        self.lookers.interrupt()
        try:
            checkpoint(self._store.db)
        except sqlite3.Error as error:
            log.warning("the log could not be emptied; the next opening does it", error=faults.name(error))
        finally:
            self._store.db.close()
            self._store.ids.settle(self._store.ledger.last_id)

    # Batches ------------------------------------------------------------------------------------------------------

    def _portion(self, pieces: Sequence[Piece]) -> list[outcome.Outcome[Any]]:
        if not any(piece.grows for piece in pieces) or self._may_grow(pieces):
            try:
                return self._transaction(pieces, takes_trash=True)
            except Exception as error:  # noqa: BLE001 - whatever it is, it must hit its own caller alone
                log.debug("batch is played again one by one", pieces=len(pieces), error=repr(error))
        answers = [self._alone(piece) for piece in pieces]
        if not self._reserve.is_whole:
            self._make_room()
            self._reserve.keep_some()
        return answers

    def _alone(self, piece: Piece) -> outcome.Outcome[Any]:
        if piece.grows and not self._may_grow([piece]) and not self._has_free_pages(piece):
            return outcome.Error(StoreFull())
        try:
            return self._transaction([piece])[0]
        except Exception as error:  # noqa: BLE001 - as above
            if not faults.is_full(error) or (piece.grows and not self._has_free_pages(piece)):
                return outcome.Error(faults.translated(error))
        self._reserve.release()
        self._make_room()
        try:
            return self._transaction([piece])[0]
        except Exception as error:  # noqa: BLE001 - as above
            return outcome.Error(faults.translated(error))

    def _transaction(self, pieces: Sequence[Piece], *, takes_trash: bool = False) -> list[outcome.Outcome[Any]]:
        """Carry out *pieces* together and return their answers.

        Raises:
            Exception: what one of them failed by; nothing was done.
        """
        writes = any(piece.writes for piece in pieces)
        try:
            self._begin(writes=writes)
        except BackendError as error:
            return [outcome.Error(type(error)(str(error))) for _ in pieces]
        store = self._store
        store.archive.has_room = self._reserve.take()
        try:
            answers = [self._answer(piece) for piece in pieces]
            if writes and takes_trash and store.trash:
                trash.purge_some(store)
            store.seal()
            self._commit()
        except _CommitFailed as error:
            return [outcome.Error(OutcomeUnknown(str(error))) for _ in pieces]
        except BaseException as error:
            self._roll_back(error)
            raise
        store.keep()
        return answers

    def _begin(self, *, writes: bool) -> None:
        """Start a transaction on a connection that can be trusted."""
        self._watch_files()
        if self._is_lost:
            self._reopen()
        try:
            # Deferred, a write after a read fails at once with BUSY_SNAPSHOT, whatever busy_timeout says.
            self._store.db.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
        except sqlite3.Error as error:
            self._is_lost = faults.loses_connection(error)
            raise BackendUnavailable(f"the SQLite file can't be used ({faults.name(error)}: {error})") from error
        self._trouble = None

    def _answer(self, piece: Piece) -> outcome.Outcome[Any]:
        before = self._store.db.total_changes
        try:
            return outcome.Value(piece.act(self._store))
        except QueueFSError as error:
            if self._store.db.total_changes != before:
                raise  # it was refused half-way: play the batch again, where a rollback undoes this one alone
            return outcome.Error(error)

    def _commit(self) -> None:
        try:
            self._store.db.execute("COMMIT")
        except sqlite3.Error as error:
            if faults.is_full(error):
                raise  # the last page could not be written, so the log has no commit
            self._is_lost = True
            log.error("commit failed, its outcome is unknown", error=faults.name(error), text=str(error))  # noqa: TRY400 - the place says nothing
            raise _CommitFailed(f"the commit failed ({faults.name(error)}: {error})") from error

    def _roll_back(self, error: BaseException) -> None:
        self._store.forget()
        self._is_lost = faults.loses_connection(error)
        if faults.is_damage(error):
            log.error("database damaged", file=str(self._location.path), text=str(error))
            self._store.trash.clear()  # were it met there, no batch would ever pass again
        try:
            if self._store.db.in_transaction:  # SQLite has rolled back by itself when the disk was full
                self._store.db.execute("ROLLBACK")
        except sqlite3.Error:
            self._is_lost = True

    # A full disk --------------------------------------------------------------------------------------------------

    def _may_grow(self, pieces: Sequence[Piece]) -> bool:
        """Whether the disk may be asked for more: it has to hold new payloads in the log and in the database."""
        if not self._reserve.take():
            return False
        weight = sum(piece.weight for piece in pieces)
        return weight < _BIG_BYTES or self._reserve.free() >= 2 * weight

    def _has_free_pages(self, piece: Piece) -> bool:
        """Whether the database has room inside, so that a new message takes none of the disk's."""
        try:
            free = self._store.db.execute("PRAGMA freelist_count").fetchall()[0][0]
        except sqlite3.Error:
            return False
        has_log = piece.weight < _BIG_BYTES or self._reserve.free() >= piece.weight
        return bool(has_log and free >= piece.weight // _PAGE_BYTES + _SPARE_PAGES)

    def _make_room(self) -> None:
        """Delete what was cleared, and let the log begin anew in the room it has.

        Its file is not cut: the next program to look for room would get it, and we would have no log.
        """
        self.lookers.interrupt()
        try:
            checkpoint(self._store.db, mode="RESTART")
            if self._store.trash:
                self._transaction([Piece(trash.purge_some, writes=True)])
                checkpoint(self._store.db, mode="RESTART")
        except sqlite3.Error as error:
            log.debug("no room could be made", error=faults.name(error))

    # A lost file --------------------------------------------------------------------------------------------------

    def _watch_files(self) -> None:
        """Refuse to write into a file that has been removed or replaced: SQLite would, and all of it would be lost."""
        gone = self._names.gone()
        if gone == self._names.log:
            # What it holds is in the database only after a checkpoint, and this connection alone can still make one.
            log.error("the log was removed under the daemon; what it held is saved", file=gone)
            self._is_lost = True
            self._names.forget_log()
            try:
                checkpoint(self._store.db)
            except sqlite3.Error as error:
                log.error("it can't be saved", error=faults.name(error), text=str(error))  # noqa: TRY400 - the place says nothing
        elif gone is not None:
            self._refuse(f"{gone} was removed or replaced under the daemon")

    def _reopen(self) -> None:
        """Open the file anew after a failure, and read from it what is true."""
        known_id = self._store.ledger.known_id
        self._names.forget_log()
        self.lookers.interrupt()
        self._store.db.close()
        try:
            db = open_database(self._location, may_create=False)
        except (sqlite3.Error, StoreUnusable) as error:
            self._refuse(f"the SQLite file can't be opened again: {error}")
        try:
            # After a failed fsync the kernel may hold pages as clean that are not on the disk. Whatever of the log
            # we are going to read must be written once more, into the database.
            is_empty = checkpoint(db)
            if is_empty:
                before = self._store
                self._store = Store.mended(
                    db, before.ids, lambda store: upkeep.drop_unknown(store, known_id), before=before
                )
        except sqlite3.Error as error:
            db.close()
            if faults.is_full(error):
                self._reserve.release()
            self._refuse(f"the SQLite file can't be read again: {error}")
        if not is_empty:
            db.close()
            self._refuse("the SQLite file can't be opened again: another program is reading it")
        self._is_lost = False
        log.info("opened again", file=str(self._location.path))

    def _refuse(self, trouble: str) -> NoReturn:
        if self._trouble != trouble:
            self._trouble = trouble
            log.error("back end unavailable", reason=trouble)
        raise BackendUnavailable(trouble)
