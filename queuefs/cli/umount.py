"""`queuefs umount`: asks the daemon of a mount to end, and waits until it has."""

from __future__ import annotations

import os
import select
import signal
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from queuefs.cli.candidates import directories
from queuefs.cli.exits import Exit, UserError
from queuefs.cli.mountpoint import clear_dead, daemon_of, is_dead

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Seconds within which a daemon ends, whatever it is doing.
PATIENCE = 10


@click.command(short_help="Stop a mount and its daemon.")
@click.argument(
    "directory",
    metavar="DIR",
    type=click.Path(readable=False),
    shell_complete=lambda _ctx, _param, begun: directories(begun),
)
def umount(directory: str) -> None:
    """Stop the daemon that serves DIR, and return once it has ended.

    It wakes blocked readers, finishes what is being written, and unmounts, also if programs still have files open. A
    mount whose daemon has died is taken away.
    """
    mountpoint = os.path.realpath(directory)
    if is_dead(mountpoint):
        clear_dead(mountpoint)
        return
    pid = daemon_of(mountpoint)
    if pid is None:
        raise UserError(f"{mountpoint} is not a mount of QueueFS", Exit.NO_MOUNT_POINT)
    with _handle_on(pid, mountpoint) as daemon:
        try:
            signal.pidfd_send_signal(daemon, signal.SIGTERM)
        except PermissionError:
            raise UserError(f"the daemon (process {pid}) is another user's", Exit.NOT_PERMITTED) from None
        if not _ends(daemon, within=PATIENCE):
            raise UserError(f"the daemon (process {pid}) is still ending after {PATIENCE} s", Exit.BUSY)


@contextmanager
def _handle_on(pid: int, mountpoint: str) -> Iterator[int]:
    """Hold the process *pid*, which no later process of that number can take the place of."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        raise UserError(_elsewhere(pid, mountpoint), Exit.NO_MOUNT_POINT) from None
    try:
        # In a container the daemon knows itself by a number that is someone else's out here.
        if "queuefs" not in Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace"):
            raise UserError(_elsewhere(pid, mountpoint), Exit.NO_MOUNT_POINT)
        yield handle
    finally:
        os.close(handle)


def _elsewhere(pid: int, mountpoint: str) -> str:
    return f"the daemon of {mountpoint} calls itself process {pid}, which it is not here; is it in a container?"


def _ends(daemon: int, *, within: float) -> bool:
    """Wait for the end of the process behind the pidfd *daemon*; tell whether it came in time."""
    poll = select.poll()
    poll.register(daemon, select.POLLIN)
    return bool(poll.poll(within * 1000))
