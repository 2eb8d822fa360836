"""Times wake-ups: from a producer's close to the return of a blocked reader, and what a thousand blocked readers cost.

Run as `python -m tests.bench.waiting`.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from tests.bench.__main__ import enqueue, microseconds
from tests.bench.stores import each_mount
from tests.support.mount import mounted

if TYPE_CHECKING:
    from pathlib import Path

WAKE_UPS = 300
READERS = 1000

#: Reads messages as they come, and says when each read returned.
READER = """
import os, sys, time
for _ in range(int(sys.argv[2])):
    file = os.open(sys.argv[1], os.O_RDONLY)
    os.read(file, 1000)
    now = time.monotonic_ns()
    os.read(file, 1000)
    os.close(file)
    print(now, flush=True)
"""

#: Waits in many threads.
CROWD = """
import os, sys, threading
threading.stack_size(131072)
def read(): os.read(os.open(sys.argv[1], os.O_RDONLY), 1000)
threads = [threading.Thread(target=read, daemon=True) for _ in range(int(sys.argv[2]))]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def wake_ups(queue: Path) -> list[float]:
    """Return the microseconds from the close of a write to the return of the blocked read, sorted."""
    taken = []
    with subprocess.Popen(
        [sys.executable, "-c", READER, queue / "dequeue,wait,ack", str(WAKE_UPS)], stdout=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stdout is not None
        for _ in range(WAKE_UPS):
            time.sleep(0.005)  # until it waits again; one that does not yet is quicker, and shows in the lowest figures
            enqueue(queue)
            closed = time.monotonic_ns()
            taken.append((int(reader.stdout.readline()) - closed) / 1000)
    return sorted(taken)


def look(queue: Path) -> None:
    """Read `status`."""
    file = os.open(queue / "status", os.O_RDONLY)
    os.read(file, 100)
    os.close(file)


def main() -> None:
    """Print the figures."""
    print("| back end | wake-up p50, us | p99, us |\n| --- | --- | --- |")
    for name, mount in each_mount(["memory", "SQLite, FULL", "Redis, everysec"]):
        (mount.path / "q").mkdir()
        taken = wake_ups(mount.path / "q")
        print(f"| {name} | {statistics.median(taken):.0f} | {taken[int(len(taken) * 0.99)]:.0f} |")
    with mounted("memory:") as mount:
        for name in ("q", "crowded"):
            (mount.path / name).mkdir()
        quiet = microseconds(look, mount.path / "q"), microseconds(enqueue, mount.path / "q")
        crowd = [
            subprocess.Popen(
                [sys.executable, "-c", CROWD, mount.path / "crowded" / "dequeue,wait", str(READERS // 4)],
                stderr=subprocess.DEVNULL,
            )
            for _ in range(4)
        ]
        time.sleep(3)  # until all wait
        busy = microseconds(look, mount.path / "q"), microseconds(enqueue, mount.path / "q")
        for one in crowd:
            one.kill()
            one.wait()
    print(f"\nWith {READERS} blocked readers, against none, on the memory back end (medians):")
    for name, with_them, without in zip(("status", "enqueue"), busy, quiet, strict=True):
        print(f"{name}: {with_them / without:.2f} times the {without:.0f} us")


if __name__ == "__main__":
    main()
