"""Who has stored a part of a big message, and holds room in its queue while it needs more."""

from __future__ import annotations

import errno
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from queuefs.errors import QueueFSError

if TYPE_CHECKING:
    from queuefs.message import QueueId

#: Makes a call that may find the queue full, and makes it again when there is room.
WithRoom = Callable[[Callable[[], Awaitable[None]]], Awaitable[None]]


class RoomHeldByWriters(QueueFSError):
    """All the room of the queue is held by messages being written, and each of their writers waits for more."""

    errno = errno.ENOSPC


class Writers:
    """The writers of big messages, by queue.

    Two of them can hold up each other for ever: each has a part of the room, and no reader can make any. So the one
    who finds that all are held up has to give way.
    """

    def __init__(self) -> None:
        """Know of none."""
        #: Whether each is held up.
        self._writing: defaultdict[QueueId, dict[object, bool]] = defaultdict(dict)

    def note(self, queue: QueueId, writer: object, *, held_up: bool) -> None:
        """Note that *writer* holds room of *queue*, and whether it waits for more."""
        self._writing[queue][writer] = held_up

    def leave(self, queue: QueueId, writer: object) -> None:
        """Forget *writer*, whose message is done or comes to nothing."""
        if queue in self._writing:
            self._writing[queue].pop(writer, None)
            if not self._writing[queue]:
                del self._writing[queue]

    def hold_up_each_other(self, queue: QueueId) -> bool:
        """Return whether there are several in *queue*, and none can go on."""
        writing = self._writing.get(queue, {})
        return len(writing) > 1 and all(writing.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How a writer waits for room."""

    with_room: WithRoom
    #: With whom it may wait for ever.
    writers: Writers
