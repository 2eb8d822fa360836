"""Programs that look at messages' files, copy them, or ask what kind of file system this is."""

from __future__ import annotations

import json
import mmap
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.support.queue import put, status

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.filled import Filled


# Looking --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "script",
    [
        "ls --sort=time pending",
        "ls --sort=size pending",
        "ls --sort=none pending",
        "ls -1i pending",
        "ls -1Z pending",
        "stat pending/*",
        "file pending/*",
        "find pending -type f -size +0c",
        "getfattr -d pending/*",
        "sort pending/*",
        "gio list --attributes='*' pending",
        "gio info pending/$P",
        "gio cat pending/$P",
        "gzip -c pending/$P",
        "diff pending/$P pending/$P",
        "tar -c pending",
        "cd pending && find . -type f | xargs cat",
    ],
)
def test_what_looks_at_messages_leaves_them(queue: Filled, script: str) -> None:
    done = queue.run(script + " | wc -c")

    assert (0, "") == (done.returncode, done.stderr)
    assert int(done.stdout) > 0 or script.startswith("diff")
    assert queue.now() == queue.before


PAYLOAD = bytes(range(256)) * 4000


@pytest.fixture
def message(jobs: Path, tmp_path: Path) -> Path:
    """The file of a message, and beside it, outside of the mount, one of the same bytes: `reference`."""
    (tmp_path / "reference").write_bytes(PAYLOAD)
    put(jobs, PAYLOAD)
    return next((jobs / "pending").iterdir())


PIECES = [
    "head -c 70000 {}",
    "tail -c 70000 {}",
    "tail -c +900001 {}",
    "dd status=none bs=1000 skip=500 count=30 if={}",
    "dd status=none bs=7 skip=500 count=30 if={}",
    "dd status=none iflag=direct bs=4096 skip=5 if={}",
    "busybox tail -c 70000 {}",
    "busybox dd bs=1000 skip=500 count=30 if={} 2>/dev/null",
    "coreutils tail -c 70000 {}",
    "busybox sed -n 3p {}",
    "sed -n 3p {}",
    "split -n 3/7 {}",
    "sort -z {}",
    "timeout 1 tail -c 70000 -f {} || [ $? = 124 ]",
]


@pytest.mark.parametrize("script", PIECES)
def test_a_piece_of_a_payload_is_that_of_a_file(message: Path, tmp_path: Path, script: str) -> None:
    pieces = [
        subprocess.run(["bash", "-ec", script.replace("{}", str(file))], check=True, capture_output=True, timeout=60)
        for file in (message, tmp_path / "reference")
    ]
    assert pieces[0].stdout
    assert pieces[0].stdout == pieces[1].stdout


@pytest.mark.parametrize("flags", [mmap.MAP_PRIVATE, mmap.MAP_SHARED])
def test_a_payload_is_mapped(message: Path, flags: int) -> None:
    with message.open("rb") as file, mmap.mmap(file.fileno(), 0, flags=flags, prot=mmap.PROT_READ) as mapped:
        assert mapped.find(PAYLOAD[:256], 700_000) == 700_160
        assert mapped[:] == PAYLOAD


def test_a_payload_is_spliced_from_anywhere(message: Path) -> None:
    reading, writing = os.pipe()
    with message.open("rb") as file:
        count = os.splice(file.fileno(), writing, 4096, offset_src=500_000)
    assert os.read(reading, count) == PAYLOAD[500_000 : 500_000 + count]
    os.close(reading)
    os.close(writing)


def test_files_are_compared(message: Path, tmp_path: Path) -> None:
    assert subprocess.run(["cmp", message, tmp_path / "reference"], check=False).returncode == 0
    assert subprocess.run(["diff", message, tmp_path / "reference"], check=False).returncode == 0


COPIES = {
    "cp -a": "cp -a {message} {target}/",
    "rsync -aX": "rsync -aX {message} {target}/",
    "tar --xattrs": (
        "tar --xattrs -C {message.parent} -c {message.name} | tar -x --xattrs --xattrs-include='*' -C {target}"
    ),
}


@pytest.mark.parametrize("program", COPIES)
def test_a_copy_has_times_and_attributes(message: Path, tmp_path: Path, program: str) -> None:
    target = tmp_path / "target"
    target.mkdir()
    script = COPIES[program].format(message=message, target=target)
    done = subprocess.run(["bash", "-ec", script], check=False, capture_output=True, text=True, timeout=60)
    copy = target / message.name

    assert (0, "") == (done.returncode, done.stderr)
    assert copy.read_bytes() == PAYLOAD
    assert int(copy.stat().st_mtime) == int(message.stat().st_mtime)
    assert copy.stat().st_mode == message.stat().st_mode
    assert {name: os.getxattr(copy, name) for name in os.listxattr(message)} == {
        name: os.getxattr(message, name) for name in os.listxattr(message)
    }


@pytest.mark.parametrize("name", ["1.0", "1,x", "18446744073709551617", "1" * 255, "1" * 256, "\udcff", ".git", "1 "])
def test_odd_names_are_nothing(queue: Filled, name: str) -> None:
    for state in queue.before:
        path = queue.path / state / name
        with pytest.raises(OSError, match=r"No such file|File name too long"):
            path.lstat()
        with pytest.raises(OSError, match=r"No such file|File name too long"):
            path.unlink()
    assert queue.now() == queue.before


# The file system as a whole -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "shown"),
    [
        ("df --output=source .", "queuefs"),
        ("df -i .", "queuefs"),
        ("df -T .", "fuse"),
        ("stat -f -c %T .", "fuse"),
        ("stat -f -c %l .", "255"),
        ("findmnt -n -o FSTYPE -T .", "fuse.queuefs"),
        ("mountpoint -d $(findmnt -n -o TARGET -T .)", ":"),
        ("sync -f . && sync && echo ok", "ok"),
        ("exec 3<pending/$P; lsof -w $(findmnt -n -o TARGET -T .); true", "pending/"),
    ],
)
def test_the_mount_is_described(queue: Filled, script: str, shown: str) -> None:
    done = queue.run(script)

    assert (0, "") == (done.returncode, done.stderr)
    assert shown in done.stdout
    assert queue.now() == queue.before


def test_watches_see_what_is_done_on_this_machine(jobs: Path) -> None:
    watch = subprocess.Popen(
        ["inotifywait", "-m", "-e", "create,delete,move", jobs / "pending", jobs / "processing"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert watch.stdout is not None
    assert watch.stderr is not None
    try:
        while "established" not in watch.stderr.readline():
            pass
        put(jobs, b"1", b"2")
        first, second = sorted(os.listdir(jobs / "pending"), key=int)
        (jobs / "pending" / first).rename(jobs / "processing" / first)
        (jobs / "pending" / second).unlink()
        seen = [watch.stdout.readline() for _ in range(3)]
    finally:
        watch.terminate()
        watch.communicate()

    assert seen == [
        f"{jobs}/pending/ MOVED_FROM {first}\n",
        f"{jobs}/processing/ MOVED_TO {first}\n",
        f"{jobs}/pending/ DELETE {second}\n",
    ]
    assert status(jobs) == (0, 1)
    assert json.loads((jobs / "done" / second).read_text())["status"] == "cancelled"
