"""Looks at a mount in rounds that cost the same whatever its size: what is shown, and some of the rest.

A round looks at each queue that is shown. After that it goes on with a walk through all queues, which looks at each and
lists its directory, for a tenth of the time between two rounds; a step that took longer is made up for later. So what
is not shown is as it was a while ago: the board says how long.
"""

from __future__ import annotations

import errno
import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from queuefs.view.board import Sample
from queuefs.view.mounts import NotInAMount, Place, place_of
from queuefs.view.queues import children, is_paused, look

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

#: The part of the time between two rounds that the walk may take.
SHARE = 0.1

#: Seconds that it may take in the first round: a small mount shall be there at once.
FIRST_SECONDS = 0.5

#: What is the matter with one queue, and not with the mount: it was removed, or this user may not look.
_OF_ONE_QUEUE = frozenset({errno.ENOENT, errno.EACCES, errno.EPERM})

_REASONS = {
    errno.ENOTCONN: "its daemon is gone",
    errno.ECONNABORTED: "its daemon is gone",
    errno.ESHUTDOWN: "its daemon is stopping",
    errno.EIO: "its back end failed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What a round found."""

    #: Of all queues that are known by now, by path; None if they are those of the round before.
    names: Mapping[str, str] | None
    #: Of those that were looked at, by path.
    samples: Mapping[str, Sample] = field(default_factory=dict)
    #: Why the mount can't be looked at; None if it can.
    away: str | None = None
    #: Within how many seconds every queue was looked at; None as long as some have not been.
    within: float | None = None


class Watcher:
    """Looks at the queues below a directory of a mount."""

    def __init__(self, base: Place, *, interval: float) -> None:
        """Look below *base* every *interval* seconds."""
        self._base = base
        self._interval = interval
        self._below: dict[str, list[str]] = {}
        self._names: dict[str, str] = {}
        self._samples: dict[str, Sample] = {}
        self._have_changed = True
        self._within: float | None = None
        self._start_anew()

    def _start_anew(self) -> None:
        self._walk = self._steps()
        self._within = None
        #: Seconds that the walk may take before its share; below 0 it took too long.
        self._credit = FIRST_SECONDS

    def round(self, shown: Sequence[str]) -> Round:
        """Look at the queues *shown*, by path, and at some of the others."""
        self._samples = {}
        try:
            if place_of(self._base.path).mount.device != self._base.mount.device:
                self._base = place_of(self._base.path)
                self._start_anew()
            os.statvfs(self._base.path)  # which asks the daemon, and not the kernel's memory of one that has died
            for path in shown:
                self._look(path, config=True)
            self._walk_on()
        except NotInAMount:
            return self._away("nothing is mounted there")
        except OSError as error:
            return self._away(_REASONS.get(error.errno or 0, os.strerror(error.errno or errno.EIO)))
        return Round(names=self._changed_names(), samples=self._samples, within=self._within)

    def all(self) -> Round:
        """Look at all queues, however long it takes.

        Raises:
            OSError: the mount can't be looked at.
        """
        while not next(self._walk):
            pass
        for path in self._names:
            self._look(path, config=True)
        return Round(names=dict(self._names), samples=self._samples)

    def _away(self, reason: str) -> Round:
        self._start_anew()  # with what comes back, which may be another store
        return Round(names=self._changed_names(), away=reason)

    def _changed_names(self) -> dict[str, str] | None:
        if not self._have_changed:
            return None
        self._have_changed = False
        return dict(self._names)

    def _walk_on(self) -> None:
        self._credit += SHARE * self._interval
        begun = time.monotonic()
        while time.monotonic() - begun < self._credit and not next(self._walk):
            pass
        self._credit = min(0.0, self._credit - (time.monotonic() - begun))

    def _steps(self) -> Iterator[bool]:
        """Walk through all queues again and again; after each step, say whether the last one has been looked at."""
        while True:
            begun = time.monotonic()
            waiting = [self._base.path]
            while waiting:
                path = waiting.pop()
                if path != self._base.path and path not in self._samples:
                    self._look(path, config=False)
                    yield False
                waiting += reversed(self._list(path))
                if waiting:
                    yield False
            self._within = max(self._interval, time.monotonic() - begun)
            yield True

    def _look(self, path: str, *, config: bool) -> None:
        try:
            found = look(path)
            paused = is_paused(path) if config else None
        except OSError as error:
            if error.errno not in _OF_ONE_QUEUE:
                raise
        else:
            self._samples[path] = Sample(time.monotonic(), found, paused)

    def _list(self, path: str) -> list[str]:
        """Note and return the queues below *path*."""
        try:
            found = [f"{path}/{name}" for name in children(path)]
        except OSError as error:
            if error.errno not in _OF_ONE_QUEUE or path == self._base.path:
                raise
            found = []
        known = self._below.get(path, [])
        if found == known:
            return found
        for gone in set(known) - set(found):
            self._forget(gone)
        self._below[path] = found
        self._have_changed = True
        start = len(self._base.path)
        self._names.update((below, f"{self._base.name}{below[start:]}".lstrip("/")) for below in found)
        return found

    def _forget(self, path: str) -> None:
        forgotten = [path]
        while forgotten:
            path = forgotten.pop()
            self._names.pop(path, None)
            forgotten += self._below.pop(path, ())
