"""Queues on a Redis or Valkey server, which several daemons may share."""

from queuefs_redis.backend import RedisBackend
from queuefs_redis.opening import open_backend

__all__ = ["RedisBackend", "open_backend"]
