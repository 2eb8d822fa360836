"""Long directories: read in pages, whole and in order whatever happens meanwhile, and cheap for everybody else."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.mount import mounted, resident
from tests.support.programs import sh
from tests.support.queue import put, take_all

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: More than fits into a few pages of the back end and replies to the kernel.
MANY = 12_000


def fill(queue: Path, count: int = MANY) -> list[str]:
    """Enqueue *count* messages and return their ids."""
    (queue / "enqueue,lines").write_bytes(b"x\n" * count)
    return sorted(os.listdir(queue / "pending"), key=int)


@pytest.fixture
def full(jobs: Path) -> Iterator[tuple[Path, list[str]]]:
    """A queue with many messages, and their ids."""
    yield jobs, fill(jobs)
    (jobs / "clear").write_text("1")


def test_all_are_listed_once_and_in_order(full: tuple[Path, list[str]]) -> None:
    jobs, ids = full

    assert len(ids) == MANY
    assert os.listdir(jobs / "pending") == ids
    assert sh("ls pending | wc -l; find pending -type f | wc -l; ls -f pending | wc -l", jobs).stdout.split() == [
        f"{MANY}",
        f"{MANY}",
        f"{MANY}",
    ]


def test_what_stays_is_listed_once_whatever_else_happens(full: tuple[Path, list[str]]) -> None:
    jobs, ids = full
    stays = set(ids[1::2])
    found = []
    with os.scandir(jobs / "pending") as entries:
        for number, entry in enumerate(entries):
            found.append(entry.name)
            if number % 1000 == 500:  # near the place that is read, behind it and before it
                for message in (ids[number - 1 :: 2][0], ids[number + 1 :: 2][0], ids[-2], ids[0]):
                    if message not in stays and (jobs / "pending" / message).exists():
                        (jobs / "pending" / message).unlink()
                put(jobs, b"new")
                (jobs / "enqueue,priority=9").write_bytes(b"first")

    assert len(found) == len(set(found))
    assert stays <= set(found)


def test_all_can_be_removed_while_they_are_listed(full: tuple[Path, list[str]]) -> None:
    jobs, _ids = full
    (jobs / "config").write_text("retain = 0\n")
    done = sh("find pending -type f -delete; ls pending | wc -l; cat status", jobs)

    assert (done.stdout, done.stderr) == ('0\n{"pending":0,"processing":0}\n', "")


_LIBC = ctypes.CDLL(None, use_errno=True)


class _Directory:
    """A directory read by opendir(3) and its kin, which can go back."""

    def __init__(self, path: Path) -> None:
        _LIBC.opendir.restype = ctypes.c_void_p
        _LIBC.readdir.restype = ctypes.c_void_p
        _LIBC.telldir.restype = ctypes.c_long
        self._stream = ctypes.c_void_p(_LIBC.opendir(os.fsencode(path)))
        assert self._stream.value

    def read(self, most: int) -> list[str]:
        """Return the next names, at most *most*."""
        names: list[str] = []
        while len(names) < most and (entry := _LIBC.readdir(self._stream)):
            # struct dirent of glibc on Linux, 64 bits: the name is at byte 19
            names.append(ctypes.string_at(entry + 19).decode())
        return names

    def tell(self) -> int:
        position: int = _LIBC.telldir(self._stream)
        return position

    def seek(self, position: int) -> None:
        _LIBC.seekdir(self._stream, ctypes.c_long(position))

    def rewind(self) -> None:
        _LIBC.rewinddir(self._stream)

    def close(self) -> None:
        _LIBC.closedir(self._stream)


def test_a_listing_goes_on_at_any_offset_it_gave(full: tuple[Path, list[str]]) -> None:
    jobs, ids = full
    directory = _Directory(jobs / "pending")
    try:
        marks = []
        while names := directory.read(701):
            marks.append((directory.tell(), names[-1]))
        for message in ids[3000:3010]:
            (jobs / "pending" / message).unlink()
        for position, last in [*marks[3:9], *reversed(marks[:4])]:
            directory.seek(position)
            after = [message for message in ids[ids.index(last) + 1 :] if message not in ids[3000:3010]]
            assert directory.read(50) == after[:50]
        put(jobs, b"new")
        directory.rewind()
        assert len(directory.read(MANY + 10)) == MANY - 10 + 1
    finally:
        directory.close()


def test_the_dead_are_listed_in_pages(full: tuple[Path, list[str]]) -> None:
    jobs, ids = full
    (jobs / "dequeue,id,count=10000").read_bytes()
    (jobs / "nack,dead").write_text("".join(f"{message}\n" for message in ids[:10_000]))

    assert os.listdir(jobs / "dead") == ids[:10_000]
    assert os.listdir(jobs / "pending") == ids[10_000:]


def test_processing_is_listed_in_pages(full: tuple[Path, list[str]]) -> None:
    jobs, ids = full
    (jobs / "dequeue,id,count=5000").read_bytes()

    assert os.listdir(jobs / "processing") == ids[:5000]
    (jobs / "extend,lease=1000").write_text("".join(f"{message}\n" for message in ids[:2500]))
    assert os.listdir(jobs / "processing") == ids[:5000]


def test_many_records_are_listed_latest_first(jobs: Path) -> None:
    (jobs / "config").write_text("retain = 100000\n")
    ids = fill(jobs, 3000)
    (jobs / "dequeue,id,count=3000,ack").read_bytes()

    assert sorted(os.listdir(jobs / "done"), key=int) == ids
    more = [*ids[-1:]]
    put(jobs, b"last")
    take_all(jobs)
    assert int(os.listdir(jobs / "done")[0]) > int(more[0])


#: Runs the command with a pyfuse3 whose entries have to be remembered.
REMEMBERING = """
import queuefs.fs.unremembered as unremembered
unremembered.HAS_NODEID = False
from queuefs.cli import main
main()
"""


def test_listings_work_where_entries_have_to_be_remembered(tmp_path: Path) -> None:
    (tmp_path / "remembering.py").write_text(REMEMBERING)
    with mounted("memory:", module="remembering", environment={"PYTHONPATH": str(tmp_path)}) as mount:
        jobs = mount.path / "jobs"
        jobs.mkdir()
        ids = fill(jobs, 3000)
        assert os.listdir(jobs / "pending") == ids
        with os.scandir(jobs / "pending") as entries:
            assert all(entry.stat().st_size == 1 for entry in entries)


def test_a_listing_is_not_held_in_memory(tmp_path: Path) -> None:
    with mounted(f"sqlite://{tmp_path}/queue.db?durability=normal") as mount:
        jobs = mount.path / "jobs"
        jobs.mkdir()
        fill(jobs, 100_000)
        before = resident(mount.pid)
        assert sh("ls pending | wc -l", jobs).stdout.strip() == "100000"
        assert resident(mount.pid) - before < 8 * 1024 * 1024


def test_a_reader_of_few_does_not_fetch_all(full: tuple[Path, list[str]]) -> None:
    jobs, ids = full

    assert sh("ls -U pending | head -3", jobs).stdout.split() == ids[:3]


def test_others_go_on_while_a_long_directory_is_listed(full: tuple[Path, list[str]]) -> None:
    jobs, _ids = full
    lister = [sys.executable, "-c", "import os\nwhile True: os.listdir('pending')"]
    with subprocess.Popen(lister, cwd=jobs) as process:
        try:
            for number in range(50):
                put(jobs, b"%d" % number)
                assert json.loads((jobs / "status").read_text())["pending"] == MANY + number + 1
        finally:
            process.kill()
