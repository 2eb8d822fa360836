"""The files about the mount, in `.queuefs/`; adding one is adding a class, and its name to `ABOUT_FILES`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from queuefs.fs.control import READ, ControlFile, Showing

if TYPE_CHECKING:
    from queuefs.message import QueueId
    from queuefs.service import Service


class AboutFile(Showing):
    """A file about the mount; anybody may read it."""

    def mode(self, queue_mode: int) -> int:  # noqa: ARG002 - it follows no queue
        """Return r for all."""
        return READ


class Version(AboutFile):
    """`version`: of QueueFS."""

    name = "version"

    async def text(self, service: Service, queue: QueueId, options: Any) -> bytes:  # noqa: ARG002
        """Return the version."""
        return service.about.version()


class BackendState(AboutFile):
    """`backend`: where the messages are, and how it is."""

    name = "backend"

    async def text(self, service: Service, queue: QueueId, options: Any) -> bytes:  # noqa: ARG002
        """Return it as one JSON line."""
        return service.about.backend()


class MetricsFile(AboutFile):
    """`metrics`: everything that can be counted, for Prometheus."""

    name = "metrics"

    async def text(self, service: Service, queue: QueueId, options: Any) -> bytes:  # noqa: ARG002
        """Return all metrics."""
        return await service.about.metrics.text()


#: Every file, in the order in which they are listed.
ABOUT_FILES: tuple[ControlFile, ...] = (Version(), BackendState(), MetricsFile())

_BY_NAME = {file.name: file for file in ABOUT_FILES}


def find_about(name: str) -> tuple[ControlFile, str | None] | None:
    """Return the file that *name* means and the options in it; None if it means none."""
    file, comma, options = name.partition(",")
    found = _BY_NAME.get(file)
    return None if found is None else (found, options if comma else None)
