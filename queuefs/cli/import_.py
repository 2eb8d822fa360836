"""`queuefs import`: puts what `queuefs export` wrote into a store."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import click
import trio

from queuefs.cli import stores
from queuefs.cli.exits import Exit, UserError
from queuefs.clock import Clock
from queuefs.errors import QueueFSError
from queuefs.transfer.importer import Importer
from queuefs.transfer.terms import Imported, Terms
from queuefs.view.text import shown

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from queuefs.backend import Backend

_STDIN = 0
_PIECE_BYTES = 1024 * 1024

#: Seconds between two signs of life, where other daemons may take what a dead one has begun to write.
_BEAT_SECONDS = 5.0

_IN_USE = "unmount it first, or write to .queuefs/import in its mount"


@click.command("import", short_help="Put what was exported into a store.")
@click.argument("file", metavar="[FILE]", default="-", type=click.Path())
@stores.backend_option
@click.option("--overwrite-config", is_flag=True, help="Set the config of queues that are there already, too.")
@click.option(
    "--renumber",
    is_flag=True,
    help="Give the messages new ids, in the same order, if this store may have given theirs.",
)
@click.option(
    "--resume", is_flag=True, help="Go on with an import of this very export that was broken off: skip what is there."
)
@click.option("--release", is_flag=True, help="Make messages in processing pending, if nobody holds them any more.")
@click.option("--dry-run", is_flag=True, help="Look at every line and say what would be done; change nothing.")
def import_(file: str, backend: str | None, **asked: bool) -> None:
    """Put the queues, messages and records of an export into a store; FILE is what `queuefs export` wrote, or stdin.

    Messages keep their ids, places, attempts and leases: who holds one can acknowledge it after the move. If this store
    may have given one of the ids, nothing is done without --renumber or --resume. Queues that are there already are
    added to. A line that can't be used ends the import with exit code 65; what was done before stays, and --resume goes
    on from there.
    """
    terms = Terms(**asked)
    if terms.renumber and terms.resume:
        raise click.UsageError("--renumber and --resume exclude each other")
    fd = _open(file)
    url = stores.store_url(backend, must_exist=terms.dry_run)
    imported = stores.run(partial(_import, fd, url, terms))
    click.echo(f"{'would import' if terms.dry_run else 'imported'} {imported}")


def _open(file: str) -> int:
    if file == "-":
        return _STDIN
    try:
        return os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise UserError(f"{shown(file)}: {error.strerror}", Exit.FAILED) from error


async def _import(fd: int, url: str, terms: Terms) -> Imported:
    async with stores.opened(url, in_use=_IN_USE) as store:
        clock = Clock(await store.load_clock())
        importer = Importer(store, clock, terms)

        def describe() -> str:
            expected = f" of {importer.header.messages:,}" if importer.header else ""
            return f"{importer.imported.messages + importer.imported.skipped:,}{expected} messages imported"

        async with _alive(store, clock), stores.shown_progress(describe), _told_how_far(importer):
            while data := await trio.to_thread.run_sync(os.read, fd, _PIECE_BYTES, abandon_on_cancel=True):
                await importer.feed(data)
            return await importer.finish()


@asynccontextmanager
async def _told_how_far(importer: Importer) -> AsyncIterator[None]:
    """Let an error say what was done before it."""
    try:
        yield
    except QueueFSError as error:
        raise UserError(f"{error} ({_before(importer)})", stores.code_of(error)) from error
    except OSError as error:
        await importer.abandon()
        raise UserError(f"the export can't be read: {error.strerror} ({_before(importer)})", Exit.FAILED) from error
    except BaseException:
        await importer.abandon()
        click.echo(f"queuefs: ended before all was imported ({_before(importer)})", err=True)
        raise


def _before(importer: Importer) -> str:
    done = importer.imported
    nothing = not (done.queues or done.messages or done.records)
    return "nothing was imported" if nothing else f"imported before: {done}"


@asynccontextmanager
async def _alive(store: Backend, clock: Clock) -> AsyncIterator[None]:
    """Give signs of life, so that no other daemon takes a message that is half here for a dead one's."""

    async def beat() -> None:
        while True:
            await trio.sleep(_BEAT_SECONDS)
            await store.tick(now=clock.now(), limit=1)

    if not store.traits.shared:
        yield
        return
    await store.tick(now=clock.now(), limit=1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(beat)
        yield
        nursery.cancel_scope.cancel()
