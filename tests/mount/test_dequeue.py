"""`dequeue` on a real mount: the first read claims, and only what was read to its end stays claimed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.support.mount import mounted
from tests.support.programs import CATS, SHELLS, cat, sh
from tests.support.queue import claim, listed, put, status, take_all
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path


#: Reads a part of a file, says so, and waits to be killed.
PART_READER = """
import os, signal, sys
os.read(os.open(sys.argv[1], os.O_RDONLY), 100)
print('read', flush=True)
signal.pause()
"""


def test_the_line_has_what_a_consumer_needs(jobs: Path) -> None:
    before = time.time()
    put(jobs, b"hello\n")
    text = (jobs / "dequeue").read_bytes()
    message = json.loads(text)

    assert text.endswith(b"}\n")
    assert 1 == text.count(b"\n")
    assert ("hello\n", 1, 0) == (message["data"], message["attempt"], message["priority"])
    assert f"{message['id']}.1" == message["receipt"]
    assert before - 1 <= message["enqueued_at"] <= time.time() + 1
    assert 300 == pytest.approx(message["lease_until"] - time.time(), abs=30)


def test_nothing_to_claim_is_no_bytes_at_once(jobs: Path) -> None:
    for program in CATS:
        assert b"" == cat(program, jobs / "dequeue")


@pytest.mark.parametrize("program", CATS)
def test_every_reader_gets_one_whole_message_per_open(jobs: Path, program: str) -> None:
    put(jobs, b"one", b"two" * 100_000, b"\xff\0")

    lines = [cat(program, jobs / "dequeue") for _ in range(4)]

    messages = [json.loads(line) for line in lines[:3]]
    assert ["one", "two" * 100_000, "/wA="] == [m.get("data", m.get("data_base64")) for m in messages]
    assert b"" == lines[3]
    assert (0, 3) == status(jobs)


def test_one_process_that_splices_twice_gets_two_messages(jobs: Path) -> None:
    put(jobs, b"one", b"two")
    script = (
        "import os, sys\n"
        "for _ in range(3):\n"
        "    with open(sys.argv[1], 'rb') as f:\n"
        "        while os.sendfile(1, f.fileno(), None, 1 << 20): pass\n"
    )

    done = subprocess.run([sys.executable, "-c", script, jobs / "dequeue"], capture_output=True, check=True)

    assert ["one", "two"] == [json.loads(line)["data"] for line in done.stdout.splitlines()]


def test_two_hundred_readers_at_once_get_two_hundred_messages(jobs: Path) -> None:
    for number in range(200):
        put(jobs, b"%d" % number)
    kinds = ["gnu", "busybox", "uutils"]

    with ThreadPoolExecutor(200) as pool:
        lines = list(pool.map(lambda n: cat(kinds[n % 3], jobs / "dequeue"), range(200)))

    assert sorted(map(str, range(200))) == sorted(json.loads(line)["data"] for line in lines)
    assert (0, 200) == status(jobs)


@pytest.mark.parametrize(
    "script",
    [
        "ls -lR .",
        "ls -la jobs",
        "busybox ls -l jobs",
        "coreutils ls -l jobs",
        "find .",
        "find . -size +0 -ls",
        "du -a .",
        "stat jobs/*",
        "test -s jobs/dequeue",
        "test -r jobs/dequeue",
        "wc -c jobs/dequeue",
        "wc -c < jobs/dequeue",
        "coreutils wc -c jobs/dequeue",
        ": < jobs/dequeue",
        "exec 3<jobs/dequeue; exec 3<&-",
        "touch jobs/dequeue || true",
        "cat jobs/peek jobs/messages jobs/status jobs/size",
        "getfattr -d jobs/dequeue",
        "cp -a jobs/peek {tmp}",
        "df .",
        "chmod 700 jobs",
    ],
)
def test_looking_consumes_nothing(jobs: Path, place: Path, script: str, tmp_path: Path) -> None:
    put(jobs, b"one", b"two")

    done = sh(script.replace("{tmp}", str(tmp_path)), place)

    assert 0 == done.returncode, done.stderr
    assert (2, 0) == status(jobs)
    assert [(b"one", "pending"), (b"two", "pending")] == listed(jobs)


@pytest.mark.parametrize(
    "script",
    [
        "head -c4 jobs/dequeue",
        "dd if=jobs/dequeue bs=4 count=1 status=none",
        "python3 -c 'import os; os.read(os.open(\"jobs/dequeue\", os.O_RDONLY), 4)'",
        "read -r -N 4 x < jobs/dequeue",
    ],
)
def test_a_claim_that_was_not_read_to_its_end_is_undone(jobs: Path, place: Path, script: str) -> None:
    # bash reads 4096 bytes ahead, so the message is longer than that
    put(jobs, b"one" * 5000, b"two")

    done = sh(script, place)

    assert 0 == done.returncode, done.stderr
    assert (2, 0) == status(jobs)
    message = claim(jobs)
    assert message is not None
    assert "one" * 5000 == message["data"]
    assert 1 == message["attempt"]  # the undone one does not count
    assert f"{message['id']}.2" == message["receipt"]  # but no two claims have one receipt


def test_a_killed_reader_that_read_a_part_leaves_the_message(jobs: Path) -> None:
    put(jobs, b"x" * 10_000)
    reader = subprocess.Popen(
        [
            sys.executable,
            "-c",
            PART_READER,
            jobs / "dequeue",
        ],
        stdout=subprocess.PIPE,
    )
    with reader:
        assert reader.stdout is not None
        assert b"read\n" == reader.stdout.readline()
        assert (0, 1) == status(jobs)
        reader.send_signal(signal.SIGKILL)

    assert (1, 0) == status(jobs)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_reads_a_line(jobs: Path, place: Path, shell: str) -> None:
    put(jobs, b"one", b"two")

    done = sh(
        "read -r line < jobs/dequeue; echo $line; while read -r line; do echo $line; done < jobs/dequeue", place, shell
    )

    assert ["one", "two"] == [json.loads(line)["data"] for line in done.stdout.splitlines()]
    assert (0, 2) == status(jobs)


def test_every_offset_of_one_open_reads_the_same_bytes(jobs: Path) -> None:
    put(jobs, b"abc" * 1000, b"other")
    with (jobs / "dequeue").open("rb", buffering=0) as file:
        first = file.read(100_000)
        file.seek(0)
        again = file.read(100_000)
        end = os.pread(file.fileno(), 100, len(first))
        middle = os.pread(file.fileno(), 10, 5)

    assert first == again
    assert b"" == end
    assert first[5:15] == middle
    assert (1, 1) == status(jobs)


def test_reads_by_many_threads_on_one_open_are_one_claim(jobs: Path) -> None:
    put(jobs, b"abc" * 1000, b"other")
    with (jobs / "dequeue").open("rb", buffering=0) as file, ThreadPoolExecutor(8) as pool:
        pieces = set(pool.map(lambda _: os.pread(file.fileno(), 100_000, 0), range(8)))

    assert 1 == len(pieces)
    assert (1, 1) == status(jobs)


def test_a_lease_that_ends_brings_the_message_back_to_its_old_place(backend_url: str) -> None:
    with mounted(backend_url, options=["lease=0.3"]) as mount:
        queue = mount.path / "jobs"
        queue.mkdir()
        put(queue, b"one", b"two")
        first = claim(queue)
        assert first is not None

        eventually(lambda: status(queue) == (2, 0))

        again = claim(queue)
        assert again is not None
        assert (first["id"], 2, f"{first['id']}.2") == (again["id"], again["attempt"], again["receipt"])


def test_a_lease_outlives_the_daemon_where_the_store_does(tmp_path: Path) -> None:
    with mounted(f"sqlite://{tmp_path}/queue.db") as mount:
        queue = mount.path / "jobs"
        queue.mkdir()
        put(queue, b"one", b"two")
        held = claim(queue)
        assert held is not None
        mount.kill()
        mount.remount()

        assert (1, 1) == status(queue)
        (queue / "ack").write_text(held["receipt"])
        assert [b"two"] == take_all(queue)
