"""What a user is told when a mount refuses a plain file operation: one sentence and an exit code for each errno."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from queuefs.cli.exits import Exit, UserError
from queuefs.view.text import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

_SAYINGS = {
    errno.ENOENT: (Exit.NO_MOUNT_POINT, "there is no such queue"),
    errno.ENOTDIR: (Exit.NO_MOUNT_POINT, "it is not a queue"),
    errno.ELOOP: (Exit.NO_MOUNT_POINT, "symbolic links lead round in a circle"),
    errno.ENOTCONN: (Exit.NO_STORE, "the daemon of this mount is gone"),
    errno.ECONNABORTED: (Exit.NO_STORE, "the daemon of this mount is gone"),
    errno.ESHUTDOWN: (Exit.NO_STORE, "the daemon of this mount is stopping"),
    errno.EIO: (Exit.NO_STORE, "the back end failed; the daemon's log says how"),
    errno.ENOSPC: (Exit.REFUSED, "the queue or its store is full"),
    errno.EFBIG: (Exit.REFUSED, "the message is longer than the queue takes"),
    errno.EEXIST: (Exit.REFUSED, "a message with this key is there already"),
    errno.EACCES: (Exit.NOT_PERMITTED, "permission denied"),
    errno.EPERM: (Exit.NOT_PERMITTED, "this is not permitted"),
    errno.ENAMETOOLONG: (Exit.USAGE, "the name, with all options in it, is too long for a file name"),
}


def refusal(what: str, error: OSError) -> UserError:
    """Return what is to be said of *error*, which *what* (a path, or words with one) met."""
    code, saying = _SAYINGS.get(error.errno or 0, (Exit.FAILED, os.strerror(error.errno or errno.EIO)))
    return UserError(f"{shown(what)}: {saying}", code)


@contextmanager
def refusals(what: str) -> Iterator[None]:
    """Let an OSError within the block be what the user is told of *what*."""
    try:
        yield
    except OSError as error:
        raise refusal(what, error) from error
