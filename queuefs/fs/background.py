"""The kernel's limit of background requests on a mount.

Every RELEASE and every read through the page cache is one. With the kernel's limit of 12, as many readers that splice
and wait keep every RELEASE from the daemon, and with it the messages that would wake them (measured on Linux 6.18;
fs/fuse/dev.c, fuse_request_queue_background).
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import structlog

log = structlog.get_logger(__name__)

#: How many background requests the kernel may have under way.
MAX_BACKGROUND = 20_000

#: Where the kernel's control file system for FUSE belongs (fs/fuse/control.c); systemd mounts it, containers may not.
_CONNECTIONS = Path("/sys/fs/fuse/connections")


def raise_limit(mountpoint: str) -> bool:
    """Raise the limit of the FUSE mount at *mountpoint*, which must answer; return whether that could be done."""
    knob = _CONNECTIONS / str(os.minor(Path(mountpoint).stat().st_dev)) / "max_background"
    try:
        if not knob.exists() and os.geteuid() == 0:
            _mount_control_files()
        knob.write_text(str(MAX_BACKGROUND), encoding="ascii")
        limit = int(knob.read_text(encoding="ascii"))
    except (OSError, subprocess.SubprocessError) as error:
        log.info("the kernel's limit of background requests stays", file=str(knob), reason=str(error))
        return False
    if limit < MAX_BACKGROUND:
        log.info("the kernel allows fewer background requests", file=str(knob), limit=limit)
    return limit >= MAX_BACKGROUND


def _mount_control_files() -> None:
    subprocess.run(  # noqa: S603 - fixed words
        ["mount", "-t", "fusectl", "fusectl", str(_CONNECTIONS)],  # noqa: S607 - mount is where root's PATH has it
        check=True,
        capture_output=True,
        timeout=10,
    )
