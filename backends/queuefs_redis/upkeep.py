"""The contract's methods of upkeep: what is due, who lives, and what others do."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from queuefs.ticket import Answer
from queuefs_redis import replies
from queuefs_redis.calls import Calls
from queuefs_redis.encoding import microseconds
from queuefs_redis.places import has_ended, this_place
from queuefs_redis.request import Request

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from queuefs.backend import Tick, Transition
    from queuefs.clock import ClockMark
    from queuefs_redis.listening import Listener

#: How often a daemon shows that it lives; the silence after which others take what it staged, and forget it at last.
BEAT_SECONDS = 5.0
_DEAD_SECONDS = 15.0
FORGOTTEN_SECONDS = 3600.0


class Upkeep(Calls):
    """Upkeep."""

    _listener: Listener

    def tick(self, *, now: float, limit: int) -> Awaitable[Tick]:
        """Do what is due."""
        beat = self._submit(
            Request("beat", self.daemon, self._now(now), microseconds(_DEAD_SECONDS), this_place(), decode=_ended)
        )
        done = self._tick(now, limit)

        async def both() -> Tick:
            try:
                ended = await beat
            finally:
                tick = await done
            self._is_new = False
            if not ended:
                return tick
            await self._submit(Request("gone", *ended, decode=replies.nothing))
            again = await self._tick(now, limit)
            return replace(
                again,
                lapsed=[*tick.lapsed, *again.lapsed],
                ripe=list(dict.fromkeys([*tick.ripe, *again.ripe])),
                adopted=[*tick.adopted, *again.adopted],
                terminated=[*tick.terminated, *again.terminated],
            )

        return both()

    def _tick(self, now: float, limit: int) -> Awaitable[Tick]:
        times = (microseconds(_DEAD_SECONDS), microseconds(FORGOTTEN_SECONDS))
        return self._submit(
            Request(
                "tick",
                self._now(now),
                limit,
                *times,
                decode=lambda reply: replies.tick_of(reply, beat=BEAT_SECONDS),
            )
        )

    def listen(self, heard: Callable[[Sequence[Transition]], None]) -> None:
        """Call *heard* with what other daemons do."""
        self._listener.listen(heard)

    def load_clock(self) -> Awaitable[ClockMark | None]:
        """Return the mark that was saved last."""
        if self.traits.server_time:
            return Answer(None)
        return self._submit(Request("load_clock", decode=replies.mark_of))

    def save_clock(self, mark: ClockMark) -> Awaitable[None]:
        """Keep *mark* beside the messages."""
        if self.traits.server_time:
            return Answer(None)
        return self._submit(Request("save_clock", json.dumps(asdict(mark)), decode=replies.nothing))


def _ended(reply: Sequence[bytes]) -> list[bytes]:
    """Return the daemons whose processes are gone, of what `beat.lua` answers."""
    return [daemon for daemon, place in zip(reply[1::2], reply[2::2], strict=True) if has_ended(place.decode())]
