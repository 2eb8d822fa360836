"""All waiting for what other programs do: a blocked reader or writer, from the call that waits to what ends it.

The kernel tells a FUSE daemon of pyfuse3's kind nothing when a signal reaches a blocked caller: the caller stays where
it is, killed or not, until it is answered. So all callers are looked at every now and then, and a wait ends

* when what it waits for happens,
* when its time is up,
* when a signal has reached its caller,
* when the daemon stops.

Nobody else waits for anything but the back end's answer.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import structlog
import trio

from queuefs.errors import Interrupted, ShuttingDown, WouldBlock

if TYPE_CHECKING:
    from collections.abc import Iterator

log = structlog.get_logger(__name__)

#: Seconds between two looks at the callers: what a Ctrl-C takes at most, and a few per cent of a core at 1,000 callers.
LOOK_SECONDS = 0.05

#: Callers per look that are asked for signals which they handle themselves; seeing those costs seven times as much as
#: seeing fatal ones (36 us and 5 us).
THOROUGH_LOOKS = 30

#: Callers between two turns of the event loop.
LOOKS_PER_TURN = 50

#: Seconds between two searches for the readers of files that were inherited: a search goes through all processes.
SEARCH_SECONDS = 1.0


class Caller(Protocol):
    """The process that waits."""

    def is_dying(self) -> bool:
        """Return whether a fatal signal has reached it; quick."""

    def has_signal(self) -> bool:
        """Return whether any signal has reached it; thorough, and slower."""

    def is_elsewhere(self) -> bool:
        """Return whether it is not the one that waits: it has ended, or handed its file to another process."""

    def close(self) -> None:
        """Let go of what is held of it."""


class Search(Protocol):
    """Finds who waits where that is not the one who opened the file."""

    def __call__(self, callers: list[Caller]) -> list[Caller]:
        """Return those of *callers* whose file is held by a process which a signal has reached; runs in a thread."""


class Wait:
    """One wait under way."""

    __slots__ = ("caller", "happened", "interrupted")

    def __init__(self, caller: Caller) -> None:
        """Wait on behalf of *caller*."""
        self.caller = caller
        self.happened = trio.Event()
        self.interrupted = False


class Waiting:
    """All waits under way."""

    def __init__(self, search: Search, *, limit: float = math.inf) -> None:
        """Begin without any.

        Args:
            search: Finds the readers of inherited files.
            limit: The most waits at a time; more are refused.
        """
        self._search = search
        #: See `__init__`; known only once the mount answers.
        self.limit = limit
        self._waits: dict[Wait, None] = {}
        self._some = trio.Event()
        self._stopping = False

    def __len__(self) -> int:
        """Return how many wait."""
        return len(self._waits)

    def stop(self) -> None:
        """End all waits, and let none begin."""
        self._stopping = True
        for wait in self._waits:
            wait.happened.set()

    async def until(self, wait: Wait, seconds: float) -> bool:
        """Return True when ``wait.happened`` is set, False when *seconds* have passed.

        Raises:
            Interrupted: a signal has reached the caller.
            ShuttingDown: the daemon stops.
            WouldBlock: there are too many waits.
        """
        if self._stopping:
            raise ShuttingDown
        if len(self._waits) >= self.limit:
            raise WouldBlock(f"more than {self.limit:.0f} can't wait on this mount; see the log of its beginning")
        self._waits[wait] = None
        self._some.set()
        try:
            with trio.move_on_after(seconds) as scope:
                await wait.happened.wait()
        finally:
            del self._waits[wait]
        if self._stopping:
            raise ShuttingDown
        if wait.interrupted:
            raise Interrupted
        return not scope.cancelled_caught

    async def watch(self) -> None:
        """Look at the callers, for ever."""
        thorough: Iterator[Wait] = iter(())
        search_at = -math.inf
        while True:
            if not self._waits:
                self._some = trio.Event()
                await self._some.wait()
            await trio.sleep(LOOK_SECONDS)
            await self._look_at_all()
            thorough = self._look_thoroughly(thorough)
            if trio.current_time() >= search_at:
                await self._look_for_others()
                search_at = trio.current_time() + SEARCH_SECONDS

    async def _look_at_all(self) -> None:
        for number, wait in enumerate(list(self._waits)):
            if number % LOOKS_PER_TURN == LOOKS_PER_TURN - 1:
                await trio.lowlevel.checkpoint()
            if wait.caller.is_dying():
                _interrupt(wait)

    def _look_thoroughly(self, waits: Iterator[Wait]) -> Iterator[Wait]:
        """Look at the next few of *waits*, and return those that are left."""
        for _ in range(min(THOROUGH_LOOKS, len(self._waits))):
            wait = next(waits, None)
            if wait is None:
                waits = iter(list(self._waits))
                wait = next(waits, None)
            if wait is not None and wait in self._waits and wait.caller.has_signal():
                _interrupt(wait)
        return waits

    async def _look_for_others(self) -> None:
        elsewhere = {wait.caller: wait for wait in self._waits if wait.caller.is_elsewhere()}
        if not elsewhere:
            return
        for caller in await trio.to_thread.run_sync(self._search, list(elsewhere)):
            _interrupt(elsewhere[caller])


def _interrupt(wait: Wait) -> None:
    wait.interrupted = True
    wait.happened.set()
