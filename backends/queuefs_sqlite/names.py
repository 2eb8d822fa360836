"""Notices that a file of the store has been removed or replaced while it is open."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from queuefs_sqlite.location import Location


class Names:
    """The names of a store's files, and whether they still mean the files that are open."""

    def __init__(self, location: Location) -> None:
        """Remember what they mean now."""
        #: The log: it is made by the first transaction, and anew by each opening.
        self.log = f"{location.path}-wal"
        self._known = {name: _inode(name) for name in (str(location.path), f"{location.path}.lock")}
        self._log_inode = _inode(self.log)

    def gone(self) -> str | None:
        """Return a name that means another file by now, or none."""
        for name, known in self._known.items():
            if _inode(name) != known:
                return name
        now = _inode(self.log)
        if self._log_inode is not None and now != self._log_inode:
            return self.log
        self._log_inode = now
        return None

    def forget_log(self) -> None:
        """Take whatever log there is next for ours: the database is opened anew."""
        self._log_inode = None


def _inode(name: str) -> tuple[int, int] | None:
    try:
        found = os.stat(name)  # noqa: PTH116 - once per batch: a third of Path.stat's time
    except OSError:
        return None
    return found.st_dev, found.st_ino
