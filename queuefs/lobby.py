"""Where programs wait: one line for messages, one for room, one for completion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from queuefs.lifecycle import Verb

if TYPE_CHECKING:
    from queuefs.message import QueueId
    from queuefs.turns import Turns

#: What can make a message claimable.
FEEDS = frozenset({Verb.PUBLISH, Verb.UNDO, Verb.EXPIRE, Verb.NACK, Verb.RETRY, Verb.RESUME})

#: What can make room, and a queue complete: what comes back included, for a cancelled message is gone then.
DRAINS = frozenset(
    {
        Verb.UNDO,
        Verb.EXPIRE,
        Verb.NACK,
        Verb.ACK,
        Verb.BURY,
        Verb.MOVE,
        Verb.CANCEL,
        Verb.LAPSE,
        Verb.CLEAR,
        Verb.DISCARD,
        Verb.REPEAT,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lobby:
    """The lines in which programs wait."""

    #: For messages.
    claims: Turns
    #: For room.
    room: Turns
    #: For completion.
    completion: Turns

    def heed(self, queue: QueueId | None, verb: Verb | None, count: int) -> None:
        """Wake those for whom a transition may be what they wait for; None is any queue, or anything that changed."""
        if verb is None:
            for turns in (self.claims, self.room, self.completion):
                turns.wake_all(queue)
            return
        if queue is None:
            return
        if verb in FEEDS:
            self.claims.wake(queue, count)
        if verb in DRAINS:
            self.room.wake(queue, count)
            self.completion.wake_all(queue)
