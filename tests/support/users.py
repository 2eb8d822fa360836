"""Other users, by their numbers: the kernel and the daemon ask for no more."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class User:
    """Somebody, who is in a group and perhaps in more."""

    uid: int
    gid: int
    groups: tuple[int, ...] = ()

    def sh(self, script: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run *script* as this user in *cwd*; return what it printed and how it ended."""
        return subprocess.run(
            ["sh", "-c", script],
            cwd=cwd,
            user=self.uid,
            group=self.gid,
            extra_groups=self.groups,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )


ROOT = User(0, 0)


@contextmanager
def acting_as(user: User) -> Iterator[None]:
    """Let all calls of this process within the block be *user*'s; it has no privileges then."""
    own = os.getgroups()
    os.setgroups(user.groups)
    os.setegid(user.gid)
    os.seteuid(user.uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(own)


def refusal(user: User, call: Callable[..., object], *arguments: object) -> int:
    """Return the errno that *call* fails with when *user* makes it; 0 if it succeeds."""
    with acting_as(user):
        try:
            call(*arguments)
        except OSError as error:
            return error.errno or -1
        return 0
