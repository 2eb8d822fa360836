"""The queues that an export names, found in this store or made."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from queuefs.config import Config, kept
from queuefs.configs import ATTEMPTS
from queuefs.errors import BackendUnavailable, BadValue, QueueExists
from queuefs.message import ROOT, QueueId, Retention

if TYPE_CHECKING:
    from queuefs.backend import Backend
    from queuefs.message import Queue
    from queuefs.transfer.lines import QueueLine
    from queuefs.transfer.terms import Imported, Terms

_Path = tuple[str, ...]


class Place(NamedTuple):
    """A queue to import into."""

    #: None where it would have to be made first, and nothing is to be done.
    queue: QueueId | None
    keep: Retention


class Places:
    """Finds and makes queues."""

    def __init__(self, backend: Backend, terms: Terms, imported: Imported, *, ahead: float) -> None:
        """Work on *backend*; *ahead* is by how much the wall clock is, of the store's time."""
        self._backend = backend
        self._terms = terms
        self._imported = imported
        self._ahead = ahead
        self._known: dict[_Path, Place] = {}

    def __len__(self) -> int:
        """Return how many queues were entered."""
        return len(self._known)

    async def enter(self, line: QueueLine) -> Place:
        """Return the queue that *line* names, made if it is missing.

        Raises:
            BadValue: the queue that it is in is missing.
            QueueFSError: of the back end.
        """
        path = tuple(line.queue)
        place = self._known.get(path)
        if place is None:
            place = self._known[path] = await self._found_or_made(path, line)
        return place

    async def _found_or_made(self, path: _Path, line: QueueLine) -> Place:
        parent = await self._parent(path)
        found = None if parent is None else await self._backend.find_queue(parent, path[-1])
        if found is not None:
            self._imported.known_queues += 1
            return await self._known_queue(found, line)
        self._imported.queues += 1
        config = Config().merged(line.config.encode())
        if parent is None or self._terms.dry_run:
            return Place(None, config.keep)
        return Place(await self._made(parent, line), config.keep)

    async def _parent(self, path: _Path) -> QueueId | None:
        if path[:-1] in self._known:
            return self._known[path[:-1]].queue
        parent = ROOT
        for name in path[:-1]:
            above = await self._backend.find_queue(parent, name)
            if above is None:
                raise BadValue(f"the queue {'/'.join(path[:-1])}, which it is in, is not here and did not come before")
            parent = above.id
        return parent

    async def _known_queue(self, queue: Queue, line: QueueLine) -> Place:
        text = queue.config
        if self._terms.overwrite_config and line.config and not self._terms.dry_run:
            text = await self._merged(queue.id, line.config.encode())
        return Place(queue.id, Config().merged(text).keep)

    async def _merged(self, queue: QueueId, text: bytes) -> bytes:
        for _ in range(ATTEMPTS):
            old = (await self._backend.get_queue(queue)).config
            new = kept(old, text)
            if await self._backend.set_config(queue, new, expected=old):
                return new
        raise BackendUnavailable("others change this config all the time")

    async def _made(self, parent: QueueId, line: QueueLine) -> QueueId:
        name, now = line.queue[-1], line.created_at - self._ahead
        try:
            made = await self._backend.create_queue(parent, name, owner=line.owner.owner, now=now)
        except QueueExists:  # somebody was quicker, and it is the same to us
            found = await self._backend.find_queue(parent, name)
            if found is None:
                raise
            return found.id
        for file, owner in line.files.items():
            await self._backend.set_file_owner(made.id, file, owner.owner)
        if line.config:
            await self._backend.set_config(made.id, line.config.encode(), expected=b"")
        return made.id
