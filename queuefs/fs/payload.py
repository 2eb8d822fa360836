"""Open files of messages: their payloads, in pieces, from the back end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs.fs.handles import Handle

if TYPE_CHECKING:
    from queuefs.filing import Filing
    from queuefs.fs.nodes import MessageFile


class PayloadHandle(Handle):
    """Reads a payload; nothing of it is kept here, for the kernel keeps what was read in its page cache."""

    def __init__(self, filing: Filing, node: MessageFile) -> None:
        """Read the payload of *node*, wherever it goes meanwhile."""
        self._filing = filing
        self._node = node

    async def read(self, offset: int, size: int) -> bytes:
        """Return a piece of the payload."""
        node = self._node
        return await self._filing.read(node.queue, node.message.id, offset=offset, size=size)
