"""`queuefs mount`: checks what can be checked beforehand, and becomes or starts the daemon."""

from __future__ import annotations

import faulthandler
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import click
import structlog
import trio

from queuefs import daemon
from queuefs.cli import places
from queuefs.cli.background import run_in_background
from queuefs.cli.candidates import mount_options, urls
from queuefs.cli.exits import Exit, UserError, sole_error
from queuefs.cli.mountpoint import clear_dead, require_fuse, require_usable
from queuefs.errors import BadValue, QueueFSError
from queuefs.log import open_private, set_up
from queuefs.settings import MountOptions, parse_options

if TYPE_CHECKING:
    from collections.abc import Callable

_STDERR = 2


@click.command(short_help="Mount a store of queues.")
@click.argument("directory", metavar="DIR", type=click.Path(readable=False))
@click.option(
    "--backend",
    metavar="URL",
    shell_complete=lambda _ctx, _param, begun: urls(begun),
    help="Where the queues are kept: memory:, sqlite:///PATH or redis://HOST:PORT/DB?prefix=NAME. "
    "Without it $QUEUEFS_BACKEND counts (it keeps a password out of ps), and then an SQLite file in the state "
    "directory: /var/lib/queuefs/queue.db for root, ~/.local/state/queuefs/queue.db for others.",
)
@click.option("-f", "--foreground", is_flag=True, help="Stay in front, for service managers and containers.")
@click.option(
    "-o",
    "options",
    metavar="OPTION[,OPTION]...",
    multiple=True,
    shell_complete=lambda _ctx, _param, begun: mount_options(begun),
    help="Mount options: allow_other or noallow_other (whether other users may enter; root's default is that they "
    "may), lease=SECONDS (how long a dequeued message belongs to its reader; 300), max_message_bytes=N (the longest "
    "message; 67108864), debug (log in detail); and FUSE's noatime, nodev, noexec, nosuid.",
)
@click.option(
    "--log-file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Log to FILE. Without it a daemon in front logs to stderr, one in the background to /var/log/queuefs.log for "
    "root, ~/.local/state/queuefs/queuefs.log for others.",
)
def mount(
    directory: str, backend: str | None, options: tuple[str, ...], log_file: Path | None, *, foreground: bool
) -> None:
    """Mount a store of queues at DIR, an empty directory.

    The command returns once the mount answers, and a daemon goes on in the background. If DIR is the mount of a
    daemon that has died, that is cleared first. `queuefs umount DIR` or SIGTERM ends the daemon in good order.
    """
    chosen = _chosen(options)
    mountpoint = os.path.realpath(directory)
    require_fuse(allow_other=chosen.allow_other)
    clear_dead(mountpoint)
    require_usable(mountpoint)
    if backend == "":
        raise UserError("--backend: a URL is expected", Exit.USAGE)
    url = backend or os.environ.get("QUEUEFS_BACKEND") or places.default_store()
    _require_outside(mountpoint, url)
    os.umask(0o077)  # what the daemon makes is its own: the store, the log
    try:
        if url == places.default_store():
            places.state_dir().mkdir(parents=True, exist_ok=True)
        if foreground:
            _serve(url, mountpoint, chosen, log_file, when_ready=lambda: None)
        else:
            log_file = (log_file or places.default_log_file()).absolute()
            log_file.parent.mkdir(parents=True, exist_ok=True)
            _start(url, mountpoint, chosen, log_file)
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}", Exit.NOT_PERMITTED) from error


def _chosen(words: tuple[str, ...]) -> MountOptions:
    try:
        return parse_options(words, allow_other=os.geteuid() == 0)
    except BadValue as error:
        raise UserError(str(error), Exit.USAGE) from error


def _require_outside(mountpoint: str, url: str) -> None:
    """Refuse a store below the mount point: the daemon would wait for itself."""
    try:
        file = places.sqlite_file(url)
    except QueueFSError as error:
        raise UserError(str(error), Exit.USAGE) from error
    if file is not None and file.is_relative_to(mountpoint):
        raise UserError(f"{file} is below the mount point {mountpoint}", Exit.NO_STORE)


def _start(url: str, mountpoint: str, options: MountOptions, log_file: Path) -> None:
    def work(when_ready: Callable[[], None]) -> None:
        try:
            with open_private(log_file) as log:
                os.dup2(log.fileno(), _STDERR)  # for what Python itself has to say when it crashes
        except OSError as error:
            raise UserError(f"{log_file}: {error.strerror}", Exit.NOT_PERMITTED) from error
        _serve(url, mountpoint, options, log_file, when_ready=when_ready)

    run_in_background(work, log_file=log_file)


def _serve(
    url: str, mountpoint: str, options: MountOptions, log_file: Path | None, *, when_ready: Callable[[], None]
) -> None:
    """Be the daemon until it ends.

    Raises:
        UserError: the daemon could not start, or a bug ended it; the log has the traceback then.
    """
    set_up(debug=options.debug, file=log_file)
    faulthandler.enable(_STDERR)
    faulthandler.register(signal.SIGUSR1, _STDERR)
    try:
        trio.run(lambda: daemon.run(url, mountpoint, options, when_ready=when_ready))
    except BaseException as error:
        sole = sole_error(error)
        if isinstance(sole, QueueFSError):
            raise UserError.from_store(sole) from error
        if isinstance(sole, KeyboardInterrupt):
            raise sole from None
        if _is_refusal(sole):
            where = f"the log says why: {log_file}" if log_file else "the line before says why"
            raise UserError(f"FUSE refuses to mount on {mountpoint}; {where}", Exit.NO_FUSE) from error
        structlog.get_logger(__name__).critical("the daemon failed", exc_info=error)
        raise UserError(f"the daemon failed: {type(sole).__name__}: {sole}", Exit.BUG) from error


def _is_refusal(error: BaseException) -> bool:
    """Tell whether libfuse could not mount; it prints the reason, and pyfuse3 has no better name for it."""
    return isinstance(error, RuntimeError) and str(error).startswith("fuse_session_")
