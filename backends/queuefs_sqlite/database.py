"""Opens the SQLite file, or says in one sentence why it can't be used."""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import structlog

from queuefs.errors import StoreUnusable
from queuefs_sqlite import faults
from queuefs_sqlite.files import beside
from queuefs_sqlite.queries import SCHEMA, UPGRADES

if TYPE_CHECKING:
    from pathlib import Path

    from queuefs_sqlite.location import Location

log = structlog.get_logger(__name__)

#: 'QuFS'; see schema.sql, which sets both.
APPLICATION_ID = 0x51754653
USER_VERSION = 3

#: What a store has to have, by the schema's own text: the statement that makes each part.
_PARTS = {
    found[1]: found[0]
    for found in re.finditer(r"^CREATE (?:TABLE|(?:UNIQUE )?INDEX) (\w+).*?;$", SCHEMA, re.MULTILINE | re.DOTALL)
}

#: What a store of an older version lacks of these, and its upgrade adds.
_PARTS_OF_VERSION_3 = {"messages_held", "records", "records_id", "records_ended"}
_PARTS_OF_VERSION_2 = {
    "messages_ready",
    "messages_delayed",
    "messages_due",
    "messages_age",
    "messages_expiry",
    "messages_dead",
    "messages_being_written",
    "messages_key",
    "keys",
    "keys_until",
}
_NEW_SINCE = {1: _PARTS_OF_VERSION_2 | _PARTS_OF_VERSION_3, 2: _PARTS_OF_VERSION_3, USER_VERSION: set[str]()}

#: Nobody else writes, but someone may look with sqlite3(1); a back end that is away says so within this.
BUSY_TIMEOUT_MS = 3000

# Every one is set, because builds differ: Debian's has SECURE_DELETE on.
_PRAGMAS = """
PRAGMA busy_timeout = {busy};
PRAGMA synchronous = {synchronous};
PRAGMA secure_delete = OFF;
PRAGMA temp_store = MEMORY;
PRAGMA cache_size = -32000;
PRAGMA wal_autocheckpoint = 1000;
PRAGMA journal_size_limit = 4194304;
PRAGMA foreign_keys = OFF;
PRAGMA recursive_triggers = OFF;
"""
# secure_delete: overwriting would write each payload once more when it is acknowledged.
# wal_autocheckpoint, journal_size_limit: without them a log of 454 MB was measured.

_OPENING = {
    sqlite3.SQLITE_NOTADB: "{path} is not an SQLite database",
    sqlite3.SQLITE_CORRUPT: "{path} is damaged (SQLite: {error}); restore it from a copy",
    sqlite3.SQLITE_FULL: "there is no space left on the disk of {path}",
    sqlite3.SQLITE_BUSY: "another program keeps {path} locked",
    sqlite3.SQLITE_READONLY: "{path} can't be written (SQLite: {error})",
    sqlite3.SQLITE_CANTOPEN: "SQLite can't open {path} or a file beside it",
    sqlite3.SQLITE_IOERR: "{path} can't be read or written ({name})",
}


def unusable(path: Path, error: sqlite3.Error) -> StoreUnusable:
    """Return the sentence for an error that was met while opening *path*."""
    sentence = _OPENING.get(faults.code(error), "SQLite can't use {path} ({name}: {error})")
    if is_disk_full(path, error):
        sentence = _OPENING[sqlite3.SQLITE_FULL]
    return StoreUnusable(sentence.format(path=path, error=error, name=faults.name(error)))


def is_disk_full(path: Path, error: sqlite3.Error) -> bool:
    """Whether *error* comes from a full disk; met while making the -wal or -shm file, SQLite calls it otherwise."""
    if faults.code(error) not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR):
        return faults.is_full(error)
    disk = os.statvfs(path.parent)
    return disk.f_bavail * disk.f_frsize < 64 << 10  # a -shm file is 32 KiB


