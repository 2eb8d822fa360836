"""Queues in the daemon's memory: as quick as it gets, and gone when the daemon ends."""

from queuefs_memory.backend import MemoryBackend, open_backend

__all__ = ["MemoryBackend", "open_backend"]
