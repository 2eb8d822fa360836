"""The requests that are no scripts: for a view of a whole queue, and for the names of keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from queuefs.message import Message
from queuefs_redis.metas import dead_of, snapshot_of
from queuefs_redis.request import Request, pack

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queuefs.message import QueueId
    from queuefs_redis.request import Arg


#: How many keys of the server, of whomever, are looked at by one command.
_KEYS_AT_ONCE = 1000


class View(Request[list[Message]]):
    """Messages of a queue, from one transaction.

    A script would hold the server several times as long: each string goes into Lua and out again (measured with a
    million messages: 10 s until all was read, against 6 s).
    """

    __slots__ = ("_queue",)

    patient = True
    #: What is read: commands with the part of the queue's keys that each is for, and what follows that.
    reads: ClassVar[Sequence[tuple[Arg, str, Sequence[Arg]]]]

    def __init__(self, name: str, queue: QueueId, decode: Callable[[Sequence[object]], list[Message]]) -> None:
        """Prepare to look at *queue*."""
        super().__init__(name, decode=decode)
        self._queue = queue

    def packed(self, base: str, who: Sequence[Arg]) -> bytes:  # noqa: ARG002 - it changes nothing, so no matter who
        """Return the transaction; the replies before that of EXEC say that its commands are queued."""
        reads = [(command, f"{base}q:{self._queue}:{part}", *rest) for command, part, rest in self.reads]
        known = ("HEXISTS", f"{base}queues", self._queue)
        return b"".join(pack(command) for command in (("MULTI",), known, *reads, ("EXEC",)))


class Snapshot(View):
    """All unacknowledged messages."""

    __slots__ = ()

    preliminary = 5
    reads = (
        ("ZRANGE", "aside", (0, -1, "WITHSCORES")),
        ("ZRANGE", "processing", (0, -1, "WITHSCORES")),
        ("HGETALL", "meta", ()),
    )

    def __init__(self, queue: QueueId) -> None:
        """Prepare to look at *queue*."""
        super().__init__("snapshot", queue, snapshot_of)


class Dead(View):
    """All dead messages."""

    __slots__ = ()

    preliminary = 3
    reads = (("HGETALL", "dead", ()),)

    def __init__(self, queue: QueueId) -> None:
        """Prepare to look at *queue*."""
        super().__init__("dead", queue, dead_of)


class Keys(Request[tuple[bytes, list[bytes]]]):
    """Some of the keys that there are, without what begins them, and the cursor for the next."""

    __slots__ = ("_cursor",)

    def __init__(self, cursor: bytes) -> None:
        """Prepare to go on from *cursor*."""
        super().__init__("keys", decode=_keys)
        self._cursor = cursor

    def packed(self, base: str, who: Sequence[Arg]) -> bytes:  # noqa: ARG002 - it changes nothing, so no matter who
        """Return the command; a prefix has no sign in it that would stand for others."""
        return pack(("SCAN", self._cursor, "MATCH", f"{base}*", "COUNT", _KEYS_AT_ONCE))


def _keys(reply: Sequence[Any]) -> tuple[bytes, list[bytes]]:
    cursor, keys = reply
    return cursor, [key.partition(b"}:")[2] for key in keys]
