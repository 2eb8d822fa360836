"""Says what an error of SQLite's means to us."""

from __future__ import annotations

import sqlite3

from queuefs.errors import (
    BackendError,
    BackendUnavailable,
    MessageTooBig,
    QueueFSError,
    StoreDamaged,
    StoreFull,
)

#: The store's errors by SQLite's primary code: our error, and its sentence.
_FAULTS: dict[int, tuple[type[QueueFSError], str]] = {
    sqlite3.SQLITE_FULL: (StoreFull, "there is no space left where the SQLite file lies"),
    sqlite3.SQLITE_CORRUPT: (StoreDamaged, "the SQLite file is damaged"),
    sqlite3.SQLITE_NOTADB: (StoreDamaged, "the SQLite file is damaged"),
    sqlite3.SQLITE_BUSY: (BackendUnavailable, "another program keeps the SQLite file locked"),
    sqlite3.SQLITE_LOCKED: (BackendUnavailable, "another program keeps the SQLite file locked"),
    sqlite3.SQLITE_IOERR: (BackendUnavailable, "the SQLite file can't be read or written"),
    sqlite3.SQLITE_CANTOPEN: (BackendUnavailable, "the SQLite file can't be opened"),
    sqlite3.SQLITE_READONLY: (BackendUnavailable, "the SQLite file can't be written"),
    sqlite3.SQLITE_PERM: (BackendUnavailable, "the SQLite file may not be used"),
    sqlite3.SQLITE_PROTOCOL: (BackendUnavailable, "another program keeps the SQLite file locked"),
    sqlite3.SQLITE_NOMEM: (BackendUnavailable, "there is no memory left for SQLite"),
    sqlite3.SQLITE_INTERRUPT: (BackendUnavailable, "a look at the whole SQLite file gave way to others"),
    sqlite3.SQLITE_TOOBIG: (MessageTooBig, "SQLite takes no payload of that size in one piece"),
}

#: After these the connection is not to be trusted, and is opened anew.
_LOST = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_NOTADB}


def code(error: BaseException) -> int:
    """Return SQLite's primary result code, 0 if the error did not come from SQLite itself."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def is_full(error: BaseException) -> bool:
    """Whether there was no room; SQLite has then taken back the whole transaction, also if COMMIT met it."""
    return code(error) == sqlite3.SQLITE_FULL


def is_damage(error: BaseException) -> bool:
    """Whether what was read is no database any more."""
    return code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def loses_connection(error: BaseException) -> bool:
    """Whether the connection has to be opened anew."""
    return code(error) in _LOST


def translated(error: Exception) -> Exception:
    """Return our error for one of SQLite's; any other, bugs included, as it is."""
    known = _FAULTS.get(code(error))
    if known is not None:
        kind, sentence = known
        return kind(f"{sentence} ({name(error)}: {error})")
    if code(error) == sqlite3.SQLITE_ERROR:  # such as a table that someone dropped under us
        return BackendError(f"SQLite failed: {error}")
    return error


def name(error: BaseException) -> str:
    """Return SQLite's own name of an error."""
    return str(getattr(error, "sqlite_errorname", type(error).__name__))