def refuse_remains(path: Path, *, was_used: bool) -> None:
    """Refuse an empty or missing file that held messages; must be called before SQLite sees it.

    SQLite would take it for a new database, and delete the log beside it.

    Raises:
        StoreUnusable: it is one.
    """
    size = path.stat().st_size if path.exists() else None
    wal = beside(path, "-wal")
    if not size and wal.exists() and wal.stat().st_size:
        state = "missing" if size is None else "empty"
        raise StoreUnusable(f"{path} is {state}, but {wal} holds messages of it; restore it from a copy")
    if size == 0 and was_used:
        raise StoreUnusable(
            f"{path} is empty, but was in use before; restore it from a copy, or remove it to start anew"
        )


def open_database(location: Location, *, may_create: bool) -> sqlite3.Connection:
    """Connect to the file, which exists; make the tables if it is empty and *may_create*.

    Raises:
        StoreUnusable: it is not a store of ours.
        sqlite3.Error: it can't be read or written.
    """
    db = sqlite3.connect(location.path, isolation_level=None, check_same_thread=False, cached_statements=128)
    try:
        db.executescript(_PRAGMAS.format(busy=BUSY_TIMEOUT_MS, synchronous=location.synchronous))
        if may_create and _is_empty(db):
            db.executescript(f"BEGIN IMMEDIATE;\n{SCHEMA}\nCOMMIT;")
        _recognise(db, location.path)
        _keep_log(db, location.path)
    except BaseException:
        db.close()
        raise
    return db


def open_to_look(location: Location) -> sqlite3.Connection:
    """Connect once more to a file that is open, to read it from another thread.

    Raises:
        sqlite3.Error: it can't be read.
    """
    db = sqlite3.connect(f"{location.path.as_uri()}?mode=ro", uri=True, isolation_level=None, check_same_thread=False)
    db.executescript(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}; PRAGMA temp_store = MEMORY;")
    return db


def _is_empty(db: sqlite3.Connection) -> bool:
    return _pragma(db, "application_id") == 0 and not _parts(db)


def _recognise(db: sqlite3.Connection, path: Path) -> None:
    application = _pragma(db, "application_id")
    if application != APPLICATION_ID:
        raise StoreUnusable(f"{path} is another application's SQLite database")
    version = _pragma(db, "user_version")
    if isinstance(version, int) and version > USER_VERSION:
        raise StoreUnusable(
            f"{path} was made by a newer QueueFS (its version is {version}, the newest known here {USER_VERSION})"
        )
    if not isinstance(version, int) or version not in _NEW_SINCE:
        raise StoreUnusable(f"{path} has the unknown version {version}")
    missing = sorted(_PARTS.keys() - _NEW_SINCE[version] - _parts(db))
    if missing:
        raise StoreUnusable(f"{path} lacks {', '.join(missing)}; restore it from a copy")
    if version < USER_VERSION:
        _upgrade(db, version)
        log.info("store brought up to date", file=str(path), version=USER_VERSION)


def _upgrade(db: sqlite3.Connection, version: int) -> None:
    steps = [UPGRADES[old] for old in range(version, USER_VERSION)]
    steps += [statement for name, statement in _PARTS.items() if name in _NEW_SINCE[version]]
    db.executescript("\n".join(["BEGIN IMMEDIATE;", *steps, f"PRAGMA user_version = {USER_VERSION};", "COMMIT;"]))


def _keep_log(db: sqlite3.Connection, path: Path) -> None:
    if _pragma(db, "journal_mode = WAL") != "wal":
        raise StoreUnusable(f"SQLite can't keep a write-ahead log on the file system of {path}")


def _parts(db: sqlite3.Connection) -> set[str]:
    return {name for (name,) in db.execute("SELECT name FROM sqlite_schema").fetchall()}


def _pragma(db: sqlite3.Connection, pragma: str) -> object:
    return db.execute(f"PRAGMA {pragma}").fetchall()[0][0]


def checkpoint(db: sqlite3.Connection, *, mode: str = "TRUNCATE") -> bool:
    """Move the whole log into the database and begin it anew, cut to nothing or not; return whether it was possible.

    Raises:
        sqlite3.Error: it can't be read or written.
    """
    with closing(db.execute(f"PRAGMA wal_checkpoint({mode})")) as cursor:
        busy, _in_log, _moved = cursor.fetchone()
    return not busy
