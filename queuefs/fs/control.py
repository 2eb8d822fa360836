"""The control files: one small class for each verb. Adding a file is adding a class, and its name to `CONTROLS`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, ClassVar

from queuefs.errors import BadValue
from queuefs.fs.handles import (
    ClearHandle,
    DequeueHandle,
    EnqueueHandle,
    Handle,
    MessagesHandle,
    SettleHandle,
    TextHandle,
)
from queuefs.lifecycle import Verb
from queuefs.render import counts_line, line_bound, message_line, size_line

if TYPE_CHECKING:
    from queuefs.message import QueueId
    from queuefs.service import Service

#: The permission bits for reading and for writing, for all.
READ = 0o444
WRITE = 0o222

READING = frozenset({os.O_RDONLY})
WRITING = frozenset({os.O_WRONLY})

#: Sizes that are no multiple of a page: GNU `wc -c` believes any other size without a look at the content.
_PAGE = 4096


class ControlFile:
    """One verb as a file."""

    name: ClassVar[str]
    #: How it may be opened: of O_RDONLY, O_WRONLY and O_RDWR.
    access: ClassVar[frozenset[int]]
    #: Whether its whole text is made when its name is looked up, so that its size is exact.
    has_text: ClassVar[bool] = False

    def mode(self, queue_mode: int) -> int:
        """Return its permission bits: who may write a queue may use the verbs that change it, in either direction."""
        write = queue_mode & WRITE
        readable = not self.access.isdisjoint({os.O_RDONLY, os.O_RDWR})
        writable = not self.access.isdisjoint({os.O_WRONLY, os.O_RDWR})
        return (write if writable else 0) | (write << 1 if readable else 0)

    async def text(self, service: Service, queue: QueueId) -> bytes:
        """Return what reading gives now (where `has_text`)."""
        raise NotImplementedError

    async def size(self, service: Service, queue: QueueId) -> int:  # noqa: ARG002 - what most have no use for
        """Return the size to show where the text is not made yet: 0 for what is written, else a bound, bytes."""
        return 0

    def open(self, service: Service, queue: QueueId, text: bytes | None, pid: int, flags: int) -> Handle:
        """Open it with *flags* for the thread *pid*; *text* is what the look-up made."""
        raise NotImplementedError

    async def truncate(self, service: Service, queue: QueueId) -> None:
        """Answer a truncation, as by ``>`` in a shell; most verbs have nothing to do."""


class Looking(ControlFile):
    """A verb that shows something and changes nothing: the queue's r bits count."""

    access = READING

    def mode(self, queue_mode: int) -> int:
        """Return the queue's r bits."""
        return queue_mode & READ


class Showing(Looking):
    """A verb whose text is known when its name is looked up."""

    has_text = True

    def open(self, service: Service, queue: QueueId, text: bytes | None, pid: int, flags: int) -> Handle:  # noqa: ARG002
        """Show *text*, or what there is at the first read."""
        return TextHandle(text, lambda: self.text(service, queue))


class Status(Showing):
    """`status`: both counts."""

    name = "status"

    async def text(self, service: Service, queue: QueueId) -> bytes:
        """Return the counts as JSON."""
        return counts_line(await service.counts(queue))


class Size(Showing):
    """`size`: the number pending."""

    name = "size"

    async def text(self, service: Service, queue: QueueId) -> bytes:
        """Return the number pending."""
        return size_line(await service.counts(queue))


class Peek(Showing):
    """`peek`: the next message, left where it is."""

    name = "peek"

    async def text(self, service: Service, queue: QueueId) -> bytes:
        """Return the next message's line; nothing when there is none."""
        message = await service.peek(queue)
        return b"" if message is None else message_line(message, service.clock)


class Messages(Looking):
    """`messages`: all unacknowledged ones."""

    name = "messages"

    async def size(self, service: Service, queue: QueueId) -> int:
        """Return a bound with room for as much again, since more may come before the first read."""
        counts = await service.counts(queue)
        payloads = await service.unacked_bytes(queue)
        return _no_page(2 * line_bound(payloads, counts.unacked) + 1024 * 1024)

    def open(self, service: Service, queue: QueueId, text: bytes | None, pid: int, flags: int) -> Handle:  # noqa: ARG002
        """List the messages."""
        return MessagesHandle(service, queue)


class Dequeue(ControlFile):
    """`dequeue`: claim the next message by reading it."""

    name = "dequeue"
    access = READING

    async def size(self, service: Service, queue: QueueId) -> int:  # noqa: ARG002
        """Return a bound: a reader that splices asks for no more than the size it was told."""
        return _no_page(line_bound(service.max_message_bytes))

    def open(self, service: Service, queue: QueueId, text: bytes | None, pid: int, flags: int) -> Handle:  # noqa: ARG002
        """Prepare a claim."""
        return DequeueHandle(service.deliver(queue))


class Enqueue(ControlFile):
    """`enqueue`: what is written until the last close is one message; reading back gives its id."""

    name = "enqueue"
    access = frozenset({os.O_WRONLY, os.O_RDWR})

    def open(self, service: Service, queue: QueueId, text: bytes | None, pid: int, flags: int) -> Handle:  # noqa: ARG002
        """Begin a message."""
        return EnqueueHandle(service.stage(queue), pid, appends=bool(flags & os.O_APPEND), instant=service.instant)


class Settling(ControlFile):
    """A verb that takes ids or receipts, one a line."""

    access = WRITING
    verb: ClassVar[Verb]

    def open(self, service: Service, queue: QueueId, text: bytes | None, pid: int, flags: int) -> Handle:  # noqa: ARG002
        """Take lines."""
        return SettleHandle(service, queue, self.verb, pid)


class Ack(Settling):
    """`ack`: done with these."""

    name = "ack"
    verb = Verb.ACK


class Nack(Settling):
    """`nack`: give these back."""

    name = "nack"
    verb = Verb.NACK


class Extend(Settling):
    """`extend`: these need more time."""

    name = "extend"
    verb = Verb.EXTEND


class Clear(ControlFile):
    """`clear`: remove everything that is unacknowledged."""

    name = "clear"
    access = WRITING

    def open(self, service: Service, queue: QueueId, text: bytes | None, pid: int, flags: int) -> Handle:  # noqa: ARG002
        """Wait for a write."""
        return ClearHandle(service, queue)

    async def truncate(self, service: Service, queue: QueueId) -> None:
        """Clear."""
        await service.clear(queue)


#: Every control file, in the order in which a directory lists them.
CONTROLS: tuple[ControlFile, ...] = (
    Enqueue(),
    Dequeue(),
    Ack(),
    Nack(),
    Extend(),
    Peek(),
    Size(),
    Status(),
    Messages(),
    Clear(),
)

_BY_NAME = {control.name: control for control in CONTROLS}


def find_control(name: str) -> tuple[ControlFile, str | None] | None:
    """Return the control file that *name* means and the options in it; None if it means none."""
    verb, comma, options = name.partition(",")
    control = _BY_NAME.get(verb)
    return None if control is None else (control, options if comma else None)


def check_options(control: ControlFile, options: str | None) -> None:
    """Refuse options the verb does not have.

    Raises:
        BadValue: at the open, since ENOENT at the look-up would mislead.
    """
    if options is not None:
        raise BadValue(f"{control.name} has no option {options!r}")


def _no_page(size: int) -> int:
    return size + 1 if size % _PAGE == 0 else size
