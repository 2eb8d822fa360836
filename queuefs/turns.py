"""Who is next: lines of programs that wait for the same thing, such as a message or room for one."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import TYPE_CHECKING, TypeVar

import trio

from queuefs.waiting import Wait, Waiting

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from queuefs.message import QueueId
    from queuefs.waiting import Caller

T = TypeVar("T")

#: Where other daemons share the store, news of it may be missed; so the first in a line looks again after this time,
#: seconds.
RECHECK_SECONDS = 2.0


class Turns:
    """For each queue a line, served first come, first served.

    A wake-up goes to the first in line; who was served passes it on, since there may be more, and so does who leaves
    without having used it. So as many look as there is something for, and one more: not all of a thousand.
    """

    def __init__(self, waiting: Waiting, *, recheck: bool) -> None:
        """Wait by *waiting*; *recheck* says that news may be missed."""
        self._waiting = waiting
        self._recheck = RECHECK_SECONDS if recheck else math.inf
        self._lines: dict[QueueId, OrderedDict[Wait, None]] = {}

    async def take(
        self, queue: QueueId, caller: Caller, seconds: float, attempt: Callable[[], Awaitable[T | None]]
    ) -> T | None:
        """Return what *attempt* returns once that is not None; None when *seconds* have passed.

        Args:
            queue: Whose line to stand in.
            caller: The program that waits; it is let go of at the end.
            seconds: How long; infinity is as long as it takes.
            attempt: Tries, without waiting; made when it is this one's turn.

        Raises:
            Interrupted: a signal has reached the caller.
            ShuttingDown: the daemon stops.
            QueueFSError: what *attempt* raises.
        """
        deadline = trio.current_time() + seconds
        line = self._lines.setdefault(queue, OrderedDict())
        wait = Wait(caller)
        line[wait] = None
        try:
            while True:
                first = next(iter(line)) is wait
                if first or wait.happened.is_set():
                    wait.happened = trio.Event()  # what happens during the attempt counts
                    found = await attempt()
                    if found is not None:
                        return found
                left = deadline - trio.current_time()
                if left <= 0:
                    return None
                await self._waiting.until(wait, min(left, self._recheck if first else math.inf))
        finally:
            del line[wait]
            caller.close()
            if not line:
                self._lines.pop(queue, None)
            else:  # used or not, the turn goes to the next: there may be more, and somebody is first now
                self.wake(queue)

    def wake(self, queue: QueueId, count: int = 1) -> None:
        """Give the first *count* in the queue's line that have not been woken yet a turn."""
        for wait in self._lines.get(queue, ()):
            if count <= 0:
                return
            if not wait.happened.is_set():
                wait.happened.set()
                count -= 1

    def wake_all(self, queue: QueueId | None = None) -> None:
        """Give everybody a turn: in one line, or in all."""
        for line in self._lines.values() if queue is None else [self._lines.get(queue, OrderedDict())]:
            for wait in line:
                wait.happened.set()
