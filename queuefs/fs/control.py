"""The control files: one small class for each verb. Adding a file is adding a class, and its name to `CONTROLS`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, ClassVar

from queuefs.fs.access import READ
from queuefs.fs.enqueueing import open_enqueue
from queuefs.fs.reading import DequeueHandle, EventsHandle, MessagesHandle, TextHandle, WaitHandle
from queuefs.fs.writing import ClearHandle, ConfigHandle, CtlLines, LinesHandle, SettleLines
from queuefs.lifecycle import Verb
from queuefs.message import Counts
from queuefs.options import (
    DequeueOptions,
    EnqueueOptions,
    EventsOptions,
    ExtendOptions,
    MessagesOptions,
    NackOptions,
    Options,
    PeekOptions,
    WaitOptions,
)
from queuefs.render import counts_line, line_bound, size_line, stats_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from queuefs.fs.handles import Handle, Opening
    from queuefs.longtext import Texts
    from queuefs.message import QueueId
    from queuefs.service import Service

#: The permission bits for writing, for all.
WRITE = 0o222

READING = frozenset({os.O_RDONLY})
WRITING = frozenset({os.O_WRONLY})

#: Sizes that are no multiple of a page: GNU `wc -c` believes any other size without a look at the content.
_PAGE = 4096


class ControlFile:
    """One verb as a file; *options* are an instance of its `options`."""

    name: ClassVar[str]
    #: What may stand after a comma.
    options: ClassVar[type[Options]] = Options
    #: How it may be opened: of O_RDONLY, O_WRONLY and O_RDWR.
    access: ClassVar[frozenset[int]]
    #: Whether its whole text is made when its name is looked up, so that its size is exact.
    has_text: ClassVar[bool] = False
    #: Whether programs may open it that open whatever they find, see `queuefs.fs.walkers`.
    for_walkers: ClassVar[bool] = True

    def mode(self, queue_mode: int) -> int:
        """Return its permission bits: who may write a queue may use the verbs that change it, in either direction."""
        write = queue_mode & WRITE
        readable = not self.access.isdisjoint({os.O_RDONLY, os.O_RDWR})
        writable = not self.access.isdisjoint({os.O_WRONLY, os.O_RDWR})
        return (write if writable else 0) | (write << 1 if readable else 0)

    async def text(self, service: Service, queue: QueueId, options: Any) -> bytes | Texts:
        """Return what reading gives now (where `has_text`)."""
        raise NotImplementedError

    async def size(self, service: Service, queue: QueueId, options: Any) -> int:  # noqa: ARG002 - most need none
        """Return the size to show where the text is not made yet: 0 for what is written, else a bound, bytes."""
        return 0

    async def open(self, opening: Opening, options: Any) -> Handle:
        """Open it."""
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

    async def open(self, opening: Opening, options: Any) -> Handle:
        """Show the text of the look-up, or what there is at the first read."""
        return TextHandle(opening.text, lambda: self.text(opening.service, opening.queue, options))


class Status(Showing):
    """`status`: both counts."""

    name = "status"

    async def text(self, service: Service, queue: QueueId, options: Any) -> bytes:  # noqa: ARG002
        """Return the counts as JSON."""
        return counts_line(await service.counts(queue))


class Size(Showing):
    """`size`: the number pending."""

    name = "size"

    async def text(self, service: Service, queue: QueueId, options: Any) -> bytes:  # noqa: ARG002
        """Return the number pending."""
        return size_line(await service.counts(queue))


class Stats(Showing):
    """`stats`: all counts and totals."""

    name = "stats"

    async def text(self, service: Service, queue: QueueId, options: Any) -> bytes:  # noqa: ARG002
        """Return them as one JSON object."""
        return stats_line(await service.stats(queue), service.clock)


class Peek(Showing):
    """`peek`: the next messages, left where they are."""

    name = "peek"
    options = PeekOptions

    async def text(self, service: Service, queue: QueueId, options: PeekOptions) -> bytes | Texts:
        """Return the next messages' lines, or their payloads; nothing when there is none."""
        return await service.peek(queue, options)


class Messages(Looking):
    """`messages`: all unacknowledged ones."""

    name = "messages"
    options = MessagesOptions

    async def size(self, service: Service, queue: QueueId, options: MessagesOptions) -> int:
        """Return a bound with room for as much again, since more may come before the first read."""
        if options.dead:
            dead = (await service.messages(queue, dead=True)).total
            return no_page(2 * line_bound(dead.bytes, dead.messages) + 1024 * 1024)
        return await _bound_of_all(service, queue)

    async def open(self, opening: Opening, options: MessagesOptions) -> Handle:
        """List the messages."""
        return MessagesHandle(opening, dead=options.dead)


