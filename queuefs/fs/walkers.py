"""Programs that walk a tree and open every file in it.

They shall take no message, not wait for ever, and not read the whole store beside its messages.

open(2) shows many of them by a flag that no program sets which was told the name of a file to read: O_NOFOLLOW, since
what was a file when the walker looked may be a link by now, or O_NOATIME, since nobody is to see that it was there.
Observed by strace: O_NOFOLLOW with GNU `cp -r` and `cp -a`, `tar`, `rsync -a`, `grep -r`, restic and borg; O_NOATIME
with borg and GLib, which file managers use to find out what is in a file. Neither with shells, `cat` and its like, nor
with the usual ways of opening a file in C, Python, Perl, Node, Go, Rust and Java.

Others open as `cat` does (`zip`, `grep -R`, `rg`, BusyBox and uutils `cp -r`, ...) and are not told from it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from queuefs.errors import AccessDenied

if TYPE_CHECKING:
    from queuefs.fs.control import ControlFile

WALKS = os.O_NOFOLLOW | os.O_NOATIME


def keep_out(control: ControlFile, flags: int) -> None:
    """Refuse to open *control* with the flags of a walker, if it is not for walkers.

    By EACCES, since GLib opens once more without O_NOATIME after EPERM.

    Raises:
        AccessDenied: it is refused.
    """
    if flags & WALKS and not control.for_walkers:
        raise AccessDenied(f"{control.name}: not with O_NOFOLLOW or O_NOATIME, by which programs walk whole trees")
