"""Messages as files, by the programs that a user has for files."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

#: The directories that show messages by state.
STATES = ("pending", "processing", "dead", "done")


def put_and_read_back(file: Path, data: bytes) -> str:
    """Write *data* and return the id that reading back gives."""
    fd = os.open(file, os.O_RDWR)
    try:
        assert os.write(fd, data) == len(data)
        return os.read(fd, 100).decode().strip()
    finally:
        os.close(fd)


def enqueue(queue: Path, payload: bytes = b"x", options: str = "") -> str:
    """Enqueue a message and return its id."""
    return put_and_read_back(queue / f"enqueue{options}", payload)


def ls(directory: Path) -> list[str]:
    """Return the names that `ls` lists, in the order of the directory."""
    return subprocess.run(["ls", "-U", directory], check=True, capture_output=True, text=True).stdout.split()


def where(queue: Path, message: str) -> str:
    """Return the one state in which a message is; "gone" if it is in none."""
    found = [state for state in STATES if message in ls(queue / state)]
    assert len(found) <= 1
    assert found == [state for state in STATES if (queue / state / message).exists()]
    return found[0] if found else "gone"


def move(source: Path, target: Path) -> None:
    """Move as mv does."""
    subprocess.run(["mv", source, target], check=True)
