"""What an inode number stands for."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from queuefs.message import ROOT

if TYPE_CHECKING:
    from queuefs.fs.control import ControlFile
    from queuefs.lifecycle import State
    from queuefs.message import Message, Queue, QueueId, Record


@dataclass(frozen=True, slots=True)
class QueueDirectory:
    """The directory of a queue, or the root."""

    queue: QueueId


@dataclass(frozen=True, slots=True)
class StateDirectory:
    """The directory of a queue's messages of one state."""

    queue: QueueId
    state: State


@dataclass(frozen=True, slots=True)
class AboutDirectory:
    """The directory about the mount, which belongs to the root."""

    queue: QueueId = ROOT


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


@dataclass(slots=True)
class MessageFile:
    """A message that is pending, in processing or dead, wherever it goes: its payload is the same for ever."""

    queue: QueueId
    #: As it was at the last look.
    message: Message = field(repr=False)


@dataclass(slots=True)
class RecordFile:
    """The record of a message that is done; it never changes."""

    queue: QueueId
    record: Record = field(repr=False)
    text: bytes = field(repr=False)


Directory = QueueDirectory | StateDirectory | AboutDirectory
File = VerbFile | MessageFile | RecordFile
Node = Directory | File
