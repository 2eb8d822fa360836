"""What every group of the contract's methods stands on: how a call becomes a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from queuefs.backend import Traits
from queuefs.errors import QueueFSError
from queuefs.ticket import Failure
from queuefs_redis.damage import Damage
from queuefs_redis.encoding import microseconds

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from queuefs.groupcommit import GroupCommit
    from queuefs.message import MessageId
    from queuefs_redis.request import Request
    from queuefs_redis.stages import Checksums

T = TypeVar("T")


class Highest:
    """The highest numbers this daemon knows to be given: a server may come back with an older copy of its data."""

    __slots__ = ("message", "queue")

    def __init__(self) -> None:
        """Know of none."""
        self.message = 0
        self.queue = 0


class Calls:
    """The parts that the groups share."""

    traits: Traits
    daemon: str

    def __init__(
        self,
        line: GroupCommit[Request[Any]],
        daemon: str,
        highest: Highest,
        checksums: Checksums,
        *,
        server_time: bool,
    ) -> None:
        """Take an open *line*, and what its worker knows of numbers and of messages being written."""
        self.traits = Traits(durable=True, shared=True, instant=False, server_time=server_time)
        #: This open store among others.
        self.daemon = daemon
        self._line = line
        self._highest = highest
        self._checksums = checksums
        #: No tick has shown yet that this daemon lives.
        self._is_new = True
        #: The latest time that a caller gave.
        self._last_now = 0.0
        self._damage = Damage(self._submit)

    def _submit(self, request: Request[T]) -> Awaitable[T]:
        try:
            return self._line.submit(request)
        except QueueFSError as error:  # it is closing; the contract has errors come from await
            return Failure(error)  # type: ignore[return-value]  # it never returns a value

    def _note_id(self, message: MessageId) -> None:
        """Take note that *message* has been given, or has been seen here."""
        self._highest.message = max(self._highest.message, message)

    def _now(self, seconds: float) -> int | str:
        self._last_now = seconds
        return "" if self.traits.server_time else microseconds(seconds)
