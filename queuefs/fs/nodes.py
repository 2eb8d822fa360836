"""What an inode number stands for."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from queuefs.fs.control import ControlFile
    from queuefs.message import Queue, QueueId


@dataclass(frozen=True, slots=True)
class QueueDirectory:
    """The directory of a queue, or the root."""

    queue: QueueId


@dataclass(slots=True)
class VerbFile:
    """A control file as one caller sees it (or as all do, where callers share it)."""

    queue: QueueId
    control: ControlFile
    #: What stands after the comma of its name; None without a comma.
    options: str | None
    #: The calling thread, 0 if it can't be seen; None where all callers share the inode.
    caller: int | None
    #: What the caller will read, where it is made when the name is looked up, and its size, bytes.
    text: bytes | None = field(default=None, repr=False)
    size: int = 0
    #: The queue as it was at the last look.
    record: Queue | None = field(default=None, repr=False)
    #: How often it is open, by the thread that opened it.
    openers: Counter[int] = field(default_factory=Counter, repr=False)


Node = QueueDirectory | VerbFile
