"""What can be known of a mount: its version, its back end and how that is, its room, its metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import trio

import queuefs
from queuefs.registry import redacted

if TYPE_CHECKING:
    from queuefs.backend import Backend
    from queuefs.message import Space
    from queuefs.metrics import Metrics
    from queuefs.upkeep import Upkeep

#: How long an answer about the store's room is good: `tail -f` asks for it every second, and `df` need not be exact.
SPACE_SECONDS = 1.0


class About:
    """Tells of one mount."""

    def __init__(self, url: str, backend: Backend, upkeep: Upkeep, metrics: Metrics) -> None:
        """Tell of the store at *url*, which *upkeep* looks after."""
        self._url = redacted(url)
        self._backend = backend
        self._upkeep = upkeep
        self.metrics = metrics
        self._space: tuple[Space, float] | None = None

    def version(self) -> bytes:
        """Return the version of QueueFS and a newline."""
        return queuefs.__version__.encode() + b"\n"

    def backend(self) -> bytes:
        """Return the back end and its state, as one JSON line."""
        traits = self._backend.traits
        failure = self._upkeep.failure
        fields = {
            "url": self._url,
            "state": "ok" if failure is None else "failing",
            "durable": traits.durable,
            "shared": traits.shared,
        }
        if failure is not None:
            fields["reason"] = failure
        return msgspec.json.encode(fields) + b"\n"

    async def space(self) -> Space:
        """Return what the store takes up and what it could, as of a second ago at most."""
        now = trio.current_time()
        if self._space is None or now >= self._space[1]:
            self._space = (await self._backend.space(), now + SPACE_SECONDS)
        return self._space[0]
