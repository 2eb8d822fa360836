"""What the tests of the SQLite back end begin with."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where the database is to be."""
    return tmp_path / "queue.db"


@pytest.fixture
def url(path: Path) -> str:
    """Return its URL."""
    return f"sqlite://{path}"


@pytest.fixture
def mount_disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """Mount a disk of so many bytes, and take it away after the test."""
    disk = tmp_path / "disk"

    def mount(size: int) -> Path:
        disk.mkdir()
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk], capture_output=True, check=False
        )
        if done.returncode:
            disk.rmdir()
            pytest.skip("only root can mount a small disk")
        return disk

    yield mount
    if disk.exists():
        subprocess.run(["umount", disk], check=True)
