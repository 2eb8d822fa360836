"""The `queuefs` command; each subcommand is a module of this package, loaded when it is used."""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from queuefs import __version__
from queuefs.cli.exits import Exit, UserError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["main"]

#: What each subcommand is loaded from; loading all would make the quick ones wait for the daemon's libraries.
_COMMANDS = {
    "check": ("queuefs.cli.check", "check"),
    "completion": ("queuefs.cli.completion", "completion"),
    "export": ("queuefs.cli.export", "export"),
    "get": ("queuefs.cli.get", "get"),
    "import": ("queuefs.cli.import_", "import_"),
    "ls": ("queuefs.cli.ls", "ls"),
    "mount": ("queuefs.cli.mount", "mount"),
    "put": ("queuefs.cli.put", "put"),
    "rm": ("queuefs.cli.rm", "rm"),
    "top": ("queuefs.cli.top", "top"),
    "umount": ("queuefs.cli.umount", "umount"),
}


#: In the environment, it says that a shell asks how a line can go on.
_COMPLETE = "_QUEUEFS_COMPLETE"


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

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Return names of commands; what each does would have to be loaded."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only a shell that completes needs it

        names = [CompletionItem(name) for name in sorted(_COMMANDS) if name.startswith(incomplete)]
        return names or click.Command.shell_complete(self, ctx, incomplete)

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command and end the process; whatever is wrong is said in one line."""
        if _COMPLETE in os.environ:
            import_module("queuefs.cli.shells")  # which answers the shells
        try:
            code = super().main(*args, **{**kwargs, "complete_var": _COMPLETE, "standalone_mode": False})
        except click.UsageError as error:
            _one_line(error).show()
            code = Exit.USAGE
        except click.ClickException as error:
            error.show()
            code = error.exit_code
        except click.Abort:  # Ctrl-C, as click has it
            code = 128 + signal.SIGINT
        sys.exit(code or Exit.OK)


def _one_line(error: click.UsageError) -> UserError:
    """Return what click says of a wrong command line as our errors are: one line, which names the help."""
    sentence = error.format_message().rstrip(".")
    where = error.ctx.command_path if error.ctx else "queuefs"
    command = where.partition(" ")[2]
    prefix = f"{command}: " if command else ""
    return UserError(f"{prefix}{sentence} (see: {where} --help)", Exit.USAGE)


@click.group(
    cls=_LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Message queues as files.

    A mount shows queues as directories; echo, cat and mkdir are all a program needs to use them.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(Exit.USAGE)
