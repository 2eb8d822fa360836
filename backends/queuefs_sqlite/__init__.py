"""Queues in one SQLite file: durable, for one daemon at a time."""

from queuefs_sqlite.backend import SQLiteBackend, open_backend

__all__ = ["SQLiteBackend", "open_backend"]
