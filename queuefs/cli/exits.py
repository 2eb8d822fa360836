"""The exit codes of the command, and the error that ends it with one line."""

from __future__ import annotations

from enum import IntEnum
from typing import IO, Any

import click

from queuefs.errors import QueueFSError, StoreInUse


class Exit(IntEnum):
    """How the command ended; from 64 on after sysexits(3)."""

    OK = 0
    FAILED = 1
    USAGE = 2
    EMPTY = 3
    BAD_DATA = 65
    NO_MOUNT_POINT = 66
    NO_STORE = 69
    BUG = 70
    NO_FUSE = 71
    REFUSED = 73
    BUSY = 75
    NOT_PERMITTED = 77


#: A sentence for each, as the reference page has it.
MEANINGS = {
    Exit.OK: "It is done.",
    Exit.FAILED: "It was not done, for a reason that no other code names; the message or the log says why.",
    Exit.USAGE: "The command line is wrong.",
    Exit.EMPTY: "`get`: there was no message to take.",
    Exit.BAD_DATA: "`import`: a line can't be used. `check`: the store has problems. `export`: messages are damaged.",
    Exit.NO_MOUNT_POINT: "DIR can't be mounted on, or is not a mount of QueueFS; QUEUE or PATH is no queue in one.",
    Exit.NO_STORE: "The back end can't be reached or opened, or the daemon of the mount is gone.",
    Exit.BUG: "A bug in QueueFS; the log has the traceback.",
    Exit.NO_FUSE: "This machine or container does not offer FUSE.",
    Exit.REFUSED: "The queue does not take the message: it is full, the message is longer than it or its store allows, "
    "or it is a repetition and `--strict` was asked for.",
    Exit.BUSY: "DIR is mounted already, another daemon has the store open, or the daemon did not end in time; "
    "a message of the queue that `rm` should remove is being written.",
    Exit.NOT_PERMITTED: "This user may not do that.",
}


class UserError(click.ClickException):
    """Something that the user can put right: one line, no traceback."""

    def __init__(self, message: str, exit_code: Exit) -> None:
        """Keep the sentence and the code."""
        super().__init__(" ".join(message.split()))
        self.exit_code = exit_code  # type: ignore[misc]  # click reads it from the instance

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the line to stderr."""
        click.echo(f"queuefs: {self.message}", file=file, err=file is None)

    @classmethod
    def from_store(cls, error: QueueFSError) -> UserError:
        """Return what the user is told when the back end or the mount can't be opened."""
        return cls(str(error), Exit.BUSY if isinstance(error, StoreInUse) else Exit.NO_STORE)


def sole_error(error: BaseException) -> BaseException:
    """Return the one error within the groups that nurseries make."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
