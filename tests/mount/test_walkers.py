"""Programs that open every file they find: they take no message, don't hang, and get what they may have."""

from __future__ import annotations

import os
import re
import tarfile
from typing import TYPE_CHECKING

import pytest

from tests.support.mount import mounted
from tests.support.programs import sh
from tests.support.queue import claim, put, status

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.filled import Filled
    from tests.support.mount import Mount


#: Each makes a copy of the queue's directory at $O/copy, or in $O/copy.tar, or none.
WALKERS = {
    "cp -r": "cp -r . $O/copy",
    "cp -a": "cp -a . $O/copy",
    "tar": "tar -cf $O/copy.tar .",
    "tar --xattrs": "tar --xattrs -cf $O/copy.tar .",
    "rsync -a": "rsync -a ./ $O/copy",
    "rsync -acX": "rsync -acX ./ $O/copy",
    "grep -r": "grep -r needle .",
}


@pytest.mark.parametrize("program", WALKERS)
def test_a_walker_takes_nothing_and_copies_the_messages(queue: Filled, program: str) -> None:
    done = queue.run(f"timeout 60 {WALKERS[program]}")

    assert done.returncode in {1, 2, 23}
    assert len(re.findall(r"/?dequeue.*: Permission denied", done.stderr)) == 1
    assert len(re.findall(r"/?wait.*: Permission denied", done.stderr)) == 1
    assert queue.now() == queue.before
    for state in ("pending", "processing", "dead"):
        for message in queue.before[state]:
            copy = queue.outside / "copy" / state / message
            if program.startswith("grep"):
                assert f"./{state}/{message}:needle " in done.stdout
            elif program.startswith("tar"):
                with tarfile.open(queue.outside / "copy.tar") as archive:
                    member = archive.extractfile(f"./{state}/{message}")
                    assert member is not None
                    assert re.fullmatch(rb"needle \d\n", member.read())
            else:
                assert re.fullmatch(r"needle \d\n", copy.read_text())


LOOKERS = [
    "du -a . && du -s .",
    "ls -lAR .",
    "find . -ls",
    "find . -type f -newer status -size -100k -mmin -1",
    "stat * */*",
    "test -r dequeue && test -s dequeue && test -f wait && ! test -x events",
    "gio list --attributes=* . && gio info dequeue wait events",
    "rsync -an ./ $O/copy",
]


@pytest.mark.parametrize("script", LOOKERS)
def test_a_looker_takes_nothing(queue: Filled, script: str) -> None:
    done = queue.run(f"timeout 60 bash -c 'set -e; O=$0; {script}' $O")

    assert (0, "") == (done.returncode, done.stderr)
    assert queue.now() == queue.before


#: These open files as `cat` does. State directories are safe for them.
PLAIN = [
    "zip -qr $O/x.zip pending dead",
    "grep -R needle pending",
    "busybox cp -r pending $O/x",
    "busybox tar -cf $O/x pending",
    "busybox grep -r needle pending",
    "coreutils cp -a pending $O/x",
    "md5sum */*",
    "wc */*",
    "find */ -type f -exec file {} +",
    "python3 -c 'import shutil, sys; shutil.copytree(\"pending\", sys.argv[1])' $O/x",
]


@pytest.mark.parametrize("script", PLAIN)
def test_state_directories_are_safe_for_all(queue: Filled, script: str) -> None:
    done = queue.run(f"timeout 60 {script}")

    assert (0, "") == (done.returncode, done.stderr)
    assert queue.now() == queue.before


@pytest.mark.parametrize("flag", [os.O_NOFOLLOW, os.O_NOATIME])
@pytest.mark.parametrize("name", ["dequeue", "dequeue,ack,wait=9", "wait", "wait,timeout=9", "events", "events,replay"])
def test_how_walkers_open_what_takes_or_waits(queue: Filled, shared_mount: Mount, name: str, flag: int) -> None:
    with pytest.raises(OSError, match="Permission denied"):
        os.open(queue.path / name, os.O_RDONLY | flag)

    verb = name.partition(",")[0]
    assert f"{verb}: not with O_NOFOLLOW or O_NOATIME" in shared_mount.read_log()
    assert queue.now() == queue.before


@pytest.mark.parametrize("name", ["peek", "size", "status", "stats", "messages", "config"])
def test_walkers_read_what_only_shows(queue: Filled, name: str) -> None:
    file = os.open(queue.path / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NOATIME)
    try:
        assert os.read(file, 10)
    finally:
        os.close(file)


def test_messages_can_be_written_with_any_flag(jobs: Path) -> None:
    file = os.open(jobs / "enqueue", os.O_WRONLY | os.O_NOFOLLOW | os.O_NOATIME)
    os.write(file, b"x")
    os.close(file)

    assert status(jobs) == (1, 0)


#: What programs set that were told a name: C's fopen and shells nothing; Python, Node, Perl, Go and Rust O_CLOEXEC;
#: zsh O_NOCTTY; 32-bit programs O_LARGEFILE (0o100000, which Python does not name on 64 bits); loops O_NONBLOCK.
CONSUMERS = [0, os.O_CLOEXEC, os.O_NOCTTY, 0o100000, os.O_NONBLOCK, os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK]


@pytest.mark.parametrize("flags", CONSUMERS)
def test_no_consumer_is_refused(jobs: Path, flags: int) -> None:
    put(jobs, b"x")
    for name in ("dequeue", "wait", "events"):
        os.close(os.open(jobs / name, os.O_RDONLY | flags))
    file = os.open(jobs / "dequeue", os.O_RDONLY | flags)
    assert b'"data":"x"' in os.read(file, 1000)
    os.close(file)
    assert status(jobs) == (0, 1)


def test_a_walk_over_a_whole_mount(backend_url: str, tmp_path: Path) -> None:
    with mounted(backend_url) as mount:
        for name in ("a", "a/b", "c"):
            (mount.path / name).mkdir()
            put(mount.path / name, b"needle")
        copied = sh(f"timeout 60 cp -a {mount.path} {tmp_path}/copy", tmp_path)
        found = sh(f"timeout 60 grep -rl needle {mount.path}", tmp_path)

        for name in ("a", "a/b", "c"):
            assert status(mount.path / name) == (1, 0)
    assert (1, 2) == (copied.returncode, found.returncode)
    assert "/.queuefs/export' for reading: Permission denied" in copied.stderr
    assert "/.queuefs/check' for reading: Permission denied" in copied.stderr
    assert (tmp_path / "copy" / ".queuefs" / "version").read_text()
    assert [len(os.listdir(tmp_path / "copy" / name / "pending")) for name in ("a", "a/b", "c")] == [1, 1, 1]
    assert len(re.findall(r"/pending/\d+\n", found.stdout)) == 3


def test_a_copy_of_a_queue_that_is_put_back_by_cp_changes_nothing(queue: Filled) -> None:
    queue.run("cp -r . $O/copy")
    done = queue.run("cp -r $O/copy/. .")

    assert done.returncode == 1
    assert queue.now() == queue.before
    assert claim(queue.path) is not None
