"""A store that a command opens by itself, without a mount."""

from __future__ import annotations

import logging
import os
import signal
import sys
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import click
import trio

from queuefs import log
from queuefs.cli import places
from queuefs.cli.exits import Exit, UserError, sole_error
from queuefs.cli.signals import Ended, ending_signals, in_good_order
from queuefs.errors import BackendError, BadValue, QueueFSError, QueueNotFound, StoreDamaged, StoreInUse
from queuefs.registry import open_backend, redacted
from queuefs.view.text import shown

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from queuefs.backend import Backend

T = TypeVar("T")

#: Seconds between two looks at how far it is.
_LOOK_SECONDS = 0.2

backend_option = click.option(
    "--backend",
    metavar="URL",
    help="The store, as `queuefs mount` takes it. Without it $QUEUEFS_BACKEND counts, and then the SQLite file in the "
    "state directory.",
)


def store_url(url: str | None, *, must_exist: bool) -> str:
    """Return the URL of the store that is meant; one that is to be made is made for its owner alone.

    Raises:
        UserError: there is none, and *must_exist*.
    """
    if url == "":
        raise UserError("--backend: a URL is expected", Exit.USAGE)
    os.umask(0o077)  # messages are their owner's, in a store as in an export
    chosen = url or os.environ.get("QUEUEFS_BACKEND") or places.default_store()
    try:
        file = places.sqlite_file(chosen)
    except QueueFSError as error:
        raise UserError(str(error), Exit.USAGE) from error
    if must_exist and file is not None and not file.exists():
        raise UserError(f"there is no store at {shown(str(file))}", Exit.NO_STORE)
    if chosen == places.default_store():
        places.state_dir().mkdir(parents=True, exist_ok=True)
    return chosen


@asynccontextmanager
async def opened(url: str, *, in_use: str) -> AsyncIterator[Backend]:
    """Hold the store at *url* open.

    Args:
        url: Where it is.
        in_use: What can be done if a daemon has it open.

    Raises:
        UserError: it can't be opened, or ends with its daemon.
    """
    async with AsyncExitStack() as stack:
        try:
            backend = await stack.enter_async_context(open_backend(url))
        except StoreInUse as error:
            raise UserError(f"{error}; {in_use}", Exit.BUSY) from error
        except BackendError as error:
            raise UserError.from_store(error) from error
        if not backend.traits.durable:
            raise UserError(f"{redacted(url)} lives in a daemon, and no other process has it", Exit.NO_STORE)
        yield backend


def run(work: Callable[[], Awaitable[T]], *, logged: int = logging.WARNING) -> T:
    """Do *work*, and return its result; a signal cancels it, and ends the process once all is in order.

    Args:
        work: What is to be done.
        logged: What is logged on stderr, from this level on.

    Raises:
        UserError: it failed.
    """
    log.set_up(debug=False)
    logging.getLogger().setLevel(logged)
    with in_good_order():
        try:
            return trio.run(partial(_until_signal, work))
        except BaseException as error:
            sole = sole_error(error)
            if isinstance(sole, QueueFSError):
                raise UserError(str(sole), code_of(sole)) from error
            raise sole from (None if sole is error else error)
    raise AssertionError  # not reached: the block returns or raises


def code_of(error: QueueFSError) -> Exit:
    """Return the exit code for *error*, met in an open store."""
    match error:
        case BadValue() | StoreDamaged():
            return Exit.BAD_DATA
        case BackendError():
            return Exit.NO_STORE
        case QueueNotFound():
            return Exit.NO_MOUNT_POINT
        case _:
            return Exit.FAILED


async def _until_signal(work: Callable[[], Awaitable[T]]) -> T:
    came: list[int] = []
    results: list[T] = []

    async def heed(signals: AsyncIterator[int], scope: trio.CancelScope) -> None:
        async for number in signals:
            came.append(number)
            scope.cancel()
            signal.signal(number, signal.SIG_DFL)  # a second one ends the process at once

    with trio.open_signal_receiver(*ending_signals()) as signals:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(heed, signals, nursery.cancel_scope)
            results.append(await work())
            nursery.cancel_scope.cancel()
    if not results:
        raise Ended(came[0])
    return results[0]


@asynccontextmanager
async def shown_progress(describe: Callable[[], str]) -> AsyncIterator[None]:
    """Show on a terminal how far it is, for as long as the block takes."""
    if not sys.stderr.isatty():
        yield
        return

    async def show() -> None:
        try:
            while True:
                await trio.sleep(_LOOK_SECONDS)
                click.echo(f"\r\033[K{describe()}", err=True, nl=False)
        finally:
            click.echo("\r\033[K", err=True, nl=False)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(show)
        yield
        nursery.cancel_scope.cancel()
