"""The configs of all queues, parsed."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from queuefs.config import kept
from queuefs.errors import BackendUnavailable

if TYPE_CHECKING:
    from queuefs.backend import Backend
    from queuefs.config import Config
    from queuefs.message import QueueId
    from queuefs.tree import Tree

#: How often a change is tried against others that change the same config.
ATTEMPTS = 10


class Configs:
    """Reads and changes configs; the back end keeps of each what was set."""

    def __init__(self, backend: Backend, tree: Tree, defaults: Config) -> None:
        """Keep configs in *backend*; *defaults* hold for what a queue does not say."""
        self._backend = backend
        self._tree = tree
        self._parse = lru_cache(maxsize=1024)(defaults.merged)

    async def get(self, queue: QueueId) -> Config:
        """Return a queue's config."""
        return self._parse((await self._tree.get(queue)).config)

    def known(self, queue: QueueId) -> Config:
        """Return a queue's config as it was at its last use, for what must not suspend."""
        record = self._tree.known(queue)
        return self._parse(b"" if record is None else record.config)

    async def merge(self, queue: QueueId, text: bytes) -> Config:
        """Apply the lines of *text*, all or none of them, and return what the config is then.

        Raises:
            BadValue: a key or a value is bad.
        """
        for _ in range(ATTEMPTS):
            old = (await self._tree.get(queue, fresh=True)).config
            new = kept(old, text)
            done = await self._backend.set_config(queue, new, expected=old)
            self._tree.forget(queue)
            if done:
                return self._parse(new)
        raise BackendUnavailable("others change this config all the time")
