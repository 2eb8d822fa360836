"""File tools on messages and queues: each does what its user asked for and no more, or says why not."""

from __future__ import annotations

import ctypes
import errno
import os
from typing import TYPE_CHECKING

import pytest

from tests.support.filled import fill
from tests.support.queue import take_all

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.filled import Filled


# Moving and removing --------------------------------------------------------------------------------------------------

#: What is done to messages, and where they are then.
DONE = {
    "mv pending/$P processing/": "pending>processing",
    "mv -T pending/$P dead/$P": "pending>dead",
    "mv -n pending/$P dead/": "pending>dead",
    "mv -f pending/$P dead/": "pending>dead",
    "mv -u pending/$P dead/": "pending>dead",
    "mv -b pending/$P dead/": "pending>dead",
    "mv --backup=numbered pending/$P processing/": "pending>processing",
    "mv pending/$P pending/$P2 dead/": "pending>dead pending>dead",
    "mv processing/* dead/* pending/": "processing>pending dead>pending",
    "mv pending/$P $O/ && grep -q needle $O/$P": "pending>done",
    "gio move pending/$P $O/ && grep -q needle $O/$P": "pending>done",
    "rsync -a --remove-source-files pending/$P $O/ && grep -q needle $O/$P": "pending>done",
    "zip -qm $O/x.zip pending/$P": "pending>done",
    "unlink pending/$P": "pending>done",
    "rm pending/$P processing/$R": "pending>done processing>done",
    "gio remove pending/$P": "pending>done",
    "find pending -name $P -delete": "pending>done",
    "find dead -type f -delete": "dead>gone",
    "find done -type f -mmin -1 -delete": "done>gone",
    "find pending -mmin +1 -delete": "",
    "find pending -newer dead/$D -newer processing/$R ! -newer pending/$P -delete": "pending>done",
    "touch pending/$P": "",
    "touch -d yesterday pending/$P": "",
    "ln -s $PWD/pending/$P $O/link && grep -q needle $O/link": "",
    "flock pending/$P true": "",
}


@pytest.mark.parametrize("script", DONE)
def test_what_is_asked_for_is_done(queue: Filled, script: str) -> None:
    done = queue.run(script)

    assert (0, "") == (done.returncode, done.stderr)
    assert queue.now() == queue.after(DONE[script])


@pytest.mark.parametrize(
    "script", ["mv -n pending/$P processing/$R", "mv pending/$P pending/", "mv -n $O/f pending/$P"]
)
def test_what_would_change_nothing_changes_nothing(queue: Filled, script: str) -> None:
    """Whether that is a failure depends on the version of mv."""
    queue.run(script)

    assert queue.now() == queue.before
    assert (queue.outside / "f").exists()


NOT_PERMITTED = "Operation not permitted"
CROSS_DEVICE = "Invalid cross-device link"
DENIED = "Permission denied"

