"""Makes the reference pages that are read off the code; `make docs` writes them, and a test compares."""

from __future__ import annotations

import errno
import inspect
from pathlib import Path
from typing import TYPE_CHECKING

from queuefs import cli, errors, lifecycle
from queuefs.cli.exits import MEANINGS

if TYPE_CHECKING:
    import click

DOCS = Path(__file__).parents[2] / "docs"

#: Columns of a help text, whatever terminal this runs in.
_WIDTH = 100

_CLI = """# The `queuefs` command

Everything that a mount can do is done with files; the command is for what files can't do.
stdout carries the answer only; what went wrong is one line on stderr, beginning with `queuefs: `.

This page is made from the command's own `--help` by `make docs`.

"""

_ERRORS = """# Errors

What a program sees as errno when a call on a file of the mount is refused, and what each refusal means.
The log has the same refusal with its details.
A bug in the daemon is EIO too; the log has its traceback, and the mount lives on.

This page is made from `queuefs/errors.py` by `make docs`.

"""


def cli_page() -> str:
    """Return docs/reference/cli.md."""
    whole = cli.main.make_context("queuefs", [], resilient_parsing=True, terminal_width=_WIDTH)
    page = _CLI + _help(whole)
    for name in cli.main.list_commands(whole):
        command = cli.main.get_command(whole, name)
        assert command is not None
        page += _help(command.make_context(name, [], whole, resilient_parsing=True, terminal_width=_WIDTH))
    page += "## Exit codes\n\n| code | name | meaning |\n| --- | --- | --- |\n"
    return page + "".join(f"| {code.value} | {code.name} | {meaning} |\n" for code, meaning in MEANINGS.items())


def _help(context: click.Context) -> str:
    return f"## `{context.command_path}`\n\n```text\n{context.get_help()}\n```\n\n"


def errors_page() -> str:
    """Return docs/reference/errors.md."""
    rows = "| errno | name | meaning |\n| --- | --- | --- |\n"
    for name, error in vars(errors).items():
        if inspect.isclass(error) and issubclass(error, errors.QueueFSError):
            rows += f"| {errno.errorcode[error.errno]} | `{name}` | {inspect.getdoc(error)} |\n"
    return _ERRORS + rows


def lifecycle_block() -> str:
    """Return the drawing that docs/explanation/lifecycle.md contains."""
    return f"```mermaid\n{lifecycle.mermaid()}```\n"


#: The pages that are made whole.
PAGES = {"reference/cli.md": cli_page, "reference/errors.md": errors_page}


def main() -> None:
    """Write every page, and the drawing in its place."""
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
    story = DOCS / "explanation" / "lifecycle.md"
    before, _, rest = story.read_text(encoding="utf-8").partition("```mermaid\n")
    story.write_text(before + lifecycle_block() + rest.partition("```\n")[2], encoding="utf-8")


if __name__ == "__main__":
    main()
