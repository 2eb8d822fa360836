"""Lets leases end in time: one task that does what is due and sleeps until something is due again."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import structlog
import trio

from queuefs import retry
from queuefs.backend import Settled
from queuefs.errors import BackendError, QueueNotFound
from queuefs.lifecycle import Verb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuefs.backend import Backend, Overdue, Tick
    from queuefs.clock import Clock
    from queuefs.configs import Configs
    from queuefs.events import Events
    from queuefs.message import QueueId

log = structlog.get_logger(__name__)

#: Messages per round, so that other calls get their turn in between (500 take about 4 ms on SQLite, 2 ms on Redis).
ROUND_LIMIT = 500

#: The longest sleep, seconds: trio's clock stands still while the machine is suspended, leases do not.
LONGEST_SLEEP_SECONDS = 30.0

#: Seconds until the next look at a back end that failed.
PAUSE_AFTER_FAILURE_SECONDS = 1.0


class Upkeep:
    """Runs `Backend.tick` whenever something is due, and keeps the store's clock mark fresh."""

    def __init__(self, backend: Backend, clock: Clock, configs: Configs, events: Events) -> None:
        """Look after *backend* by *clock*; *configs* say what becomes of a lost claim, and *events* is told."""
        self._backend = backend
        self._clock = clock
        self._configs = configs
        self._events = events
        self._wake_at = math.inf
        self._sooner = trio.Event()
        #: Why the back end fails, at the last look; None if it does not.
        self.failure: str | None = None

    def due_in(self, seconds: float) -> None:
        """Take note that something is due in *seconds*, so that it is not slept over."""
        at = trio.current_time() + seconds
        if at < self._wake_at:
            self._wake_at = at
            self._sooner.set()

    async def run(self) -> None:
        """Do what is due, for ever."""
        while True:
            self._wake_at = math.inf  # what is noted during the round counts from here
            pause = await self.round()
            self._wake_at = min(self._wake_at, trio.current_time() + pause)
            self._sooner = trio.Event()
            while (left := self._wake_at - trio.current_time()) > 0:
                with trio.move_on_after(left):
                    await self._sooner.wait()
                self._sooner = trio.Event()

    async def round(self) -> float:
        """Do one round; return the seconds until the next."""
        try:
            tick = await self._backend.tick(now=self._clock.now(), limit=ROUND_LIMIT)
            self._report(tick)
            await self._expire(tick.overdue)
            if tick.next_due is not None:
                await self._backend.save_clock(self._clock.mark())
        except BackendError as error:
            if self.failure is None:
                log.warning("back end failed", reason=str(error))
            self.failure = str(error)
            return PAUSE_AFTER_FAILURE_SECONDS
        except Exception:  # one bug must not end the mount, and this task is a part of it
            log.exception("a bug in QueueFS")
            return LONGEST_SLEEP_SECONDS
        if self.failure is not None:
            log.info("back end is back")
        self.failure = None
        if len(tick.overdue) >= ROUND_LIMIT:
            return 0.0
        return min(LONGEST_SLEEP_SECONDS if tick.next_due is None else tick.next_due, LONGEST_SLEEP_SECONDS)

    async def _expire(self, overdue: Sequence[Overdue]) -> None:
        """Decide what becomes of messages whose lease has ended: in each queue by its config."""
        by_queue: dict[QueueId, list[Overdue]] = {}
        for found in overdue:
            by_queue.setdefault(found.queue, []).append(found)
        for queue, lost in by_queue.items():
            try:
                config = await self._configs.get(queue)
                verdicts = [retry.overdue(config, found) for found in lost]
                settled = await self._backend.expire(queue, verdicts, now=self._clock.now(), keep=config.keep)
            except QueueNotFound:  # removed meanwhile, with all it held
                continue
            for found, verdict, one in zip(lost, verdicts, settled, strict=True):
                if one is Settled.DONE:
                    verb = Verb.CANCEL if found.cancelled else Verb.BURY if verdict.dead else Verb.EXPIRE
                    log.info("lease ended", queue=queue, id=found.receipt.id, attempt=found.attempt, then=verb)
                    self._events.tell(queue, verb, [found.receipt.id])
                    self.due_in(verdict.delay)

    def _report(self, tick: Tick) -> None:
        for queue, message in tick.lapsed:
            log.info("lapsed", queue=queue, id=message)
            self._events.tell(queue, Verb.LAPSE, [message])
        for queue, message in tick.adopted:
            log.info("published for a dead daemon", queue=queue, id=message)
            self._events.tell(queue, Verb.PUBLISH, [message])
        for queue, message in tick.terminated:
            self._events.tell(queue, Verb.TERMINATE, [message])
        for queue in tick.ripe:
            self._events.ripe(queue)
