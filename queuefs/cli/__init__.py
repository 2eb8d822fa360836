"""The `queuefs` command; each subcommand is a module of this package, loaded when it is used."""

from __future__ import annotations

from importlib import import_module

import click

from queuefs import __version__

__all__ = ["main"]

#: What each subcommand is loaded from; loading all would make the quick ones wait for the daemon's libraries.
_COMMANDS = {
    "mount": ("queuefs.cli.mount", "mount"),
    "umount": ("queuefs.cli.umount", "umount"),
}


class _LazyGroup(click.Group):
    def list_commands(self, _ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        module, attribute = _COMMANDS[name]
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="%(prog)s %(version)s")
def main() -> None:
    """Message queues as files.

    A mount shows queues as directories; echo, cat and mkdir are all a program needs to use them.
    """
