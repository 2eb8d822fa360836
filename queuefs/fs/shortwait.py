"""A shorter way to wait for the kernel's next request.

pyfuse3 takes a lock and a round through trio's event loop for each request, which is four fifths of what a small
request costs (measured with pyfuse3 3.5.0, trio 0.35: open, write and close take 66 us as it comes and 14 us so). Here
a request that is already there is taken at once, as long as the loop has had its turn within the last 5 ms.

It cures a freeze as well: pyfuse3 believes the event loop that a request is there and reads with the GIL held; when
another task has taken the request, or its sender was killed meanwhile, that read blocks the whole process until the
next request comes. So after each real wait the file is asked once more.

It replaces `pyfuse3._wait_fuse_readable`, a global that pyfuse3 looks up for each request; tried with pyfuse3
3.5.0. `QUEUEFS_SHORT_WAIT=0` in the environment leaves pyfuse3 as it is.
"""

from __future__ import annotations

import os
import select
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyfuse3
import structlog

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

log = structlog.get_logger(__name__)

#: For so long requests may be taken without the event loop having its turn, seconds: timers, the back end's answers
#: and the other tasks wait no longer than this.
SLICE_SECONDS = 0.005

_HOOK = "_wait_fuse_readable"


class ShortWait:
    """Waits for the next request on behalf of one of pyfuse3's worker tasks."""

    def __init__(self, fuse_fd: int, original: Callable[[], Awaitable[bool]]) -> None:
        """Wait on *fuse_fd*, and by *original* when nothing is there."""
        self._original = original
        self._is_readable = select.poll()
        self._is_readable.register(fuse_fd, select.POLLIN)
        self._last_turn = 0.0
        #: Worker tasks that wait in the original. pyfuse3 starts another worker whenever it sees none there, so one
        #: has to be there while requests are taken at once.
        self._parked = 0

    async def __call__(self) -> bool:
        """Return True when a request is there, False when the session ends."""
        if self._parked and time.monotonic() - self._last_turn < SLICE_SECONDS and self._is_readable.poll(0):
            return True
        self._parked += 1
        try:
            while await self._original():
                self._last_turn = time.monotonic()
                if self._is_readable.poll(0):
                    return True
            return False
        finally:
            self._parked -= 1


@contextmanager
def short_wait() -> Iterator[None]:
    """Put the short wait in place for the mount that `pyfuse3.init` has made."""
    original = getattr(pyfuse3, _HOOK, None)
    if os.environ.get("QUEUEFS_SHORT_WAIT") == "0":
        original = None
    elif original is None:
        log.warning("this pyfuse3 waits in another way: requests will be slow", pyfuse3=pyfuse3.__version__)
    if original is None:
        yield
        return
    setattr(pyfuse3, _HOOK, ShortWait(_fuse_fd(), original))
    try:
        yield
    finally:
        setattr(pyfuse3, _HOOK, original)


def _fuse_fd() -> int:
    """Return the descriptor of the session, which pyfuse3 keeps to itself."""
    fds = [int(entry.name) for entry in Path("/proc/self/fd").iterdir() if _target(entry) == "/dev/fuse"]
    return max(fds)


def _target(entry: Path) -> str | None:
    try:
        return str(entry.readlink())
    except OSError:  # closed since it was listed
        return None
