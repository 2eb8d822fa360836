"""All unacknowledged messages of a queue, read page by page."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from queuefs.message import Room

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuefs.backend import Backend
    from queuefs.message import Message, QueueId

#: Payload bytes that are asked of the back end in one go; one message may be larger.
PAGE_BYTES = 1024 * 1024

#: Messages that are asked of the back end in one go.
PAGE_MESSAGES = 256


class Listing:
    """Ids, order and states are those of one moment; payloads come as they are asked for."""

    def __init__(self, backend: Backend, queue: QueueId, messages: Sequence[Message]) -> None:
        """List *messages*, a snapshot of *queue*."""
        self._backend = backend
        self._queue = queue
        self._messages = messages
        self._next = 0

    @property
    def total(self) -> Room:
        """How many messages there are, and their payload bytes."""
        return Room(messages=len(self._messages), bytes=sum(message.size for message in self._messages))

    async def page(self) -> list[Message]:
        """Return the messages that follow, with their payloads (None for those gone since); none at the end."""
        end, size = self._next, 0
        while end < len(self._messages) and end - self._next < PAGE_MESSAGES:
            size += self._messages[end].size
            if size > PAGE_BYTES and end > self._next:
                break
            end += 1
        page = self._messages[self._next : end]
        if not page:
            return []
        payloads = await self._backend.payloads(self._queue, [message.id for message in page])
        self._next = end
        return [replace(message, data=data) for message, data in zip(page, payloads, strict=True)]
