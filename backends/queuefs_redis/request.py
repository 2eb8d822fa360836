"""One request to the server, from its arguments to its answer, and what the errors of each stage mean."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import redis

from queuefs.errors import (
    BackendError,
    BackendUnavailable,
    BadValue,
    IdInUse,
    IdsExhausted,
    KeyInUse,
    MessageNotFound,
    QueueBusy,
    QueueExists,
    QueueFSError,
    QueueFull,
    QueueNotEmpty,
    QueueNotFound,
    StoreFull,
)
from queuefs_redis.scripts import SCRIPTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")

#: An argument of a script.
Arg = bytes | str | int

#: What says that the connection is gone or useless, not that a command was refused. (redis-py makes errors of
#: authentication and of a server that is loading its data kinds of ConnectionError.)
BROKEN = (redis.ConnectionError, redis.TimeoutError, redis.InvalidResponse, OSError)

#: The scripts that answer with payloads.
_WEIGHTY = {"claim", "peek", "payloads", "read"}

#: What a script refuses by answering "-word".
_REFUSALS: dict[bytes, QueueFSError] = {
    b"-noqueue": QueueNotFound(),
    b"-exists": QueueExists(),
    b"-notempty": QueueNotEmpty(),
    b"-busy": QueueBusy(),
    b"-full": QueueFull(),
    b"-inuse": IdInUse(),
    b"-keyinuse": KeyInUse(),
    b"-loop": BadValue("a queue can't be moved into itself"),
    b"-exhausted": IdsExhausted(),
    b"-nomessage": MessageNotFound("that message is not being written (any more)"),
    b"-offset": BadValue("the next byte of that message has another offset"),
}

#: Errors by which the server says that it did not run a command.
_SERVER_ERRORS: dict[str, type[BackendError]] = {
    "OOM": StoreFull,
    "READONLY": BackendUnavailable,
    "LOADING": BackendUnavailable,
    "MASTERDOWN": BackendUnavailable,
    "MISCONF": BackendUnavailable,
    "NOREPLICAS": BackendUnavailable,
    "CLUSTERDOWN": BackendUnavailable,
    "TRYAGAIN": BackendUnavailable,
    "BUSY": BackendUnavailable,
    "NOAUTH": BackendUnavailable,
    "NOPERM": BackendUnavailable,
}

#: redis-py strips the word from some errors and gives them a class.
_CLASS_WORDS: dict[type[redis.RedisError], str] = {
    redis.OutOfMemoryError: "OOM",
    redis.ReadOnlyError: "READONLY",
    redis.BusyLoadingError: "LOADING",
    redis.AuthenticationError: "NOAUTH",
    redis.exceptions.MasterDownError: "MASTERDOWN",
    redis.exceptions.ClusterDownError: "CLUSTERDOWN",
    redis.exceptions.TryAgainError: "TRYAGAIN",
    redis.exceptions.NoPermissionError: "NOPERM",
}


def word_of(error: Exception) -> str:
    """Return the word by which the server names *error*."""
    for cls in type(error).__mro__:
        if cls in _CLASS_WORDS:
            return _CLASS_WORDS[cls]
    return str(error).partition(" ")[0]


def explain(error: Exception) -> BackendError:
    """Return our error for one that the server answered with."""
    word = word_of(error)
    return _SERVER_ERRORS.get(word, BackendError)(f"the Redis server refused a command: {error}")


def pack(args: Sequence[Arg]) -> bytes:
    """Return a command as the protocol has it; redis-py's own way took a third of the client's time for a batch."""
    parts = [b"*%d\r\n" % len(args)]
    for arg in args:
        data = arg if isinstance(arg, bytes) else str(arg).encode("ascii")
        parts += (b"$%d\r\n" % len(data), data, b"\r\n")  # each put together once: some are long
    return b"".join(parts)


class Request(Generic[T]):
    """A call of one script."""

    __slots__ = ("_args", "_decode", "born", "once", "script", "weighty")

    #: Replies that come before the one that counts.
    preliminary = 0
    #: The server may need longer for it than a try takes otherwise.
    patient = False

    def __init__(self, script: str, *args: Arg, decode: Callable[[Any], T]) -> None:
        """Prepare a call.

        Args:
            script: Its name.
            args: What it gets, after what every script gets.
            decode: Makes the result of what the script answered: bytes, or a list.
        """
        self.script = script
        #: Its answer is recorded, so that a repetition does nothing.
        self.once = script in SCRIPTS and SCRIPTS[script].once
        #: It is answered with payloads.
        self.weighty = script in _WEIGHTY
        self._args = args
        self._decode = decode
        #: When it was made, on the monotonic clock.
        self.born = time.monotonic()

    def args(self) -> Sequence[Arg]:
        """Return the arguments; called once, on the worker thread."""
        return self._args

    def packed(self, base: str, who: Sequence[Arg]) -> bytes:
        """Return what is sent; called once, on the worker thread.

        Args:
            base: Begins every key.
            who: Tells this request from all others of the daemon.
        """
        return pack(("EVALSHA", SCRIPTS[self.script].sha, 1, base, *(who if self.once else ()), *self.args()))

    def result(self, reply: Any) -> T:
        """Return the result, or raise the error, that *reply* means."""
        if isinstance(reply, Exception):
            raise explain(reply) from reply
        if isinstance(reply, bytes):
            if not reply.startswith(b"+"):
                refusal = _REFUSALS.get(reply)
                if refusal is None:
                    raise BackendError(f"the script {self.script} answered {reply[:80]!r}")
                raise type(refusal)(str(refusal))  # one instance for each raise: it collects a traceback
            return self._decode(reply[1:])
        return self._decode(reply)
