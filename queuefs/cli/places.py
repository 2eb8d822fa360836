"""Where the store and the log are when nobody says otherwise."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from queuefs.registry import scheme_of


def state_dir() -> Path:
    """Return the directory for what must outlive a reboot: root's or the user's own (XDG base directories)."""
    if os.geteuid() == 0:
        return Path("/var/lib/queuefs")
    named = os.environ.get("XDG_STATE_HOME", "")
    base = Path(named) if named.startswith("/") else Path.home() / ".local" / "state"
    return base / "queuefs"


def default_log_file() -> Path:
    """Return the file that a daemon in the background logs to."""
    return Path("/var/log/queuefs.log") if os.geteuid() == 0 else state_dir() / "queuefs.log"


def default_store() -> str:
    """Return the URL of the SQLite store in the state directory."""
    return "sqlite://" + quote(os.fsencode(state_dir() / "queue.db"))


def sqlite_file(url: str) -> Path | None:
    """Return the file that *url* names, symlinks resolved; None if it is not SQLite's."""
    if scheme_of(url) != "sqlite":
        return None
    path = url.partition("?")[0].partition("://")[2]
    return Path(os.path.realpath(os.fsdecode(unquote_to_bytes(path))))
