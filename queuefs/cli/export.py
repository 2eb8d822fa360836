"""`queuefs export`: writes what a store holds as lines of JSON."""

from __future__ import annotations

import logging
import os
import signal
from contextlib import aclosing, suppress
from functools import partial
from typing import TYPE_CHECKING

import click
import trio

from queuefs.cli import stores
from queuefs.cli.exits import Exit, UserError
from queuefs.cli.output import FileOutput, Output
from queuefs.cli.sending import write_all
from queuefs.cli.signals import Ended
from queuefs.clock import Clock
from queuefs.transfer.contents import Progress
from queuefs.transfer.export import export as lines_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence

#: Bytes that are written at a time, and somewhat more.
_PIECE_BYTES = 256 * 1024

_STDOUT = 1

_IN_USE = "unmount it first, or read .queuefs/export in its mount"


@click.command(short_help="Write what a store holds as lines of JSON.")
@click.argument("queues", metavar="[QUEUE]...", nargs=-1)
@stores.backend_option
@click.option(
    "-o", "--output", "file", metavar="FILE", type=click.Path(), help="Write to FILE, which appears when it is whole."
)
def export(queues: tuple[str, ...], backend: str | None, file: str | None) -> None:
    """Write all queues of a store, with their messages and records, as lines of JSON; `queuefs import` reads them.

    With QUEUE, a path from the root of the store such as jobs/mail, it is that queue and what is below it. Nothing in
    the store changes. A message whose payload is damaged is marked and named on stderr, and the exit code is 65.
    """
    output = Output() if file is None else FileOutput(file)
    output.check()
    url = stores.store_url(backend, must_exist=True)
    roots = [tuple(name for name in queue.split("/") if name) for queue in queues]
    try:
        progress = stores.run(partial(_export, url, roots, output), logged=logging.CRITICAL)
    finally:
        if output.unfinished is not None:
            with suppress(FileNotFoundError):
                os.unlink(output.unfinished)  # noqa: PTH108 - a name, as the rest of the output has it
    _tell_damage(progress)


async def _export(url: str, roots: Sequence[Sequence[str]], output: Output) -> Progress:
    progress = Progress()

    def describe() -> str:
        expected = f" of {progress.header.messages:,}" if progress.header else ""
        return f"{progress.totals.messages:,}{expected} messages exported"

    async with stores.opened(url, in_use=_IN_USE) as store:
        clock = Clock(await store.load_clock())
        lines = lines_of(store, clock, roots=roots, alone=not store.traits.shared, progress=progress)
        async with aclosing(lines), stores.shown_progress(describe):
            await _write(output, partial(_gathered, lines))
    return progress


async def _write(output: Output, following: Callable[[], Awaitable[bytes]]) -> None:
    """Write pieces until there are no more; to a file whole or not at all."""
    if isinstance(output, FileOutput):

        def pieces() -> Iterator[bytes]:
            while piece := trio.from_thread.run(following):
                yield piece

        await trio.to_thread.run_sync(output.write, pieces())
        return
    while piece := await following():
        # Whoever reads it may pause for as long as he likes; a signal ends us all the same.
        await trio.to_thread.run_sync(_to_stdout, piece, abandon_on_cancel=True)
    await trio.to_thread.run_sync(output.write, [])


async def _gathered(lines: AsyncIterator[bytes]) -> bytes:
    """Return the next lines, a good piece of them; empty at the end."""
    found, size = [], 0
    async for line in lines:
        found.append(line)
        size += len(line)
        if size >= _PIECE_BYTES:
            break
    return b"".join(found)


def _to_stdout(piece: bytes) -> None:
    try:
        write_all(_STDOUT, piece)
    except BrokenPipeError:
        raise Ended(signal.SIGPIPE) from None
    except OSError as error:
        raise UserError(f"stdout: {error.strerror}", Exit.FAILED) from error


def _tell_damage(progress: Progress) -> None:
    for message in progress.damaged:
        click.echo(f"queuefs: message {message} is damaged", err=True)
    count = progress.totals.damaged
    if count:
        what, them = ("message is", "it") if count == 1 else ("messages are", "them")
        raise UserError(f"all is exported, but {count} {what} damaged: an import makes {them} dead", Exit.BAD_DATA)