class Wait(Looking):
    """`wait`: block until the queue is complete."""

    name = "wait"
    options = WaitOptions
    for_walkers = False

    async def size(self, service: Service, queue: QueueId, options: WaitOptions) -> int:  # noqa: ARG002
        """Return the exact size: it can only say that nothing is left."""
        return len(counts_line(Counts(0, 0)))

    async def open(self, opening: Opening, options: WaitOptions) -> Handle:
        """Wait."""
        return WaitHandle(opening, options)


class Events(Looking):
    """`events`: what happens, a line each."""

    name = "events"
    options = EventsOptions
    for_walkers = False

    async def open(self, opening: Opening, options: EventsOptions) -> Handle:
        """Listen."""
        return EventsHandle(opening, options)


class Dequeue(ControlFile):
    """`dequeue`: claim the next messages by reading them."""

    name = "dequeue"
    options = DequeueOptions
    access = READING
    for_walkers = False

    async def size(self, service: Service, queue: QueueId, options: DequeueOptions) -> int:
        """Return a bound: a reader that splices asks for no more than the size it was told."""
        one = line_bound((await service.config(queue)).max_message_bytes)
        return no_page(one) if options.count == 1 else max(no_page(one), await _bound_of_all(service, queue))

    async def open(self, opening: Opening, options: DequeueOptions) -> Handle:
        """Prepare a claim."""
        return DequeueHandle(opening.service.deliver(opening.queue, options, opening.caller, may_wait=opening.may_wait))


class Enqueue(ControlFile):
    """`enqueue`: what is written until the last close is one message; reading back gives its id."""

    name = "enqueue"
    options = EnqueueOptions
    access = frozenset({os.O_WRONLY, os.O_RDWR})

    async def open(self, opening: Opening, options: EnqueueOptions) -> Handle:
        """Begin a message, or enqueue an empty one."""
        return await open_enqueue(opening, options)


class Settling(ControlFile):
    """A verb that takes ids or receipts, one a line."""

    access = WRITING
    verb: ClassVar[Verb]

    async def open(self, opening: Opening, options: Options) -> Handle:
        """Take lines."""
        return LinesHandle(SettleLines(opening, self.verb, options), opening)


class Ack(Settling):
    """`ack`: done with these."""

    name = "ack"
    verb = Verb.ACK


class Nack(Settling):
    """`nack`: give these back."""

    name = "nack"
    options = NackOptions
    verb = Verb.NACK


class Extend(Settling):
    """`extend`: these need more time."""

    name = "extend"
    options = ExtendOptions
    verb = Verb.EXTEND


class Clear(ControlFile):
    """`clear`: remove everything that is unacknowledged."""

    name = "clear"
    access = WRITING

    async def open(self, opening: Opening, options: Any) -> Handle:  # noqa: ARG002
        """Wait for a write."""
        return ClearHandle(opening)

    async def truncate(self, service: Service, queue: QueueId) -> None:
        """Clear."""
        await service.clear(queue)


class Config(ControlFile):
    """`config`: the queue's settings; who may look at the queue may read them, who may write it may change them."""

    name = "config"
    access = frozenset({os.O_RDONLY, os.O_WRONLY, os.O_RDWR})
    has_text = True

    def mode(self, queue_mode: int) -> int:
        """Return the queue's r and w bits."""
        return queue_mode & (READ | WRITE)

    async def text(self, service: Service, queue: QueueId, options: Any) -> bytes:  # noqa: ARG002
        """Return all keys with their values."""
        return (await service.config(queue)).text()

    async def open(self, opening: Opening, options: Any) -> Handle:
        """Show and change."""
        return ConfigHandle(opening, lambda: self.text(opening.service, opening.queue, options))


class Ctl(ControlFile):
    """`ctl`: the rarer verbs, one a line."""

    name = "ctl"
    access = WRITING

    async def open(self, opening: Opening, options: Any) -> Handle:  # noqa: ARG002
        """Take lines."""
        return LinesHandle(CtlLines(opening), opening)


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
    Stats(),
    Messages(),
    Clear(),
    Wait(),
    Events(),
    Config(),
    Ctl(),
)

_BY_NAME = {control.name: control for control in CONTROLS}


def find_control(name: str) -> tuple[ControlFile, str | None] | None:
    """Return the control file that *name* means and the options in it; None if it means none."""
    return find_in(_BY_NAME, name)


def find_in(files: Mapping[str, ControlFile], name: str) -> tuple[ControlFile, str | None] | None:
    """Return which of *files* is meant by *name*, and the options in it; None if none is."""
    verb, comma, options = name.partition(",")
    found = files.get(verb)
    return None if found is None else (found, options if comma else None)


async def _bound_of_all(service: Service, queue: QueueId) -> int:
    """Return a bound of all messages' lines, and of as many again."""
    counts = await service.counts(queue)
    payloads = await service.unacked_bytes(queue)
    return no_page(2 * line_bound(payloads, counts.unacked) + 1024 * 1024)


def no_page(size: int) -> int:
    """Return *size*, or a little more, that is no multiple of a page: any other size GNU `wc -c` believes."""
    return size + 1 if size % _PAGE == 0 else size
