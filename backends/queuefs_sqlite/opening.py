"""Opens a store, step by step, and closes it again."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

import structlog

from queuefs_sqlite import upkeep
from queuefs_sqlite.database import is_disk_full, open_database, refuse_remains, unusable
from queuefs_sqlite.engine import Engine
from queuefs_sqlite.files import Lock, Reserve, make_file, make_parents
from queuefs_sqlite.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from queuefs_sqlite.files import IdMark
    from queuefs_sqlite.location import Location

log = structlog.get_logger(__name__)


@contextmanager
def opened(location: Location) -> Iterator[Engine]:
    """Hold the store at *location* open.

    Raises:
        StoreInUse: another daemon holds it.
        StoreUnusable: it can't be opened.
    """
    make_parents(location.path)
    with Lock.taken(location.path) as lock:
        is_missing = not location.path.exists()
        refuse_remains(location.path, was_used=lock.was_used)
        make_file(location.path)
        reserve = Reserve(location.path)
        store = _open_store(location, reserve, lock.ids, may_create=is_missing or not lock.was_used)
        engine = Engine(location, store, reserve)
        try:
            lock.sign()
            if not reserve.take():
                reserve.keep_some()
                log.warning("little room on the disk: new messages may be refused", file=str(location.path))
            yield engine
        finally:
            engine.close()


def _open_store(location: Location, reserve: Reserve, ids: IdMark, *, may_create: bool) -> Store:
    try:
        return _read_store(location, ids, may_create=may_create)
    except sqlite3.Error as error:
        if not (reserve.is_held and is_disk_full(location.path, error)):
            raise unusable(location.path, error) from error
    reserve.release()  # so that what is stored can still be worked off
    try:
        return _read_store(location, ids, may_create=may_create)
    except sqlite3.Error as error:
        raise unusable(location.path, error) from error


def _read_store(location: Location, ids: IdMark, *, may_create: bool) -> Store:
    db = open_database(location, may_create=may_create)
    try:
        return Store.mended(db, ids, upkeep.skip_ids)
    except BaseException:
        db.close()
        raise
