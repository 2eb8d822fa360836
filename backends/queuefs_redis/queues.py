"""The contract's methods on queues themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs_redis import records
from queuefs_redis.calls import Calls
from queuefs_redis.inspection import LAYOUT
from queuefs_redis.records import encoded_name
from queuefs_redis.request import Request

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from queuefs.message import Owner, Queue, QueueId


class Queues(Calls):
    """Making, finding and changing queues."""

    def find_queue(self, parent: QueueId, name: str) -> Awaitable[Queue | None]:
        """Return the child *name* of *parent*."""
        return self._submit(Request("find", parent, encoded_name(name), decode=records.found_queue))

    def get_queue(self, queue: QueueId) -> Awaitable[Queue]:
        """Return a queue by its number."""
        return self._submit(Request("get", queue, decode=records.queue_of))

    def children(self, parent: QueueId) -> Awaitable[Sequence[Queue]]:
        """Return the queues directly below *parent*."""
        return self._submit(Request("children", parent, decode=records.queues_of))

    def create_queue(self, parent: QueueId, name: str, *, owner: Owner, now: float) -> Awaitable[Queue]:
        """Create an empty queue."""

        def created(reply: bytes) -> Queue:
            queue = records.queue_of(reply)
            self._highest.queue = max(self._highest.queue, queue.id)
            return queue

        args = (parent, encoded_name(name), owner.uid, owner.gid, owner.mode, self._now(now), LAYOUT)
        return self._submit(Request("create", *args, decode=created))

    def remove_queue(self, queue: QueueId) -> Awaitable[None]:
        """Remove a queue that is empty."""
        return self._submit(Request("remove", queue, decode=records.nothing))

    def rename_queue(self, queue: QueueId, *, parent: QueueId, name: str) -> Awaitable[None]:
        """Give a queue another place and name."""
        return self._submit(Request("rename", queue, parent, encoded_name(name), decode=records.nothing))

    def set_owner(self, queue: QueueId, owner: Owner) -> Awaitable[None]:
        """Change who owns a queue."""
        return self._submit(Request("owner", queue, owner.uid, owner.gid, owner.mode, decode=records.nothing))

    def set_config(self, queue: QueueId, config: bytes, *, expected: bytes) -> Awaitable[bool]:
        """Replace the queue's config if it is still *expected*."""
        return self._submit(Request("config", queue, config, expected, decode=lambda reply: reply == b"1"))