#: What is refused, and what is said then.
REFUSED = {
    "mv -f pending/$P processing/$R": "File exists",
    "mv -f pending/$P pending/$P2": "File exists",
    "mv -b pending/$P dead/$D": NOT_PERMITTED,
    "mv pending/$P pending/name": NOT_PERMITTED,
    "mv pending/$P pending/0$P": NOT_PERMITTED,
    "mv pending/$P .": NOT_PERMITTED,
    "mv pending/$P enqueue": NOT_PERMITTED,
    "mv enqueue ack": NOT_PERMITTED,
    "mv enqueue $O/": DENIED,
    "mv $O/f pending/": NOT_PERMITTED,
    "mv $O/f .": NOT_PERMITTED,
    "mv $O/f enqueue": NOT_PERMITTED,
    "mv $O dead/": NOT_PERMITTED,
    "cp $O/f pending/": NOT_PERMITTED,
    "cp $O/f pending/$P": DENIED,
    "cp -a $O/f pending/$P": DENIED,
    "cp --remove-destination $O/f enqueue": NOT_PERMITTED,
    "cp -l pending/$P $O/x": CROSS_DEVICE,
    "install $O/f enqueue": NOT_PERMITTED,
    "rsync -a $O/f pending/": NOT_PERMITTED,
    "rsync -a $O/f enqueue": NOT_PERMITTED,
    "cp -r pending $O/x; tar -C $O/x -c . | tar -x --overwrite -C pending": DENIED,
    "cp -r pending $O/x; tar -C $O/x -c . | tar -x --keep-old-files -C pending": "File exists",
    "tar -C $O -c f | tar -x": NOT_PERMITTED,
    "ln pending/$P dead/$P": NOT_PERMITTED,
    "ln pending/$P pending/$P2": "File exists",
    "ln -f processing/$R pending/$P": NOT_PERMITTED,
    "ln pending/$P $O/link": CROSS_DEVICE,
    "ln -s pending/$P link": NOT_PERMITTED,
    "ln -sf $O/f pending/$P": NOT_PERMITTED,
    "rm pending": "Is a directory",
    "rm pending/01": "No such file or directory",
    "rm *": NOT_PERMITTED,
    "rmdir pending": NOT_PERMITTED,
    "rmdir $PWD": "Directory not empty",
    "mkdir pending/7": NOT_PERMITTED,
    "mkfifo f": NOT_PERMITTED,
    "mknod pending/9 p": NOT_PERMITTED,
    "mktemp -p .": NOT_PERMITTED,
    "touch pending/99999999": NOT_PERMITTED,
    "touch other": NOT_PERMITTED,
    "truncate -s 0 pending/$P": DENIED,
    "truncate -s 5 enqueue": "Invalid argument",
    "fallocate -l 100 enqueue": "Operation not supported",
    "fallocate -l 100 pending/$P": DENIED,
    "shred pending/$P": DENIED,
    "shred -u pending/$P": DENIED,
    "gzip pending/$P": NOT_PERMITTED,
    "chmod 600 pending/$P": NOT_PERMITTED,
    "chown 1 pending/$P": NOT_PERMITTED,
    "setfattr -n user.x -v 1 pending/$P": "Operation not supported",
    "setfattr -n user.x -v 1 enqueue": "Operation not supported",
    "setfattr -x user.queuefs.id pending/$P": "Operation not supported",
    "flock enqueue true": DENIED,
    "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"pending/8\")'": NOT_PERMITTED,
    "python3 -c 'import os; os.open(\".\", os.O_TMPFILE | os.O_RDWR)'": "Operation not supported",
    "gio rename pending/$P name": NOT_PERMITTED,
    "gio copy $O/f pending/": NOT_PERMITTED,
}


@pytest.mark.parametrize("script", REFUSED)
def test_what_can_not_be_is_refused_clearly(queue: Filled, script: str) -> None:
    done = queue.run(script)

    assert done.returncode != 0
    assert REFUSED[script] in done.stderr
    assert queue.now() == queue.before
    assert (queue.outside / "f").read_text() == "from outside\n"


#: Programs that remove what they would replace, before they find that they can't.
REPLACERS = [
    "mv $O/f pending/$P",
    "cp -f $O/f pending/$P",
    "cp --remove-destination $O/f pending/$P",
    "install $O/f pending/$P",
    "cp -r pending/$P $O/; tar -C $O -c $P | tar -x -C pending",
]


@pytest.mark.parametrize("script", REPLACERS)
def test_what_replaces_removes(queue: Filled, script: str) -> None:
    """Nothing tells it from `rm`, so it can't be prevented; the pages warn of it."""
    done = queue.run(script)

    assert done.returncode != 0
    assert NOT_PERMITTED in done.stderr
    assert queue.now() == queue.after("pending>done")


def test_a_removed_queue_directory_is_an_empty_queue(queue: Filled) -> None:
    done = queue.run("cd .. && rm -rf jobs")

    assert done.returncode == 1
    assert "rm: cannot remove 'jobs/enqueue': Operation not permitted" in done.stderr
    assert queue.now() == {state: [] for state in queue.before}


