"""The stores that the benchmarks compare, each with a mount of its own."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.mount import mounted
from tests.support.redis_server import running

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.support.mount import Mount

#: By the name in the tables; `{directory}` is for files, `{redis}` is a server's URL.
URLS = {
    "memory": "memory:",
    "SQLite, FULL": "sqlite://{directory}/queue.db",
    "SQLite, normal": "sqlite://{directory}/normal.db?durability=normal",
    "Redis, everysec": "{redis}",
}


def each_mount(names: Sequence[str] = tuple(URLS)) -> Iterator[tuple[str, Mount]]:
    """Mount the stores of *names*, one after the other, and give each with its name."""
    with tempfile.TemporaryDirectory() as directory, running(Path(directory)) as server:
        for name in names:
            with mounted(URLS[name].format(directory=directory, redis=server.url)) as mount:
                yield name, mount
