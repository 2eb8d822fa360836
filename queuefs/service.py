"""The verbs as calls: what a lease is, whose turn it is and what an error means, whatever the store."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import structlog

from queuefs.backend import Settled
from queuefs.config import Config, OnFull, Order
from queuefs.delivery import Delivery
from queuefs.errors import (
    KeyInUse,
    MessageCancelled,
    MessageNotFound,
    QueueFSError,
    ShuttingDown,
    StaleReceipt,
    WaitTimedOut,
    WouldBlock,
)
from queuefs.lifecycle import Verb
from queuefs.listing import Listing
from queuefs.message import Draft, Ref, Room, Verdict
from queuefs.options import EnqueueOptions
from queuefs.retry import overdue_verdict, returned_verdict
from queuefs.stage import Stage
from queuefs.writing import LineStage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from queuefs.backend import Backend, Overdue
    from queuefs.clock import Clock
    from queuefs.events import Events
    from queuefs.handover import Handover
    from queuefs.message import Counts, Message, MessageId, QueueId, Stats
    from queuefs.options import DequeueOptions, NackOptions
    from queuefs.tree import Tree
    from queuefs.turns import Turns
    from queuefs.upkeep import Upkeep
    from queuefs.waiting import Caller

log = structlog.get_logger(__name__)