def test_a_queue_moved_to_elsewhere_is_copied_and_stays(queue: Filled) -> None:
    done = queue.run("cd .. && mv jobs $O/")

    assert done.returncode == 1
    assert "'jobs/dequeue' for reading: Permission denied" in done.stderr
    assert queue.now() == queue.before
    assert len(os.listdir(queue.outside / "jobs" / "pending")) == 3


def test_a_state_directory_moved_to_elsewhere_is_copied_and_emptied(queue: Filled) -> None:
    done = queue.run("mv pending $O/")

    assert done.returncode == 1
    assert "cannot remove 'pending': Operation not permitted" in done.stderr
    assert queue.now() == queue.after("pending>done pending>done pending>done")
    assert len(os.listdir(queue.outside / "pending")) == 3


@pytest.mark.parametrize("flags", [2, 4])  # RENAME_EXCHANGE, RENAME_WHITEOUT
def test_nothing_is_exchanged(queue: Filled, flags: int) -> None:
    pending, dead = queue.before["pending"][0], queue.before["dead"][0]

    assert rename(queue, f"pending/{pending}", f"dead/{dead}", flags) == errno.EINVAL
    assert rename(queue, f"pending/{pending}", f"dead/{pending}", flags) in {errno.EINVAL, errno.ENOENT}
    assert queue.now() == queue.before


def test_nothing_is_replaced_anyhow(queue: Filled) -> None:
    pending, dead = queue.before["pending"][0], queue.before["dead"][0]

    assert rename(queue, f"pending/{pending}", f"dead/{dead}", 1) == errno.EEXIST  # RENAME_NOREPLACE
    assert rename(queue, f"pending/{pending}", f"dead/{pending}", 1) == 0
    assert queue.now() == queue.after("pending>dead")


def rename(queue: Filled, source: str, target: str, flags: int) -> int:
    """Return the errno of renameat2(2)."""
    libc = ctypes.CDLL(None, use_errno=True)
    paths = [os.fsencode(queue.path / name) for name in (source, target)]
    return 0 if libc.renameat2(-100, paths[0], -100, paths[1], flags) == 0 else ctypes.get_errno()


# Writing by file tools ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "script",
    [
        "cp $O/f enqueue",
        "cp -a $O/f enqueue",
        "cp -f $O/f enqueue",
        "cp -p $O/f enqueue",
        "rsync --inplace $O/f enqueue",
        "tee enqueue <$O/f",
        "sort -o enqueue $O/f",
        "gio save enqueue <$O/f",
        "dd status=none of=enqueue if=$O/f oflag=nofollow",
        "coreutils cp $O/f enqueue",
        "busybox cp $O/f enqueue",
        "split --filter='cat >enqueue' $O/f",
        "cat $O/f >>enqueue && sync enqueue && sync -f enqueue",
    ],
)
def test_what_writes_a_file_in_its_place_enqueues_one_message(jobs: Path, tmp_path: Path, script: str) -> None:
    queue = fill(jobs, tmp_path / "outside")
    (jobs / "clear").write_text("\n")
    done = queue.run(script)

    assert (0, "") == (done.returncode, done.stderr)
    assert take_all(jobs) == [b"from outside\n"]


@pytest.mark.parametrize(
    "script",
    [
        "touch enqueue dequeue clear",
        "truncate -s 0 enqueue",
        "fallocate -x -l 100 enqueue",
        "chmod 644 enqueue",
        "flock enqueue true",
        "exec 3>enqueue",
        "sync enqueue",
        'perl -e \'open F, "+<", "enqueue"; flock F, 2\'',
    ],
)
def test_what_writes_nothing_enqueues_nothing(queue: Filled, script: str) -> None:
    queue.run(script)
    assert queue.now() == queue.before
