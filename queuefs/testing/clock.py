"""A machine whose clocks stand still until a test moves them."""

from __future__ import annotations


class ManualMachine:
    """Clocks for `queuefs.clock.Clock` that a test moves."""

    def __init__(self, *, uptime: float = 1_000.0, wall: float = 1_700_000_000.0) -> None:
        """Start *uptime* seconds after the first boot, at *wall* Unix seconds."""
        self._boots = 1
        self._uptime = uptime
        self._wall = wall

    def boot_id(self) -> str:
        """Return what changes at each boot."""
        return f"boot-{self._boots}"

    def uptime(self) -> float:
        """Return seconds since boot."""
        return self._uptime

    def wall(self) -> float:
        """Return Unix seconds."""
        return self._wall

    def pass_time(self, seconds: float) -> None:
        """Let all clocks go on by *seconds*."""
        self._uptime += seconds
        self._wall += seconds

    def set_wall(self, wall: float) -> None:
        """Let the wall clock jump, as an administrator or NTP would."""
        self._wall = wall

    def reboot(self, *, uptime: float = 0.0) -> None:
        """Boot anew, *uptime* seconds ago; the wall clock stays where it is."""
        self._boots += 1
        self._uptime = uptime
