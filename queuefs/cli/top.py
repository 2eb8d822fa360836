"""`queuefs top`: shows the queues of a mount while they live."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import click

from queuefs.cli.arguments import QueuePath
from queuefs.cli.refusals import refusals
from queuefs.cli.signals import be_a_plain_tool, in_good_order
from queuefs.view.app import App
from queuefs.view.screen import Screen
from queuefs.view.terminal import Terminal
from queuefs.view.text import age, shown, table
from queuefs.view.watcher import Watcher

if TYPE_CHECKING:
    from queuefs.view.mounts import Place

_HEAD = ("QUEUE", "PENDING", "PROCESSING", "DEAD", "OLDEST")


@click.command(short_help="Watch the queues of a mount.")
@click.argument("mount", metavar="MOUNT", type=QueuePath(root=True))
@click.option(
    "--interval",
    metavar="S",
    type=click.FloatRange(min=0.1, max=3600),
    default=1.0,
    show_default=True,
    help="Seconds between two looks.",
)
@click.option("--once", is_flag=True, help="Print all queues as plain text, and end.")
def top(mount: Place, interval: float, *, once: bool) -> None:
    """Watch the queues of MOUNT, which may be a queue as well: then it is those below it.

    It shows how many messages there are, how many come and are done a second, and for how long the oldest pending one
    has been there. Keys pause and resume a queue, retry its dead messages, clear it, and look into it; ? lists them.

    Each time, the queues on the screen are looked at; through the others a walk goes on for a tenth of the time. So
    what is not on the screen, the totals and the order may be as they were a while ago; the last line says how long.
    """
    if once:
        be_a_plain_tool()
        _print_once(mount)
        return
    if not os.isatty(1):
        raise click.UsageError("stdout is no terminal; --once prints what there is")
    screen = Screen()
    terminal = Terminal(plain=screen.is_dumb)
    with in_good_order(), terminal.taken():
        App(mount, interval, screen, terminal).run()


def _print_once(mount: Place) -> None:
    with refusals(mount.path):
        found = Watcher(mount, interval=0).all()
    rows: list[tuple[str, ...]] = [_HEAD]
    for path, name in sorted((found.names or {}).items(), key=lambda item: item[1]):
        sample = found.samples.get(path)
        if sample is not None:
            look = sample.look
            counts = (str(look.pending), str(look.processing), str(look.dead), age(look.oldest))
            rows.append((f"{shown(name)}{' (paused)' if sample.paused else ''}", *counts))
    click.echo(f"{len(rows) - 1} queues in {shown(mount.path)} at {time.strftime('%H:%M:%S')}")
    for line in table(rows, right=frozenset(range(1, len(_HEAD)))):
        click.echo(line)
