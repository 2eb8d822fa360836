"""`queuefs rm`: removes queues."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import click

from queuefs.cli.arguments import QueuePath
from queuefs.cli.exits import Exit, UserError
from queuefs.cli.refusals import refusal, refusals
from queuefs.cli.signals import be_a_plain_tool
from queuefs.view.queues import below, children, look, tell
from queuefs.view.text import shown

if TYPE_CHECKING:
    from queuefs.view.mounts import Place


@click.command(short_help="Remove queues.")
@click.argument("queues", metavar="QUEUE...", nargs=-1, required=True, type=QueuePath(root=False))
@click.option("-f", "--force", is_flag=True, help="Drop its messages, the dead ones too.")
@click.option("-r", "--recursive", is_flag=True, help="Remove the queues below it as well.")
def rm(queues: tuple[Place, ...], *, force: bool, recursive: bool) -> None:
    """Remove each QUEUE, if there is nothing in it but records of what is done.

    Without -f a queue that has messages stays, and without -r one that has queues below it. That is looked at before
    anything is removed: of all that are named, none is then.
    """
    be_a_plain_tool()
    paths = [path for place in queues for path in _with_those_below(place.path, recursive=recursive)]
    for path in paths:
        _require_empty(path, messages=not force, queues=not recursive)
    for path in reversed(paths):
        _remove(path, force=force)


def _with_those_below(path: str, *, recursive: bool) -> list[str]:
    with refusals(path):
        return [path, *below(path)] if recursive else [path]


def _require_empty(path: str, *, messages: bool, queues: bool) -> None:
    with refusals(path):
        contents = _messages(path) if messages else []
        others = len(children(path)) if queues else 0
    ways = ["-f drops messages"] if contents else []
    if others:
        contents.append(f"{others} {'queue' if others == 1 else 'queues'} below it")
        ways.append("-r removes the queues below")
    if contents:
        *first, last = contents
        words = f"{', '.join(first)} and {last}" if first else last
        raise UserError(f"{shown(path)} is not empty: {words} ({', '.join(ways)})", Exit.FAILED)


def _messages(path: str) -> list[str]:
    """Return in words how many messages there are of each kind."""
    found = look(path)
    counts = ((found.pending, "pending"), (found.processing, "in processing"), (found.dead, "dead"))
    return [f"{count} {kind}" for count, kind in counts if count]


def _remove(path: str, *, force: bool) -> None:
    """Remove a queue that may be gone by now: it was named twice, or somebody else was quicker."""
    try:
        if force:
            tell(path, "clear", "\n")
            tell(path, "ctl", "drop all\n")
        os.rmdir(path)  # noqa: PTH106 - a Path would be made for nothing else
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno == errno.EBUSY:
            raise UserError(f"{shown(path)}: a message of it is being written", Exit.BUSY) from error
        if error.errno != errno.ENOTEMPTY:
            raise refusal(path, error) from error
        _require_empty(path, messages=True, queues=True)  # of what came since the look
        raise UserError(f"{shown(path)} was not empty just now", Exit.FAILED) from error
