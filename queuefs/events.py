"""Every transition, told to who listens: the lines of waiting programs, and the readers of `events`."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from queuefs.backend import Transition
    from queuefs.lifecycle import Verb
    from queuefs.lobby import Lobby
    from queuefs.message import MessageId, QueueId

#: Lines that a slow reader may be behind before it loses the oldest.
BACKLOG = 1024

_encode = msgspec.json.Encoder().encode


class Reader:
    """What one open of `events` has not read yet."""

    def __init__(self, woken: Callable[[], None]) -> None:
        """Begin with nothing; *woken* is called whenever there is something."""
        self._lines: deque[bytes] = deque()
        self._dropped = 0
        self._woken = woken

    def add(self, line: bytes) -> None:
        """Take a line; the oldest is dropped when there are too many."""
        if len(self._lines) == BACKLOG:
            self._lines.popleft()
            self._dropped += 1
        self._lines.append(line)
        self._woken()

    def take(self) -> bytes:
        """Return all lines there are, after the number of those that were dropped before them."""
        told = b"" if not self._dropped else _encode({"dropped": self._dropped}) + b"\n"
        text = told + b"".join(self._lines)
        self._lines.clear()
        self._dropped = 0
        return text


class Events:
    """Tells of transitions."""

    def __init__(self, lobby: Lobby, now: Callable[[], float]) -> None:
        """Tell *lobby* first; date events by *now*, the wall clock in Unix seconds."""
        self._lobby = lobby
        self._now = now
        self._readers: dict[QueueId, list[Reader]] = {}

    def tell(self, queue: QueueId, verb: Verb, messages: Iterable[MessageId | None]) -> None:
        """Tell that *verb* happened to *messages* of *queue*; None stands for all of them."""
        ids = list(messages)
        if not ids:
            return
        self._lobby.heed(queue, verb, len(ids))
        readers = self._readers.get(queue)
        if readers:
            at = round(self._now(), 6)
            for message in ids:
                line = event_line(verb, message, at)
                for reader in readers:
                    reader.add(line)

    def ripe(self, queue: QueueId) -> None:
        """Tell that a delay ended in *queue*: no transition, but there is something to hand out."""
        self._lobby.claims.wake(queue)

    def heard(self, transitions: Sequence[Transition]) -> None:
        """Pass on what other daemons did."""
        for one in transitions:
            if one.queue is None or one.verb is None:
                self._lobby.heed(one.queue, one.verb, 1)
            else:
                self.tell(one.queue, one.verb, [one.message])

    def listen(self, queue: QueueId, reader: Reader) -> None:
        """Give *reader* what happens in *queue* from now on."""
        self._readers.setdefault(queue, []).append(reader)

    def leave(self, queue: QueueId, reader: Reader) -> None:
        """Give *reader* nothing any more."""
        readers = self._readers[queue]
        readers.remove(reader)
        if not readers:
            del self._readers[queue]


def event_line(verb: str, message: MessageId | None, at: float) -> bytes:
    """Return one line of `events`."""
    fields: dict[str, object] = {"event": verb, "at": at}
    if message is not None:
        fields["id"] = str(message)
    return _encode(fields) + b"\n"
