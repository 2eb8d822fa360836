"""The files about the mount, in `.queuefs/`; adding one is adding a class, and its name to `ABOUT_FILES`."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any

from queuefs.fs.access import READ
from queuefs.fs.control import READING, WRITING, ControlFile, Looking, Showing, find_in, no_page
from queuefs.fs.reading import TextHandle
from queuefs.fs.wholestore import CheckHandle, ExportHandle, ImportHandle
from queuefs.options import ExportOptions, ImportOptions
from queuefs.render import LINE_GROWTH
from queuefs.transfer import Terms

if TYPE_CHECKING:
    from queuefs.fs.handles import Handle, Opening
    from queuefs.message import QueueId
    from queuefs.service import Service


#: Added to bounds of sizes, bytes; no multiple of a page, see `queuefs.fs.control`.
_MORE = 16 * 1024 * 1024 + 1


class ForAll(Looking):
    """A file that anybody may read."""

    def mode(self, queue_mode: int) -> int:  # noqa: ARG002 - it follows no queue
        """Return r for all."""
        return READ


class Version(ForAll, Showing):
    """`version`: of QueueFS."""

    name = "version"

    async def text(self, service: Service, queue: QueueId, options: Any) -> bytes:  # noqa: ARG002
        """Return the version."""
        return service.about.version()


class BackendState(ForAll, Showing):
    """`backend`: where the messages are, and how it is."""

    name = "backend"

    async def text(self, service: Service, queue: QueueId, options: Any) -> bytes:  # noqa: ARG002
        """Return it as one JSON line."""
        return service.about.backend()


class MetricsFile(ForAll):
    """`metrics`: everything that can be counted, for Prometheus."""

    name = "metrics"

    async def size(self, service: Service, queue: QueueId, options: Any) -> int:  # noqa: ARG002
        """Return a bound: with many queues the text is long, and a look at the name shall not cost it."""
        return no_page(await service.about.metrics.bound())

    async def open(self, opening: Opening, options: Any) -> Handle:  # noqa: ARG002
        """Make the text at the first read."""
        return TextHandle(None, opening.service.about.metrics.text)


class ForItsOwner(ControlFile):
    """A file for whoever owns the mount: it reads or changes every queue."""

    def mode(self, queue_mode: int) -> int:  # noqa: ARG002 - it follows no queue
        """Return r and w as it can be opened, for the owner."""
        return super().mode(stat.S_IWUSR)


class Export(ForItsOwner):
    """`export`: all that the store holds, as lines of JSON."""

    name = "export"
    options = ExportOptions
    access = READING
    for_walkers = False

    async def size(self, service: Service, queue: QueueId, options: ExportOptions) -> int:  # noqa: ARG002
        """Return a bound by what the store takes up: readers that splice read no further than that."""
        return LINE_GROWTH * (await service.about.space()).used + _MORE

    async def open(self, opening: Opening, options: ExportOptions) -> Handle:
        """Begin an export; a queue that is not there is found at the first read."""
        return ExportHandle(opening.service, [] if options.queue is None else [options.queue])


class Import(ForItsOwner):
    """`import`: what `export` gave, into this store."""

    name = "import"
    options = ImportOptions
    access = WRITING

    async def open(self, opening: Opening, options: ImportOptions) -> Handle:
        """Begin an import at the first write."""
        terms = Terms(renumber=options.renumber, resume=options.resume, release=options.release)
        return ImportHandle(opening.service, terms)


class Check(ForItsOwner):
    """`check`: what disagrees within the store, and a way to put it right."""

    name = "check"
    access = frozenset({os.O_RDONLY, os.O_WRONLY, os.O_RDWR})
    for_walkers = False

    async def size(self, service: Service, queue: QueueId, options: Any) -> int:  # noqa: ARG002
        """Return a bound."""
        return _MORE

    async def open(self, opening: Opening, options: Any) -> Handle:  # noqa: ARG002
        """Check at the first read."""
        return CheckHandle(opening.service)


#: Every file, in the order in which they are listed.
ABOUT_FILES: tuple[ControlFile, ...] = (
    Version(),
    BackendState(),
    MetricsFile(),
    Export(),
    Import(),
    Check(),
)

_BY_NAME = {file.name: file for file in ABOUT_FILES}


def find_about(name: str) -> tuple[ControlFile, str | None] | None:
    """Return the file that *name* means and the options in it; None if it means none."""
    return find_in(_BY_NAME, name)
