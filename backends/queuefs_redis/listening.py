"""Hears what other daemons on the store do: a subscription on a connection and a thread of its own."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import structlog
import trio

from queuefs.backend import Transition
from queuefs.lifecycle import Verb
from queuefs.message import MessageId, QueueId
from queuefs_redis.request import BROKEN, pack

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import redis

_log = structlog.get_logger(__name__)

#: Stands for all that may have been missed.
_ANYTHING = Transition(queue=None, verb=None, message=None)

#: How long it is quiet before the server is asked whether it is still there, and how long that may take.
_QUIET_SECONDS = 5.0

#: The pause before the next attempt to connect, at first and at most.
_FIRST_PAUSE_SECONDS = 0.05
_LAST_PAUSE_SECONDS = 2.0

#: Messages that are handed over together at most.
_AT_ONCE = 500

_VERBS = {verb.value.encode(): verb for verb in Verb}


class Listener:
    """A subscription, once somebody listens."""

    def __init__(self, client_factory: Callable[[], redis.Redis], base: str, daemon: str, *, label: str) -> None:
        """Prepare to subscribe by a client of *client_factory*, and to leave out what *daemon* tells."""
        self._client_factory = client_factory
        self._channel = base + "did"
        self._daemon = daemon.encode()
        self._label = label
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._link: Any = None
        self._heard: Callable[[Sequence[Transition]], None] | None = None
        self._token: trio.lowlevel.TrioToken | None = None

    def listen(self, heard: Callable[[Sequence[Transition]], None]) -> None:
        """Call *heard* on the trio thread from now on; must be called there."""
        self._heard = heard
        if self._thread is None:
            self._token = trio.lowlevel.current_trio_token()
            self._thread = threading.Thread(target=self._work, name="queuefs-redis-listen", daemon=True)
            self._thread.start()

    async def close(self) -> None:
        """End the thread."""
        self.hush()
        if self._thread is not None:
            with suppress(OSError, AttributeError):  # it may be connecting just now, or be no socket
                self._link._sock.shutdown(socket.SHUT_RDWR)  # noqa: SLF001 - redis-py has no other way to end a read
            await trio.to_thread.run_sync(self._thread.join)

    def hush(self) -> None:
        """Hear nothing any more; the thread ends when the next thing is told."""
        self._heard = None
        self._closing.set()

    def _work(self) -> None:
        client = self._client_factory()  # kept: it closes its pool when it is collected
        pool: Any = client.connection_pool  # fakeredis has a class of its own
        self._link = pool.make_connection()
        pause, missed = 0.0, False
        while not self._closing.wait(pause):
            try:
                self._subscribe()
                if missed:
                    self._hand_over([_ANYTHING])
                pause = _FIRST_PAUSE_SECONDS
                self._follow()
            except BROKEN:
                pass
            except Exception as error:  # noqa: BLE001 - such as a refusal; the thread has to stay
                if not self._closing.is_set():
                    _log.warning("redis can't be listened to", server=self._label, error=str(error))
                pause = _LAST_PAUSE_SECONDS
            missed = True
            self._link.disconnect()
            pause = min(max(2 * pause, _FIRST_PAUSE_SECONDS), _LAST_PAUSE_SECONDS)
        self._link.disconnect()
        client.close()

    def _subscribe(self) -> None:
        self._link.connect()
        self._send("SUBSCRIBE", self._channel)
        self._link.read_response(push_request=True)

    def _send(self, *command: str) -> None:
        self._link.send_packed_command([pack(command)])

    def _follow(self) -> None:
        """Hand over what comes, until the connection breaks."""
        asked = False
        while not self._closing.is_set():
            if not self._link.can_read(timeout=_QUIET_SECONDS):
                if asked:
                    raise TimeoutError
                asked = True
                self._send("PING")
                continue
            asked = False
            heard: list[Transition] = []
            deadline = time.monotonic() + 1
            while True:
                heard += self._read()
                if len(heard) >= _AT_ONCE or time.monotonic() > deadline or not self._link.can_read(timeout=0):
                    break
            if heard:
                self._hand_over(heard)

    def _read(self) -> Sequence[Transition]:
        reply = self._link.read_response(push_request=True)
        if not isinstance(reply, list) or reply[0] != b"message":
            return ()
        return transitions_of(reply[2], leave_out=self._daemon)

    def _hand_over(self, transitions: Sequence[Transition]) -> None:
        assert self._token is not None  # `listen` set it before it started the thread
        try:
            self._token.run_sync_soon(self._tell, transitions)
        except trio.RunFinishedError:
            self._closing.set()

    def _tell(self, transitions: Sequence[Transition]) -> None:
        if self._heard is not None:
            self._heard(transitions)


def transitions_of(told: bytes, *, leave_out: bytes) -> list[Transition]:
    """Read what the scripts tell (see `common.lua`); nothing if it is of the daemon *leave_out*."""
    daemon, *lines = told.split(b"\n")
    if daemon == leave_out:
        return []
    found = []
    for line in filter(None, lines):
        queue, _, rest = line.partition(b" ")
        verb, _, ids = rest.partition(b" ")
        messages = [MessageId(int(message)) for message in ids.split(b",")] if ids else [None]
        known = _VERBS.get(verb)  # None also for a verb of a later version
        found += [Transition(queue=QueueId(int(queue)), verb=known, message=message) for message in messages]
    return found
