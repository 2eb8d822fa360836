"""Runs batches of requests on one connection, and runs each mutating request once whatever happens to the connection.

All of a batch is sent before the first answer is read, but for requests that are answered with payloads: of these only
some are sent at a time, for the server answers none before it has carried out all that it has read. When the connection
breaks, or an answer does not come, the rest of the batch is sent again over a new one, with the same numbers: the
server has recorded the answers of this daemon's current batch (`once.lua`), so what was carried out is answered from
there. redis-py's own retries would not know (measured: an enqueue whose reply was lost came out as two messages), and
are off.

When the answers of a batch are lost for good, its callers get `OutcomeUnknown`, and each of them may look for itself
what became of its change; but of a message that was staged nobody knows the id. The next batch begins by dropping all
that this daemon has staged and that is no known writer's (`begin.lua`), before anything of its own is carried out. Who
adopts the messages of a daemon that died in such doubt can't know which ids had arrived there, and publishes all: a
message too many is better than one too few.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import outcome
import redis
import structlog

from queuefs.errors import BackendError, BackendUnavailable, OutcomeUnknown
from queuefs_redis.encoding import padded
from queuefs_redis.request import BROKEN, pack, word_of
from queuefs_redis.scripts import SCRIPTS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from queuefs.message import MessageId
    from queuefs_redis.calls import Highest
    from queuefs_redis.request import Arg, Request

_log = structlog.get_logger(__name__)

#: Kinds of ConnectionError by which the server says that it did not run a command.
_NOT_RUN = {"LOADING", "NOAUTH"}

#: Refusals after which a new connection may lead to a better server.
_ELSEWHERE = {"READONLY", "MASTERDOWN"}

#: One try may take this part of the command timeout, so that there is time for another.
TRY_PART = 1 / 3

_PAUSE_SECONDS = 0.05

#: How many command timeouts a view of a whole queue may take. A million messages keep the server busy for 1.6 s before
#: it sends a byte; more tries would only keep it busy longer.
_PATIENCE = 10

#: What is handed to the socket at a time: its timeout is for all of one call (socket.sendall), however much that is.
_SEND_BYTES = 1 << 18

#: How many requests that are answered with payloads the server gets at a time. A claim of a message of 8 MiB takes it
#: 40 ms; 50 of them at once took longer than a try may take until the first was answered, and so did each retry. Of
#: small messages, 256 at once are claimed a quarter slower for it (measured on one machine, without FUSE).
_WEIGHTY_AT_ONCE = 8

#: How long a connection that has worked is taken to work. The look costs five system calls, and is only there to find
#: at once that a server has closed an idle connection.
_FRESH_SECONDS = 1.0


class _Again(Exception):
    """The server did not know the scripts; the rest of the batch has to be sent again at once."""


class Connection:
    """One connection and the batches on it; used by one thread at a time."""

    def __init__(
        self,
        client_factory: Callable[[], redis.Redis],
        base: str,
        daemon: str,
        highest: Highest,
        told: Collection[MessageId],
        *,
        timeout: float,
        label: str,
    ) -> None:
        """Prepare; nothing is sent yet.

        Args:
            client_factory: Makes the client, with socket timeouts of `TRY_PART` of *timeout* and without retries.
            base: Begins every key.
            daemon: Whose requests these are.
            highest: What a server has to have reached when the connection to it is new.
            told: The staged messages whose ids have been returned; all that is decoded keeps it up to date.
            timeout: Seconds from a request's making to its failing.
            label: What the log calls the server.
        """
        self._base = base
        self._daemon = daemon
        self._highest = highest
        #: This connection has begun a batch, so the server knows what was the highest.
        self._begun = False
        self._told = told
        self._timeout = timeout
        self._label = label
        self._batch = 0
        #: Answers may be lost for good, so that messages are staged of which nobody knows.
        self._untold = False
        self._used = 0.0
        self._away = False
        self._client = client_factory()  # kept: it closes its pool when it is collected
        pool: Any = self._client.connection_pool  # fakeredis has a class of its own
        self._link = self._usual_link = pool.make_connection()
        self._patient_link = pool.make_connection()
        self._patient_link.socket_timeout = timeout * _PATIENCE

    def run(self, requests: Sequence[Request[Any]]) -> list[outcome.Outcome[Any]]:
        """Carry out *requests* in order; return an outcome for each."""
        try:
            oldest = time.monotonic() - self._timeout * (1 - TRY_PART)
            if not self._away or min(request.born for request in requests) > oldest:
                return self._run(requests)
            # They waited behind a batch that failed, and a further try would take too long for some of them.
            outcomes = iter(self._run([request for request in requests if request.born > oldest]))
            return [
                next(outcomes) if request.born > oldest else outcome.Error(self._failure(unknown=False))
                for request in requests
            ]
        except BaseException:
            self.close()  # replies may be left in it, which would be taken for those of the next batch
            raise

    def close(self) -> None:
        """Close the connection; the next batch opens it again."""
        self._begun = False
        self._usual_link.disconnect()
        self._patient_link.disconnect()

    def _run(self, requests: Sequence[Request[Any]]) -> list[outcome.Outcome[Any]]:
        self._batch += 1
        commands = [
            request.packed(self._base, (self._daemon, self._batch, number)) for number, request in enumerate(requests)
        ]
        self._link = self._patient_link if any(request.patient for request in requests) else self._usual_link
        opening = self._doubt() if any(request.once for request in requests) else None
        deadline = min((request.born for request in requests), default=0) + self._timeout * (1 - TRY_PART)
        replies: list[Any] = []
        doubt, broken = False, 0
        while len(replies) < len(requests):
            sent = False
            try:
                self._connect()
                sent = True
                self._exchange(requests[len(replies) :], commands[len(replies) :], replies, opening)
            except _Again:
                if time.monotonic() >= deadline:
                    break
            except BROKEN as error:
                self.close()
                broken += 1
                doubt = doubt or (sent and word_of(error) not in _NOT_RUN)
                over = time.monotonic() >= deadline
                if over or broken > 1:  # a connection that broke once, and is there again, is no news
                    self._note_away(error)
                    time.sleep(0 if over else _PAUSE_SECONDS)
                if over:
                    break
            except redis.ResponseError as error:  # it refuses the scripts themselves
                replies += [error] * (len(requests) - len(replies))
        return self._outcomes(requests, replies, doubt=doubt)

    def _connect(self) -> None:
        """Have a connection that is not known to be closed; nothing has been sent when this fails."""
        self._link.connect()  # does nothing if it is connected
        if time.monotonic() - self._used < _FRESH_SECONDS:
            return
        try:
            if not self._link.can_read():
                return
        except BROKEN:
            pass
        self._begun = False
        self._link.disconnect()  # nothing is due on it, so this was the end of the stream
        self._link.connect()

    def _exchange(
        self,
        requests: Sequence[Request[Any]],
        commands: Sequence[bytes],
        replies: list[Any],
        opening: Sequence[str] | None,
    ) -> None:
        """Send what has no reply yet and read the replies, as far as they come; *opening* is for a batch of changes."""
        begun: Any = b"+"
        again = False
        for first, end in _portions(requests):
            if first == 0 and opening is not None:
                self._untold = True  # until all is answered
                self._send([self._begin(opening), *commands[:end]])
                begun = self._read()
                self._begun = self._begun or isinstance(begun, bytes)
            else:
                self._send(commands[first:end])
            again = self._receive(requests[first:end], replies, begun)
            if again:
                break
        self._used = time.monotonic()
        self._note_back()
        if again:
            self.load_scripts({"begin", *(request.script for request in requests)} & SCRIPTS.keys())
            raise _Again
        if opening is not None and isinstance(begun, bytes):
            self._untold = False
            if begun != b"+":
                _log.info("dropped what no writer knows", messages=[int(id_) for id_ in begun[1:].split()])

    def _receive(self, requests: Sequence[Request[Any]], replies: list[Any], begun: Any) -> bool:
        """Read the replies to what has been sent; return whether some have to be asked for again."""
        again = False
        for request in requests:
            for _ in range(request.preliminary):
                self._read()
            reply = self._read()
            if reply == b"-late" and _refused(begun):
                reply = begun
            # What follows one that was not run may have been run. It is asked again all the same, to keep the order.
            again = again or reply == b"-late" or isinstance(reply, redis.exceptions.NoScriptError)
            if not again:
                replies.append(reply)
        return again

    def _doubt(self) -> tuple[str, ...]:
        """Return what a batch of changes has to be opened with so that nothing is left that no writer knows."""
        return ("doubt", *map(padded, self._told)) if self._untold else ()

    def _begin(self, doubt: Sequence[str]) -> bytes:
        args: Sequence[Arg] = ()
        if not self._begun or doubt:
            highest = (0, 0) if self._begun else (self._highest.message, self._highest.queue)
            args = (*highest, *doubt)
        return pack(("EVALSHA", SCRIPTS["begin"].sha, 1, self._base, self._daemon, self._batch, *args))

    def _send(self, commands: Sequence[bytes]) -> None:
        self._link.send_packed_command(_pieces(commands))

    def _read(self) -> Any:
        try:
            return self._link.read_response()
        except redis.ResponseError as error:
            return error

    def load_scripts(self, names: Collection[str] = SCRIPTS.keys()) -> None:
        """Give the server scripts: it forgets them when it restarts, and a replica may never have had them.

        To compile them all takes it as long as some batches.
        """
        self._send([pack(("SCRIPT", "LOAD", SCRIPTS[name].source)) for name in names])
        errors = [reply for _ in names if isinstance(reply := self._read(), redis.ResponseError)]
        if errors:
            raise errors[0]

    def ask(self, *command: Arg) -> Any:
        """Return the reply to a single command; raises what redis-py raises."""
        self._connect()
        self._send([pack(command)])
        return self._link.read_response()

    def _outcomes(
        self, requests: Sequence[Request[Any]], replies: Sequence[Any], *, doubt: bool
    ) -> list[outcome.Outcome[Any]]:
        if any(isinstance(reply, Exception) and word_of(reply) in _ELSEWHERE for reply in replies):
            self.close()
        outcomes: list[outcome.Outcome[Any]] = [
            outcome.capture(request.result, reply) for request, reply in zip(requests, replies, strict=False)
        ]
        unanswered = requests[len(replies) :]
        return outcomes + [outcome.Error(self._failure(unknown=doubt and request.once)) for request in unanswered]

    def _failure(self, *, unknown: bool) -> BackendError:
        if unknown:
            return OutcomeUnknown(f"the Redis server at {self._label} did not say whether it carried out a command")
        return BackendUnavailable(f"the Redis server at {self._label} can't be reached")

    def _note_away(self, error: Exception) -> None:
        if not self._away:
            self._away = True
            _log.warning("redis away", server=self._label, error=str(error))

    def _note_back(self) -> None:
        if self._away:
            self._away = False
            _log.info("redis back", server=self._label)


def _portions(requests: Sequence[Request[Any]]) -> Iterator[tuple[int, int]]:
    """Yield where each portion of a batch begins and ends, which the server answers before it gets the next."""
    first = weighty = 0
    for number, request in enumerate(requests):
        if request.weighty:
            if weighty == _WEIGHTY_AT_ONCE:
                yield first, number
                first, weighty = number, 0
            weighty += 1
    yield first, len(requests)


def _pieces(commands: Sequence[bytes]) -> Iterator[bytes | memoryview]:
    """Put short commands together and divide long ones, without a copy of these."""
    short: list[bytes] = []
    size = 0
    for command in commands:
        if short and size + len(command) > _SEND_BYTES:
            yield b"".join(short)
            short, size = [], 0
        if len(command) > _SEND_BYTES:
            whole = memoryview(command)
            yield from (whole[at : at + _SEND_BYTES] for at in range(0, len(whole), _SEND_BYTES))
        else:
            short.append(command)
            size += len(command)
    if short:
        yield b"".join(short)


def _refused(reply: Any) -> bool:
    return isinstance(reply, redis.ResponseError) and not isinstance(reply, redis.exceptions.NoScriptError)
