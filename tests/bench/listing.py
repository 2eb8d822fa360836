"""Lists a queue of a million messages while others use it: `python -m tests.bench.listing [MESSAGES]`.

Prints for each back end: how long it takes until `ls -U | head` shows its first line, how long all of it takes, what
the daemon's memory grows by, and what an enqueue takes meanwhile in comparison with before.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from time import perf_counter
from typing import TYPE_CHECKING

from tests.bench.stores import each_mount
from tests.support.mount import resident

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.mount import Mount

MESSAGES = 1_000_000
LINE = b"x" * 100 + b"\n"
CALLS = 400
MIB = 2**20


def fill(queue: Path, messages: int) -> None:
    """Enqueue messages of 100 bytes, a thousand a write."""
    with (queue / "enqueue,lines").open("wb", buffering=0) as file:
        for _ in range(messages // 1000):
            file.write(LINE * 1000)


def first_line(queue: Path) -> float:
    """Return the seconds until `ls -U | head -1` has ended."""
    began = perf_counter()
    subprocess.run("ls -U pending | head -1", shell=True, check=True, cwd=queue, stdout=subprocess.DEVNULL)
    return perf_counter() - began


def enqueues(other: Path, until: Callable[[], bool]) -> float:
    """Return the median of what an enqueue to another queue takes, microseconds; at least `CALLS` are made."""
    times: list[float] = []
    while len(times) < CALLS or not until():
        began = perf_counter()
        (other / "enqueue").write_bytes(LINE)
        times.append(perf_counter() - began)
    return statistics.median(times) * 1e6


def measure(name: str, mount: Mount, messages: int) -> None:
    """Print one row."""
    queue, other = mount.path / "jobs", mount.path / "other"
    queue.mkdir()
    other.mkdir()
    fill(queue, messages)
    memory = resident(mount.pid) / MIB
    alone = enqueues(other, lambda: True)
    at_once = min(first_line(queue) for _ in range(3))
    began = perf_counter()
    with subprocess.Popen("ls -U pending | wc -l", shell=True, cwd=queue, stdout=subprocess.PIPE) as lister:
        meanwhile = enqueues(other, lambda: lister.poll() is not None)
        whole = perf_counter() - began
        assert lister.stdout is not None
        listed = int(lister.stdout.read())
    assert listed == messages, f"{listed} of {messages}"
    grown = resident(mount.pid) / MIB - memory
    print(
        f"{name:15} first line {at_once * 1000:7.1f} ms   all {whole:6.2f} s   memory {memory:7.1f} MiB {grown:+5.1f}"
        f"   enqueue {alone:7.0f} us, meanwhile {meanwhile:7.0f} us ({meanwhile / alone:.2f}x)",
        flush=True,
    )


def main() -> None:
    """Print the table."""
    messages = int(sys.argv[1]) if len(sys.argv) > 1 else MESSAGES
    for name, mount in each_mount(["memory", "SQLite, FULL", "Redis, everysec"]):
        measure(name, mount, messages)


if __name__ == "__main__":
    main()
