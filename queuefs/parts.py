"""What the service of one store is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from queuefs.backend import Backend
    from queuefs.clock import Clock
    from queuefs.configs import Configs
    from queuefs.events import Events
    from queuefs.handover import Handover
    from queuefs.lobby import Lobby
    from queuefs.upkeep import Upkeep
    from queuefs.waiting import Waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts that all verbs use."""

    #: The store.
    backend: Backend
    #: The store's time.
    clock: Clock
    #: What each queue's config says.
    configs: Configs
    #: Finishes what closes leave to be done.
    handover: Handover
    #: Is told of every transition.
    events: Events
    #: Where programs wait.
    lobby: Lobby
    #: Does what is due.
    upkeep: Upkeep
    #: All waits under way.
    waiting: Waiting
