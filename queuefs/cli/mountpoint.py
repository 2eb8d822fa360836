"""What is at a directory: a live mount of ours, a dead one, or a place to mount on."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import stat
import subprocess
from pathlib import Path

from queuefs.cli.exits import Exit, UserError
from queuefs.view.mounts import FSTYPE, mountinfo

#: What a mount of ours answers at its root, and nothing else does.
_PID_XATTR = "user.queuefs.pid"

#: umount2(2)
_MNT_DETACH = 2


def daemon_of(directory: str) -> int | None:
    """Return the process id of the daemon that serves *directory*; None if it is not the root of a mount of ours."""
    try:
        return int(os.getxattr(directory, _PID_XATTR))
    except (OSError, ValueError):
        return None


def is_dead(directory: str) -> bool:
    """Tell whether *directory* is a mount whose daemon is gone.

    statvfs(3) always asks the daemon; the kernel may answer stat(2) from what it remembers of one that has died.
    """
    try:
        os.statvfs(directory)
    except OSError as error:
        return error.errno in (errno.ENOTCONN, errno.ECONNABORTED)
    return False


def clear_dead(directory: str) -> None:
    """Take a mount of ours away whose daemon is gone, also if programs still have files of it open.

    Raises:
        UserError: it is not ours, or can't be taken away.
    """
    while is_dead(directory):
        if FSTYPE not in _types_at(directory):
            raise UserError(f"{directory} is a dead mount of something else", Exit.NO_MOUNT_POINT)
        _detach(directory)


def require_usable(directory: str) -> None:
    """Check that *directory* can be mounted on.

    Raises:
        UserError: it can't.
    """
    if (pid := daemon_of(directory)) is not None:
        raise UserError(f"{directory} is mounted already (by process {pid})", Exit.BUSY)
    try:
        if not stat.S_ISDIR(Path(directory).stat().st_mode):
            raise UserError(f"{directory} is not a directory", Exit.NO_MOUNT_POINT)
        if any(Path(directory).iterdir()):
            raise UserError(f"{directory} is not empty; a mount would hide what is in it", Exit.NO_MOUNT_POINT)
        if not os.access(directory, os.W_OK):  # fusermount3 asks for this, and says so where only the log hears it
            raise UserError(f"this user may not write to {directory}, and so not mount on it", Exit.NOT_PERMITTED)
    except FileNotFoundError:
        raise UserError(f"there is no directory {directory}", Exit.NO_MOUNT_POINT) from None
    except PermissionError as error:
        raise UserError(f"{directory}: {error.strerror}", Exit.NOT_PERMITTED) from error
    except OSError as error:
        raise UserError(f"{directory}: {error.strerror}", Exit.NO_MOUNT_POINT) from error


def require_fuse(*, allow_other: bool) -> None:
    """Check that this machine lets this user mount.

    Raises:
        UserError: with what is missing.
    """
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC))
    except PermissionError:
        raise UserError("this user may not open /dev/fuse (see: ls -l /dev/fuse)", Exit.NOT_PERMITTED) from None
    except OSError as error:
        raise UserError(
            f"no FUSE here: /dev/fuse: {error.strerror} (modprobe fuse; in a container: --device /dev/fuse)",
            Exit.NO_FUSE,
        ) from error
    if os.geteuid() == 0:
        return
    if shutil.which("fusermount3") is None:
        raise UserError("fusermount3 is missing, which mounts for users (package fuse3)", Exit.NO_FUSE)
    if allow_other and not _users_may_allow_other():
        raise UserError("allow_other needs the line user_allow_other in /etc/fuse.conf", Exit.NOT_PERMITTED)


def _users_may_allow_other(conf: Path = Path("/etc/fuse.conf")) -> bool:
    try:
        lines = conf.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    return "user_allow_other" in (line.partition("#")[0].strip() for line in lines)


def _types_at(directory: str) -> list[str]:
    """Return the types of the file systems mounted on *directory*."""
    return [mounted.fstype for mounted in mountinfo() if mounted.path == directory]


def _detach(directory: str) -> None:
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.umount2(os.fsencode(directory), _MNT_DETACH) == 0:
            return
        reason = os.strerror(ctypes.get_errno())
    else:
        program = shutil.which("fusermount3")
        if program is None:
            raise UserError("fusermount3 is missing, which unmounts for users (package fuse3)", Exit.NO_FUSE)
        command = [program, "-u", "-z", "--", directory]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - no shell reads it
        if done.returncode == 0:
            return
        reason = done.stderr.strip()
    raise UserError(f"the dead mount at {directory} can't be taken away: {reason}", Exit.NOT_PERMITTED)
