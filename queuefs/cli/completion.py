"""`queuefs completion`: prints what makes a shell complete this command's words."""

from __future__ import annotations

import click

from queuefs.cli.shells import SCRIPTS
from queuefs.cli.signals import be_a_plain_tool


@click.command(short_help="Print the script for completion in a shell.")
@click.argument("shell", metavar="SHELL", type=click.Choice(sorted(SCRIPTS)))
def completion(shell: str) -> None:
    """Print what makes SHELL (bash, zsh or fish) complete commands, options, queues and back end URLs.

    For the shell at hand: eval "$(queuefs completion bash)", likewise with zsh; queuefs completion fish | source.
    """
    be_a_plain_tool()
    click.echo(SCRIPTS[shell], nl=False)
