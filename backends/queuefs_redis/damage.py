"""Takes messages around those whose payload is not what was put in, which stay pending and stand in nobody's way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from queuefs.errors import QueueFSError
from queuefs_redis.encoding import padded
from queuefs_redis.replies import nothing
from queuefs_redis.request import Request

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from queuefs.message import Message, MessageId, QueueId
    from queuefs_redis.metas import Taken

_log = structlog.get_logger(__name__)


class Damage:
    """What is known to be damaged, and the way around it."""

    def __init__(self, submit: Callable[[Request[None]], Awaitable[None]]) -> None:
        """Set messages aside by *submit*."""
        self._submit = submit
        #: Each is logged once.
        self._noted: set[MessageId] = set()

    def note(self, queue: QueueId, message: MessageId) -> None:
        """Log that the payload of *message* is not what was put in."""
        if message not in self._noted:
            self._noted.add(message)
            _log.error("payload damaged; the message is skipped and stays where it is", queue=queue, message=message)

    async def around(
        self, queue: QueueId, take: Callable[[int], Awaitable[Taken]], count: int, first: Awaitable[Taken]
    ) -> Sequence[Message]:
        """Set damaged messages aside, and claim others for them.

        *first* was submitted when the call was made, which is its place in the order of operations.
        """
        messages: list[Message] = []
        taken = await first
        while True:
            messages += taken.messages
            for message in taken.aside:
                _log.error("message incomplete; it is skipped and stays where it is", queue=queue, message=message)
            if not taken.damaged:
                return messages
            try:
                await self._set_aside(queue, taken.damaged)
                taken = await take(count - len(messages))
            except QueueFSError as error:
                if not messages:
                    raise
                _log.warning("damaged messages stay claimed until their leases end", queue=queue, error=str(error))
                return messages

    async def look_around(
        self, queue: QueueId, look: Callable[[], Awaitable[Taken]], first: Awaitable[Taken]
    ) -> Sequence[Message]:
        """Set damaged messages aside, and look again."""
        taken = await first
        while taken.damaged:
            await self._set_aside(queue, taken.damaged)
            taken = await look()
        return taken.messages

    async def _set_aside(self, queue: QueueId, damaged: Sequence[tuple[MessageId, int | None]]) -> None:
        args = [text for message, claim in damaged for text in (padded(message), "" if claim is None else claim)]
        await self._submit(Request("aside", queue, *args, decode=nothing))
        for message, _ in damaged:
            self.note(queue, message)
