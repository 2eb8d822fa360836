"""What is done with the whole store while it is mounted: exported, imported, checked, repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from queuefs.errors import WholeStoreBusy
from queuefs.transfer import Importer, Terms, export

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from queuefs.parts import Parts
    from queuefs.tree import Tree

log = structlog.get_logger(__name__)


class WholeStore:
    """One store as a whole."""

    def __init__(self, parts: Parts, tree: Tree) -> None:
        """Work on the store of *parts*, whose queues *tree* knows."""
        self._parts = parts
        self._tree = tree
        self._importing = False

    def export(self, roots: Sequence[Sequence[str]]) -> AsyncGenerator[bytes, None]:
        """Return the lines of an export; see `queuefs.transfer.export`."""
        return export(self._parts.backend, self._parts.clock, roots=roots)

    def begin_import(self, terms: Terms) -> Importer:
        """Return what takes an export in; `end_import` must follow.

        Raises:
            WholeStoreBusy: another import is under way.
        """
        if self._importing:
            raise WholeStoreBusy("another import is under way")
        self._importing = True
        return Importer(self._parts.backend, self._parts.clock, terms)

    def imported_some(self) -> None:
        """Let those who wait, and what is due, know that messages and queues may have come."""
        self._tree.forget(None)
        self._parts.lobby.heed(None, None, 1)
        self._parts.upkeep.due_in(0.0)

    async def end_import(self, importer: Importer) -> None:
        """End an import, also one that is not whole: what came of a message in part is taken back."""
        try:
            if importer.is_whole:
                log.info("imported", what=str(importer.imported))
            else:
                await importer.abandon()
                log.warning("an import ended early", after_line=importer.lines, what=str(importer.imported))
        finally:
            self._importing = False
            self.imported_some()

    async def check(self) -> bytes:
        """Return one line for each disagreement within the store; ``ok`` and a newline if there is none."""
        return _lines(await self._parts.backend.audit()) or b"ok\n"

    async def repair(self) -> bytes:
        """Put right what `check` finds, and return one line for each thing that was done."""
        done = await self._parts.backend.repair()
        for sentence in done:
            log.warning("repaired", what=sentence)
        self.imported_some()
        return _lines(done) or b"nothing to repair\n"


def _lines(sentences: Sequence[str]) -> bytes:
    return "".join(f"{sentence}\n" for sentence in sentences).encode()
