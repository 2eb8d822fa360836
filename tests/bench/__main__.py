"""Times the verbs on each back end against a mount that does nothing, in one run.

`make bench` runs it. Figures depend on the machine; the ratios are what is worth comparing. Daemon and client share one
core where the client is alone (on different cores of a virtual machine a wake-up costs more than the work), and have
all cores with 16 clients.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import pyfuse3
import trio

import queuefs
from tests.bench.stores import each_mount

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PAYLOAD = b"x" * 100
ROUNDS = 5
CALLS = 400
CLIENTS = 16


def enqueue(queue: Path) -> None:
    """Open, write, close."""
    file = os.open(queue / "enqueue", os.O_WRONLY)
    os.write(file, PAYLOAD)
    os.close(file)


def dequeue_and_ack(queue: Path) -> None:
    """Read one line to its end, and write its id: two opens."""
    file = os.open(queue / "dequeue", os.O_RDONLY)
    line = os.read(file, 131072)
    os.read(file, 131072)
    os.close(file)
    file = os.open(queue / "ack", os.O_WRONLY)
    os.write(file, line.split(b'"', 4)[3] + b"\n")
    os.close(file)


def microseconds(call: Callable[[Path], None], queue: Path, calls: int = CALLS) -> float:
    """Return the median of what *call* takes."""
    times = []
    for _ in range(calls):
        began = perf_counter()
        call(queue)
        times.append(perf_counter() - began)
    return statistics.median(times) * 1e6


def one_client(queue: Path) -> tuple[float, float]:
    """Return the medians of enqueue and of dequeue with ack, each the best round of several, microseconds."""
    rounds = [(microseconds(enqueue, queue), microseconds(dequeue_and_ack, queue)) for _ in range(ROUNDS)]
    return min(first for first, _ in rounds), min(second for _, second in rounds)


def _many_enqueue(queue: Path) -> None:
    for _ in range(CALLS):
        enqueue(queue)


def many_clients(queue: Path) -> float:
    """Return messages enqueued per second by many processes at once."""
    with ProcessPoolExecutor(CLIENTS) as pool:
        began = perf_counter()
        list(pool.map(_many_enqueue, [queue] * CLIENTS))
        return CLIENTS * CALLS / (perf_counter() - began)


@contextmanager
def null_mount() -> Iterator[tuple[Path, int]]:
    """Mount the file system that does nothing; yield its queue and its process."""
    with tempfile.TemporaryDirectory() as directory:
        program = Path(__file__).with_name("null_mount.py")
        process = subprocess.Popen([sys.executable, program, directory], stdout=subprocess.PIPE)
        try:
            assert process.stdout is not None
            assert b"ready\n" == process.stdout.readline()
            yield Path(directory) / "q", process.pid
        finally:
            process.terminate()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


def pin(pid: int, cores: set[int]) -> None:
    """Let all threads of *pid* run on *cores* alone."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(task.name), cores)


def measure(queue: Path, pid: int) -> tuple[float, float, float]:
    """Return enqueue and dequeue with ack in microseconds on one core, and enqueues per second of many clients."""
    everywhere = os.sched_getaffinity(0)
    one = {min(everywhere)}
    pin(pid, one)
    os.sched_setaffinity(0, one)
    alone = one_client(queue)
    pin(pid, everywhere)
    os.sched_setaffinity(0, everywhere)
    return *alone, many_clients(queue)


def main() -> None:
    """Print the table."""
    results = {}
    with null_mount() as (queue, pid):
        results["null pyfuse3"] = measure(queue, pid)
    for name, mount in each_mount():
        (mount.path / "q").mkdir()
        results[name] = measure(mount.path / "q", mount.pid)
    floor = results["null pyfuse3"]
    print(f"QueueFS {queuefs.__version__}, Python {platform.python_version()}, pyfuse3 {pyfuse3.__version__},", end=" ")
    print(f"trio {trio.__version__}, Linux {platform.release()}, {os.cpu_count()} cores; 100-byte messages")
    print("| back end | enqueue, us | of null | dequeue+ack, us | of null | enqueues/s, 16 clients | of null |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, (first, second, rate) in results.items():
        print(
            f"| {name} | {first:.0f} | {first / floor[0]:.1f} | {second:.0f} | {second / floor[1]:.1f} "
            f"| {rate:,.0f} | {rate / floor[2]:.2f} |"
        )


if __name__ == "__main__":
    main()
