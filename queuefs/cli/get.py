"""`queuefs get`: takes the next message, and acknowledges it once it has been written."""

from __future__ import annotations

import errno
import os
import re
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click
from click.exceptions import Exit as Exited

from queuefs import values
from queuefs.cli.arguments import QueuePath, Value
from queuefs.cli.claiming import Claims
from queuefs.cli.exits import Exit, UserError
from queuefs.cli.guard import Guard
from queuefs.cli.output import FileOutput, Output
from queuefs.cli.refusals import refusals
from queuefs.cli.signals import in_good_order

if TYPE_CHECKING:
    from queuefs.cli.claiming import Claim
    from queuefs.view.mounts import Place

#: What `--wait` alone means.
_FOREVER = "forever"
_SECONDS = re.compile(r"[0-9.]+")


def _duration(text: str) -> object:
    return text if text == _FOREVER else values.seconds(text)


class _Get(click.Command):
    """A command whose `--wait` takes what stands behind it for its value only if that can be one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = iter(args)
        found = []
        for word in words:
            if word != "--wait":
                found.append(word)
                if word == "--":
                    break
                continue
            behind = next(words, None)
            if behind is not None and _SECONDS.fullmatch(behind):
                found.append(f"--wait={behind}")
            else:
                found += [f"--wait={_FOREVER}", *([] if behind is None else [behind])]
        return super().parse_args(ctx, [*found, *words])


@click.command(cls=_Get, short_help="Take the next message.")
@click.argument("queue", metavar="QUEUE", type=QueuePath(root=False))
@click.option(
    "--wait", metavar="[S]", type=Value("seconds", _duration), help="Wait for a message; with a number, for S seconds."
)
@click.option(
    "--lease",
    metavar="S",
    type=Value("seconds", values.some_seconds),
    help="How long the message belongs to this command, or with --no-ack to its receipt; the queue's own lease.",
)
@click.option(
    "-o", "--output", "file", metavar="FILE", type=click.Path(), help="Write to FILE, which appears when it is whole."
)
@click.option("--no-ack", is_flag=True, help="Leave it in processing, and print its receipt on stderr.")
@click.option("--json", "as_json", is_flag=True, help="Write the JSON line of `dequeue` instead of the payload.")
def get(queue: Place, wait: str | None, lease: str | None, file: str | None, *, no_ack: bool, as_json: bool) -> None:
    """Take the next message of QUEUE, write its payload to stdout, and acknowledge it.

    It is acknowledged after all of it has been written. If that fails, or a signal ends the command, the message is
    given back; this counts as an attempt. If there is nothing to take, nothing is written, and the exit code is 3.
    """
    options = [] if wait is None else ["wait" if wait == _FOREVER else f"wait={wait}"]
    options += [] if lease is None else [f"lease={lease}"]
    output = Output() if file is None else FileOutput(file)
    output.check()
    with in_good_order(), refusals(queue.path), ExitStack() as files:
        directory = os.open(queue.path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        files.callback(os.close, directory)
        with Guard(directory, output.unfinished) as guard:
            claims = Claims(directory, guard, files)
            claim = claims.claim(options, as_json=as_json)
            if claim is None:
                raise Exited(Exit.EMPTY)
            output.write(claim.pieces())
            if no_ack:
                click.echo(claim.receipt, err=True)
            else:
                _acknowledge(claims, claim)
            guard.hold("")


def _acknowledge(claims: Claims, claim: Claim) -> None:
    try:
        claims.ack(claim)
    except OSError as error:
        over = error.errno in (errno.ESTALE, errno.ENOENT)
        why = "its lease was over" if over else os.strerror(error.errno or errno.EIO)
        raise UserError(f"message {claim.message} is written, but not acknowledged: {why}", Exit.FAILED) from error
