"""Lets leases end in time: one task that does what is due and sleeps until something is due again."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import structlog
import trio

from queuefs.errors import BackendError

if TYPE_CHECKING:
    from queuefs.backend import Backend, Tick
    from queuefs.clock import Clock

log = structlog.get_logger(__name__)

#: Messages per round, so that other calls get their turn in between (500 take about 4 ms on SQLite, 2 ms on Redis).
ROUND_LIMIT = 500

#: The longest sleep, seconds: trio's clock stands still while the machine is suspended, leases do not.
LONGEST_SLEEP_SECONDS = 30.0

#: Seconds until the next look at a back end that failed.
PAUSE_AFTER_FAILURE_SECONDS = 1.0


class Upkeep:
    """Runs `Backend.tick` whenever something is due, and keeps the store's clock mark fresh."""

    def __init__(self, backend: Backend, clock: Clock) -> None:
        """Look after *backend* by *clock*."""
        self._backend = backend
        self._clock = clock
        self._wake_at = math.inf
        self._sooner = trio.Event()
        self._failing = False

    def lease_given(self, seconds: float) -> None:
        """Take note that a lease of *seconds* began now, so that its end is not slept over."""
        ends = trio.current_time() + seconds
        if ends < self._wake_at:
            self._wake_at = ends
            self._sooner.set()

    async def run(self) -> None:
        """Do what is due, for ever."""
        while True:
            self._wake_at = math.inf  # leases given during the round count from here
            pause = await self._round()
            self._wake_at = min(self._wake_at, trio.current_time() + pause)
            self._sooner = trio.Event()
            while (left := self._wake_at - trio.current_time()) > 0:
                with trio.move_on_after(left):
                    await self._sooner.wait()
                self._sooner = trio.Event()

    async def _round(self) -> float:
        """Do one round; return the seconds until the next."""
        try:
            tick = await self._backend.tick(now=self._clock.now(), limit=ROUND_LIMIT)
            if tick.next_due is not None:
                await self._backend.save_clock(self._clock.mark())
        except BackendError as error:
            if not self._failing:
                log.warning("back end failed", reason=str(error))
            self._failing = True
            return PAUSE_AFTER_FAILURE_SECONDS
        except Exception:  # one bug must not end the mount, and this task is a part of it
            log.exception("a bug in QueueFS")
            return LONGEST_SLEEP_SECONDS
        if self._failing:
            log.info("back end is back")
        self._failing = False
        _report(tick)
        return min(LONGEST_SLEEP_SECONDS if tick.next_due is None else tick.next_due, LONGEST_SLEEP_SECONDS)


def _report(tick: Tick) -> None:
    for queue, message in tick.expired:
        log.info("lease ended", queue=queue, id=message)
    for queue, message in tick.adopted:
        log.info("published for a dead daemon", queue=queue, id=message)
