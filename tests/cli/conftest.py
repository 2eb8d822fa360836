"""Runs the installed command as a user would, in directories of the test's own."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from queuefs.cli.mountpoint import daemon_of
from tests.support.mount import PATIENCE, Mount, mounted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Command:
    """The command, and a place for mounts and logs."""

    base: Path

    @property
    def mountpoint(self) -> Path:
        """An empty directory to mount on."""
        return self.base / "mnt"

    @property
    def log(self) -> Path:
        """Where daemons in the background log to."""
        return self.base / "log"

    def __call__(self, *arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run `queuefs` with *arguments* to its end."""
        return subprocess.run(
            [sys.executable, "-m", "queuefs", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            env={**os.environ, **environment},
        )

    def mount(self, *arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run `queuefs mount` with the test's own log file and mount point; on memory by default."""
        chosen = [] if "--backend" in arguments or "QUEUEFS_BACKEND" in environment else ["--backend", "memory:"]
        return self("mount", *chosen, "--log-file", self.log, *arguments, self.mountpoint, **environment)

    def umount(self) -> subprocess.CompletedProcess[str]:
        """Run `queuefs umount` on the test's mount point."""
        return self("umount", self.mountpoint)

    @property
    def daemon(self) -> int:
        """The process id of the daemon that serves the test's mount."""
        pid = daemon_of(str(self.mountpoint))
        assert pid is not None
        return pid


@pytest.fixture
def queuefs(tmp_path: Path) -> Iterator[Command]:
    """The command; whatever it left mounted is stopped after the test."""
    command = Command(tmp_path)
    command.mountpoint.mkdir()
    yield command
    if os.path.ismount(command.mountpoint) or not os.access(command.mountpoint, os.F_OK):
        command.umount()
    subprocess.run(["fusermount3", "-uzq", command.mountpoint], check=False, stderr=subprocess.DEVNULL)


_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def shared_mount() -> Iterator[Mount]:
    """A mount that the tests of a module share, each in a queue of its own."""
    with mounted() as mount:
        yield mount


@pytest.fixture
def jobs(shared_mount: Mount) -> Path:
    """A queue."""
    path = shared_mount.path / f"jobs-{next(_numbers)}"
    path.mkdir()
    return path
