"""All unacknowledged messages of a queue, read page by page."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from queuefs.longtext import LongText
from queuefs.message import Room

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuefs.backend import Backend
    from queuefs.message import Message, QueueId

#: Payload bytes that are asked of the back end in one go.
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

    async def page(self) -> Sequence[Message]:
        """Return the messages that follow, with their payloads (None for those gone since); none at the end.

        One whose payload is longer than a page comes alone and without it; see `long_text`.
        """
        page = self._page()
        if not page or page[0].size > PAGE_BYTES:
            return page
        payloads = await self._backend.payloads(self._queue, [message.id for message in page])
        return [replace(message, data=data) for message, data in zip(page, payloads, strict=True)]

    def turn(self) -> None:
        """Go on to the next page; until then `page` returns the same again."""
        self._next += len(self._page())

    def _page(self) -> Sequence[Message]:
        end, size = self._next, 0
        while end < len(self._messages) and end - self._next < PAGE_MESSAGES:
            size += self._messages[end].size
            if size > PAGE_BYTES and end > self._next:
                break
            end += 1
        return self._messages[self._next : end]

    def long_text(self, message: Message, entry: bytes) -> LongText:
        """Return the text of a message that came without its payload; *entry* is it with an empty one."""
        return LongText(self._backend, self._queue, message, entry)
