"""The contract's methods on queues themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs_redis import replies
from queuefs_redis.calls import Calls
from queuefs_redis.encoding import encoded, given
from queuefs_redis.inspection import LAYOUT
from queuefs_redis.request import Request

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from queuefs.message import Owner, Queue, QueueId


class Queues(Calls):
    """Making, finding and changing queues."""

    def find_queue(self, parent: QueueId, name: str) -> Awaitable[Queue | None]:
        """Return the child *name* of *parent*."""
        return self._submit(Request("find", parent, encoded(name), decode=replies.found_queue))

    def get_queue(self, queue: QueueId) -> Awaitable[Queue]:
        """Return a queue by its number."""
        return self._submit(Request("get", queue, decode=replies.queue_of))

    def children(self, parent: QueueId) -> Awaitable[Sequence[Queue]]:
        """Return the queues directly below *parent*."""
        return self._submit(Request("children", parent, decode=replies.queues_of))

    def create_queue(self, parent: QueueId, name: str, *, owner: Owner, now: float) -> Awaitable[Queue]:
        """Create an empty queue."""

        def created(reply: bytes) -> Queue:
            queue = replies.queue_of(reply)
            self._highest.queue = max(self._highest.queue, queue.id)
            return queue

        args = (parent, encoded(name), owner.uid, owner.gid, owner.mode, self._now(now), LAYOUT)
        return self._submit(Request("create", *args, decode=created))

    def remove_queue(self, queue: QueueId) -> Awaitable[None]:
        """Remove a queue that is empty."""
        return self._submit(Request("remove", queue, decode=replies.nothing))

    def rename_queue(self, queue: QueueId, *, parent: QueueId, name: str) -> Awaitable[None]:
        """Give a queue another place and name."""
        return self._submit(Request("rename", queue, parent, encoded(name), decode=replies.nothing))

    def set_owner(self, queue: QueueId, owner: Owner) -> Awaitable[None]:
        """Change who owns a queue."""
        return self._own(queue, None, owner)

    def set_file_owner(self, queue: QueueId, file: str, owner: Owner) -> Awaitable[None]:
        """Change who owns one file of a queue."""
        return self._own(queue, file, owner)

    def _own(self, queue: QueueId, file: str | None, owner: Owner) -> Awaitable[None]:
        args = (owner.uid, owner.gid, owner.mode, given(file))
        return self._submit(Request("owner", queue, *args, decode=replies.nothing))

    def set_config(self, queue: QueueId, config: bytes, *, expected: bytes) -> Awaitable[bool]:
        """Replace the queue's config if it is still *expected*."""
        return self._submit(Request("config", queue, config, expected, decode=lambda reply: reply == b"1"))
