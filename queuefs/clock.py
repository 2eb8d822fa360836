"""The time by which leases end: it follows the machine's uptime, so a jump of the wall clock moves no deadline.

A store keeps one `ClockMark`. Within one boot every daemon on that store continues the same line of time, measured by
CLOCK_BOOTTIME; after a reboot the line goes on at the wall clock, but never behind the last time the store has seen,
so what is left of a lease is never more than it was.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

#: Two clocks are never read at one instant, and one is slewed: a smaller difference is no new setting.
WALL_CLOCK_WAS_SET_SECONDS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockMark:
    """One moment of a store's time, as it is kept beside the messages."""

    #: The kernel's boot id (/proc/sys/kernel/random/boot_id).
    boot_id: str
    #: CLOCK_BOOTTIME at that moment, seconds.
    uptime: float
    #: The store's time at that moment, Unix seconds.
    at: float


class Machine(Protocol):
    """The clocks of a machine; tests give their own."""

    def boot_id(self) -> str:
        """Return what changes at each boot."""

    def uptime(self) -> float:
        """Return seconds since boot, time asleep included."""

    def wall(self) -> float:
        """Return Unix seconds, as the wall clock has them."""


class ThisMachine:
    """The clocks of the machine we run on."""

    def boot_id(self) -> str:
        """Return the kernel's boot id."""
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()

    def uptime(self) -> float:
        """Return CLOCK_BOOTTIME in seconds."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def wall(self) -> float:
        """Return CLOCK_REALTIME in seconds."""
        return time.time()


class Clock:
    """A store's time."""

    def __init__(self, saved: ClockMark | None, machine: Machine | None = None) -> None:
        """Continue from *saved*, the mark the store kept, or start at the wall clock."""
        self._machine: Machine = machine or ThisMachine()
        boot_id = self._machine.boot_id()
        uptime = self._machine.uptime()
        if saved is not None and saved.boot_id == boot_id:
            at = saved.at + (uptime - saved.uptime)
        elif saved is not None:
            at = max(self._machine.wall(), saved.at)
        else:
            at = self._machine.wall()
        self._boot_id = boot_id
        #: The store's time when the machine's uptime was zero.
        self._origin = at - uptime
        #: How far the wall clock is ahead of the store's time, seconds.
        self._wall_ahead = self._machine.wall() - at

    def now(self) -> float:
        """Return the store's time, Unix seconds."""
        return self._origin + self._machine.uptime()

    def mark(self) -> ClockMark:
        """Return what a store has to keep to continue this clock."""
        uptime = self._machine.uptime()
        return ClockMark(boot_id=self._boot_id, uptime=uptime, at=self._origin + uptime)

    def to_wall(self, at: float) -> float:
        """Return the wall clock's Unix seconds of the store's moment *at*, by the wall clock as it stands now.

        The same moment gives the same seconds each time, unless the wall clock was set.
        """
        return at + self.wall_ahead()

    def wall_ahead(self) -> float:
        """Return how far the wall clock is ahead of the store's time, seconds; for many moments at once."""
        ahead = self._machine.wall() - self.now()
        if abs(ahead - self._wall_ahead) > WALL_CLOCK_WAS_SET_SECONDS:
            self._wall_ahead = ahead
        return self._wall_ahead
