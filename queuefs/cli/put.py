"""`queuefs put`: enqueues files, standard input or lines."""

from __future__ import annotations

import errno
import itertools
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from queuefs import values
from queuefs.cli.arguments import QueuePath, Value, word
from queuefs.cli.exits import Exit, UserError
from queuefs.cli.refusals import refusal
from queuefs.cli.sending import PIECE, send, send_lines, write_all
from queuefs.cli.signals import be_a_plain_tool
from queuefs.view.text import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from queuefs.view.mounts import Place

_STDIN, _STDOUT = 0, 1


@click.command(short_help="Enqueue files or standard input.")
@click.argument("queue", metavar="QUEUE", type=QueuePath(root=False))
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path())
@click.option("--priority", metavar="N", type=Value("number", values.priority), help="Higher is handed out first; 0.")
@click.option("--delay", metavar="S", type=Value("seconds", values.seconds), help="Not handed out before S seconds.")
@click.option(
    "--ttl", metavar="S", type=Value("seconds", values.seconds), help="Removed if it is pending after S seconds."
)
@click.option(
    "--timeout", metavar="S", type=Value("seconds", values.some_seconds), help="The time a worker may take for it."
)
@click.option(
    "--key",
    metavar="TEXT",
    type=Value("text", word),
    help="A repetition, while a message with this key is unacknowledged, is dropped; the id is that of the first.",
)
@click.option("--strict", is_flag=True, help="With --key: a repetition is refused.")
@click.option("--lines", is_flag=True, help="Each line is a message, without its newline; empty lines are skipped.")
@click.option("-q", "--quiet", is_flag=True, help="Print no ids; with --lines, this is much faster.")
def put(queue: Place, files: tuple[str, ...], *, lines: bool, quiet: bool, **wishes: str | bool | None) -> None:
    """Enqueue each FILE as one message, byte for byte; - or no FILE is standard input.

    Prints the id of each message once it is stored. A message that can't be read or written to its end is not
    enqueued, nor is one that is being written when a signal ends the command. The first failure ends it: what stands
    behind it is not enqueued either, and what was printed before is.
    """
    be_a_plain_tool()
    if wishes["strict"] and not wishes["key"]:
        raise click.UsageError("--strict needs --key")
    options = [f"{name}={text}" for name, text in wishes.items() if isinstance(text, str)]
    options += ["strict"] if wishes["strict"] else []
    sources = files or ("-",)
    _check(sources)
    for source in sources:
        with _opened(source) as fd:
            _enqueue(queue, options, source, fd, lines=lines, quiet=quiet)


def _check(sources: tuple[str, ...]) -> None:
    """Refuse what can't be read before anything is enqueued."""
    if sources.count("-") > 1:
        raise click.UsageError("standard input can be read only once")
    for source in sources:
        try:
            mode = os.stat(_STDIN if source == "-" else source).st_mode  # noqa: PTH116 - a descriptor has no Path
        except OSError as error:
            raise _unreadable(source, error) from error
        if stat.S_ISDIR(mode):
            raise UserError(f"{_called(source)} is a directory", Exit.FAILED)
        if source != "-" and not os.access(source, os.R_OK, effective_ids=True):
            raise UserError(f"{_called(source)}: permission denied", Exit.FAILED)


@contextmanager
def _opened(source: str) -> Iterator[int]:
    if source == "-":
        yield _STDIN
        return
    try:
        fd = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise _unreadable(source, error) from error
    try:
        yield fd
    finally:
        os.close(fd)


def _enqueue(queue: Place, options: list[str], source: str, fd: int, *, lines: bool, quiet: bool) -> None:
    try:
        if lines and quiet:
            send_lines(queue.path, options, _as_it_comes(source, fd))
        elif lines:
            for line in _lines(_as_it_comes(source, fd)):
                _print(send(queue.path, options, line))
        else:
            size = _size(fd)
            message = send(queue.path, options, _whole(source, fd, size), size)
            if not quiet:
                _print(message)
    except OSError as error:
        raise refusal(f"{queue.path}, {_called(source)}", error) from error


def _size(fd: int) -> int | None:
    """Return how many bytes are to be read from *fd*, if that can be known; a size of 0, as in /proc, means nothing."""
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        return None
    rest = found.st_size - os.lseek(fd, 0, os.SEEK_CUR)
    return rest if rest > PIECE else None


def _whole(source: str, fd: int, size: int | None) -> Iterator[bytes]:
    """Yield what *fd* holds, or *size* bytes of it, in pieces that are full but for the last."""
    done = 0
    while size is None or done < size:
        piece = b"".join(_up_to(PIECE if size is None else min(PIECE, size - done), source, fd))
        if not piece and size is not None:
            raise UserError(f"{_called(source)} became shorter while it was read", Exit.FAILED)
        if not piece:
            return
        done += len(piece)
        yield piece


def _up_to(wanted: int, source: str, fd: int) -> Iterator[bytes]:
    while wanted and (piece := _read(source, fd, wanted)):
        wanted -= len(piece)
        yield piece


def _as_it_comes(source: str, fd: int) -> Iterator[bytes]:
    """Yield what *fd* holds in pieces as they are to be had."""
    while piece := _read(source, fd, PIECE):
        yield piece


def _read(source: str, fd: int, size: int) -> bytes:
    try:
        return os.read(fd, size)
    except OSError as error:
        raise _unreadable(source, error) from error


def _lines(pieces: Iterator[bytes]) -> Iterator[Iterator[bytes]]:
    """Yield the lines of *pieces* that are not empty, each in pieces itself; each is to be read to its end."""
    rest = b""

    def line(first: bytes) -> Iterator[bytes]:
        nonlocal rest
        piece = first
        while piece:
            head, newline, rest = piece.partition(b"\n")
            if head:
                yield head
            if newline:
                return
            piece = next(pieces, b"")

    while rest or (rest := next(pieces, b"")):
        whole = line(rest)
        if first := next(whole, b""):
            yield itertools.chain([first], whole)


def _print(message: str) -> None:
    try:
        write_all(_STDOUT, f"{message}\n".encode())
    except OSError as error:
        raise UserError(
            f"message {message} is enqueued; stdout: {os.strerror(error.errno or errno.EIO)}", Exit.FAILED
        ) from error


def _unreadable(source: str, error: OSError) -> UserError:
    return UserError(f"{_called(source)}: {os.strerror(error.errno or errno.EIO)}", Exit.FAILED)


def _called(source: str) -> str:
    return "standard input" if source == "-" else shown(source)
