"""What a shell may put in the place of a word that has only been begun."""

from __future__ import annotations

import os
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

from queuefs.registry import ENTRY_POINT_GROUP
from queuefs.view.mounts import Mounted, is_below, mounts
from queuefs.view.queues import children
from queuefs.view.text import is_harmless

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: Kinds of candidates: a directory; a word that goes on.
DIRECTORY = "directory"
PART = "part"

#: What `-o` of `queuefs mount` takes; a word that ends in ``=`` needs a value.
MOUNT_OPTIONS = (
    "allow_other",
    "debug",
    "lease=",
    "max_message_bytes=",
    "noallow_other",
    "noatime",
    "nodev",
    "noexec",
    "nosuid",
)

#: How a URL of each back end that comes with QueueFS goes on behind its scheme.
_URLS = {
    "memory": ("memory:",),
    "sqlite": ("sqlite:///",),
    "redis": ("redis://", "rediss://", "redis+sentinel://", "redis+cluster://"),
}


def directories(incomplete: str) -> list[CompletionItem[str]]:
    """Return the directories that begin with *incomplete* and are queues, or lead to a mount of QueueFS."""
    parent, slash, begun = incomplete.rpartition("/")
    real = os.path.realpath(os.path.expanduser(parent + slash) or ".")  # noqa: PTH111 - a Path drops the slash
    ours = mounts()
    names = _queues(real) if _is_in(real, ours) else _ways(real, ours)
    found = [parent + slash + name for name in sorted(set(names)) if _is_wanted(name, begun)]
    if not incomplete and not found:
        found = sorted({mounted.path for mounted in ours if is_harmless(mounted.path)})
    return [CompletionItem(path, type=DIRECTORY) for path in found]


def _queues(directory: str) -> Iterable[str]:
    try:
        return children(directory)
    except OSError:  # there is none such, or its daemon is gone: nothing to offer
        return ()


def _ways(directory: str, ours: list[Mounted]) -> Iterator[str]:
    """Yield the names in *directory* by which one comes to a mount."""
    for mounted in ours:
        if is_below(mounted.path, directory):
            yield os.path.relpath(mounted.path, directory).split("/")[0]
    try:
        with os.scandir(directory) as entries:
            links = [entry.name for entry in entries if entry.is_symlink()]
    except OSError:
        return
    yield from (name for name in links if _is_in(os.path.realpath(f"{directory}/{name}"), ours))


def _is_in(path: str, ours: list[Mounted]) -> bool:
    return any(is_below(path, mounted.path) for mounted in ours)


def _is_wanted(name: str, begun: str) -> bool:
    return name.startswith(begun) and is_harmless(name) and (not name.startswith(".") or begun.startswith("."))


def urls(incomplete: str) -> list[CompletionItem[str]]:
    """Return the beginnings of URLs of the back ends that are installed."""
    names = [entry.name for entry in entry_points(group=ENTRY_POINT_GROUP)]
    starts = [start for name in names for start in _URLS.get(name, (f"{name}:",))]
    return [CompletionItem(start, type=PART) for start in sorted(starts) if start.startswith(incomplete)]


def mount_options(incomplete: str) -> list[CompletionItem[str]]:
    """Return how a list of mount options can go on: with one that is not in it yet."""
    before, comma, begun = incomplete.rpartition(",")
    given = {option.partition("=")[0] for option in before.split(",")}
    fitting = [one for one in MOUNT_OPTIONS if one.startswith(begun) and one.rstrip("=") not in given]
    return [CompletionItem(before + comma + option, type=PART) for option in fitting]
