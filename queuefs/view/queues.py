"""What the files of a queue say: counts and totals, whether it is paused, and which queues are below it."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from queuefs.view.mounts import is_queue_name

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Bytes that are read at a time: more than most files of a queue have. A larger buffer costs more than the call.
_PIECE = 8192


class Look(NamedTuple):
    """A queue's counts and totals, as `stats` has them."""

    #: The object that `stats` shows, whole.
    stats: dict[str, Any]

    @property
    def pending(self) -> int:
        """Messages that have not been handed out."""
        return int(self.stats["pending"])

    @property
    def processing(self) -> int:
        """Messages that have been handed out and are not settled."""
        return int(self.stats["processing"])

    @property
    def dead(self) -> int:
        """Messages that were set aside."""
        return int(self.stats["dead"])

    @property
    def oldest(self) -> float | None:
        """Seconds for which the oldest pending message has been there; None if there is none."""
        found: float | None = self.stats["oldest_pending_seconds"]
        return found

    @property
    def enqueued(self) -> int:
        """Messages that ever came."""
        return int(self.stats["totals"]["enqueued"])

    @property
    def acked(self) -> int:
        """Messages that were ever done."""
        return int(self.stats["totals"]["acked"])


def look(queue: str) -> Look:
    """Return the counts and totals of the queue at the path *queue*."""
    return Look(json.loads(read(queue, "stats")))


def config(queue: str) -> dict[str, str]:
    """Return the config of the queue at the path *queue*, key by key."""
    lines = read(queue, "config").decode().splitlines()
    return {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines)}


def is_paused(queue: str) -> bool:
    """Tell whether the queue at the path *queue* hands out nothing."""
    return config(queue)["paused"] == "true"


def children(directory: str) -> list[str]:
    """Return the names of the queues directly below *directory*, in the order in which the mount lists them."""
    with os.scandir(directory) as entries:
        return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False) and is_queue_name(entry.name)]


def below(directory: str) -> Iterator[str]:
    """Yield the paths of all queues below *directory*, each before those below it, as they were when it was listed."""
    waiting = [directory]
    while waiting:
        path = waiting.pop()
        if path != directory:
            yield path
        try:
            waiting += (f"{path}/{name}" for name in reversed(children(path)))
        except FileNotFoundError:  # removed since it was listed
            if path == directory:
                raise


def read(queue: str, name: str) -> bytes:
    """Return what the file *name* of the queue at the path *queue* shows."""
    fd = os.open(f"{queue}/{name}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        text = os.read(fd, _PIECE)
        while text and len(text) % _PIECE == 0 and (more := os.read(fd, _PIECE)):
            text += more
        return text
    finally:
        os.close(fd)


def tell(queue: str, name: str, text: str) -> None:
    """Write *text* to the file *name* of the queue at the path *queue* by one write(2)."""
    fd = os.open(f"{queue}/{name}", os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)
