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


class _Line:
    """Who waits for one thing in one queue."""

    def __init__(self) -> None:
        #: In the order in which they came; True while its attempt is under way.
        self.waits: OrderedDict[Wait, bool] = OrderedDict()
        #: How many may try because of news.
        self._chances = 0
        #: Whether one may try although nothing is known: there may be more than was told.
        self._may_look = False
        #: Who looks. News that comes meanwhile is for him first, since his look may have been too early for it.
        self._looking: Wait | None = None

    def _first_idle(self) -> Wait | None:
        return next((wait for wait, is_trying in self.waits.items() if not is_trying), None)

    def join(self, wait: Wait) -> None:
        """Stand at the end; who finds nobody idle before him may try at once."""
        if self._first_idle() is None:
            self._chances += 1
        self.waits[wait] = False

    def add_chances(self, count: int) -> None:
        """Let *count* try, as far as there are so many."""
        self._chances = min(self._chances + count, len(self.waits))
        self.wake_next()

    def look(self) -> None:
        """Let one try without news."""
        self._may_look = True
        self.wake_next()

    def wake_next(self) -> None:
        """Wake the first who is idle if he may try; he wakes the next once he tries."""
        first = self._first_idle()
        if first is not None and self.may_try(first):
            first.happened.set()

    def may_try(self, wait: Wait) -> bool:
        """Return whether it is the turn of *wait*."""
        if self._looking is not None or not (self._chances or self._may_look):
            return False
        return self._first_idle() is wait

    def begin(self, wait: Wait) -> None:
        """Use a chance, or look."""
        if self._chances:
            self._chances -= 1
        else:
            self._may_look = False
            self._looking = wait
        self.waits[wait] = True
        wait.happened = trio.Event()  # what happens during the attempt counts
        self.wake_next()

    def end(self, wait: Wait) -> None:
        """Be idle again."""
        self.waits[wait] = False
        if self._looking is wait:
            self._looking = None


class Turns:
    """For each queue a line, served first come, first served.

    News gives the line as many chances as there is something for. A chance goes to the first who is not trying yet,
    and only when his attempt is under way the next is woken: attempts take effect in the order in which they are made
    (see `queuefs.backend`). Who was served, and who leaves, lets the next one look as well, since there may be more
    than was told.
    """

    def __init__(self, waiting: Waiting, *, recheck: bool) -> None:
        """Wait by *waiting*; *recheck* says that news may be missed."""
        self._waiting = waiting
        self._recheck = RECHECK_SECONDS if recheck else math.inf
        self._lines: dict[QueueId, _Line] = {}

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
        line = self._lines.setdefault(queue, _Line())
        wait = Wait(caller)
        line.join(wait)
        try:
            while True:
                while line.may_try(wait):
                    line.begin(wait)
                    try:
                        found = await attempt()
                    finally:
                        line.end(wait)
                    if found is not None:
                        return found
                left = deadline - trio.current_time()
                if left <= 0:
                    return None
                is_first = next(iter(line.waits)) is wait
                if not await self._waiting.until(wait, min(left, self._recheck if is_first else math.inf)):
                    line.look()
                wait.happened = trio.Event()
        finally:
            del line.waits[wait]
            caller.close()
            if line.waits:
                line.look()
            else:
                self._lines.pop(queue, None)

    def wake(self, queue: QueueId, count: int = 1) -> None:
        """Give *count* in the queue's line a chance."""
        if queue in self._lines:
            self._lines[queue].add_chances(count)

    def wake_all(self, queue: QueueId | None = None) -> None:
        """Give everybody a chance: in one line, or in all."""
        for line in list(self._lines.values()) if queue is None else [self._lines.get(queue, _Line())]:
            line.add_chances(len(line.waits))
