"""Looks a store over, and mends what can be mended."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from queuefs.errors import QueueNotFound
from queuefs.message import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuefs.backend import Backend


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What a look at a store has shown."""

    #: A sentence for each problem.
    problems: Sequence[str]
    #: A sentence for each thing that was done about them; None if nothing was to be done.
    repairs: Sequence[str] | None
    #: The problems that are left.
    left: Sequence[str]
    #: How much was looked at: queues, their messages in any state, and bytes in use.
    queues: int
    messages: int
    bytes: int
    seconds: float

    @property
    def are_good(self) -> bool:
        """Nothing is wrong, or nothing is any more."""
        return not self.left


async def check(backend: Backend, *, repair: bool) -> Findings:
    """Audit *backend*, and with *repair* mend it and audit it again.

    Raises:
        QueueFSError: it can't be read.
    """
    start = time.monotonic()
    queues, messages = await _extent(backend)
    space = await backend.space()
    problems = left = await backend.audit()
    repairs = None
    if repair:
        repairs = await backend.repair() if problems else ()
        left = await backend.audit() if repairs else problems
    return Findings(
        problems=problems,
        repairs=repairs,
        left=left,
        queues=queues,
        messages=messages,
        bytes=space.used,
        seconds=time.monotonic() - start,
    )


async def _extent(backend: Backend) -> tuple[int, int]:
    """Return how many queues there are, and messages in them."""
    queues = messages = 0
    parents = [ROOT]
    while parents:
        for queue in await backend.children(parents.pop()):
            parents.append(queue.id)
            queues += 1
            try:
                stats = await backend.stats(queue.id)
            except QueueNotFound:  # another daemon has removed it since
                continue
            messages += stats.pending + stats.processing + stats.dead
    return queues, messages
