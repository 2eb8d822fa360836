"""Tells a service manager how the daemon stands (sd_notify(3)), if one asks for it by NOTIFY_SOCKET."""

from __future__ import annotations

import contextlib
import os
import socket


def notify(state: str) -> None:
    """Send *state*, such as ``READY=1``; a manager that went away is no reason to fail."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    if address.startswith("@"):  # an address in the abstract name space begins with NUL
        address = "\0" + address[1:]
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    with manager, contextlib.suppress(OSError):
        manager.sendto(state.encode(), address)
