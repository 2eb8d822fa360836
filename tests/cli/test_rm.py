"""`queuefs rm` on a real mount."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from queuefs.cli.exits import Exit
from tests.cli.commands import answer, refusal
from tests.support.queue import put, status

if TYPE_CHECKING:
    from pathlib import Path


def fill(queue: Path) -> None:
    """Leave messages of every state in a queue."""
    put(queue, b"1", b"2", b"3", b"4", b"5", b"6")
    (queue / "dequeue,raw,ack").read_bytes()
    (queue / "nack,dead").write_bytes((queue / "dequeue,id,count=2").read_bytes())
    (queue / "dequeue,id").read_bytes()


def test_an_empty_queue_goes_with_its_records(jobs: Path) -> None:
    put(jobs, b"x")
    (jobs / "dequeue,raw,ack").read_bytes()
    assert 1 == len(os.listdir(jobs / "done"))

    answer("rm", jobs)

    assert not jobs.exists()


def test_what_is_in_it_is_said(jobs: Path) -> None:
    fill(jobs)
    line = refusal("rm", jobs, code=Exit.FAILED)
    assert line == f"{jobs} is not empty: 2 pending, 1 in processing and 2 dead (-f drops messages)"

    (jobs / "child").mkdir()
    (jobs / "other").mkdir()
    line = refusal("rm", jobs, code=Exit.FAILED)
    assert line.endswith("2 dead and 2 queues below it (-f drops messages, -r removes the queues below)")
    line = refusal("rm", "-f", jobs, code=Exit.FAILED)
    assert line == f"{jobs} is not empty: 2 queues below it (-r removes the queues below)"
    assert (2, 1) == status(jobs)  # nothing has been dropped


def test_force_drops_messages_of_every_state(jobs: Path) -> None:
    fill(jobs)

    answer("rm", "-f", jobs)

    assert not jobs.exists()


def test_recursive_removes_what_is_below(jobs: Path) -> None:
    (jobs / "a" / "b" / "c").mkdir(parents=True)
    (jobs / "d").mkdir()
    put(jobs / "a" / "b", b"x")

    line = refusal("rm", "-r", jobs, code=Exit.FAILED)
    assert line == f"{jobs}/a/b is not empty: 1 pending (-f drops messages)"
    assert (jobs / "d").exists()
    assert (jobs / "a" / "b" / "c").exists()

    answer("rm", "-rf", jobs)
    assert not jobs.exists()


def test_all_that_are_named_go_or_none(jobs: Path) -> None:
    for name in ("one", "two", "three"):
        (jobs / name).mkdir()
    put(jobs / "three", b"x")

    refusal("rm", jobs / "one", jobs / "two", jobs / "three", code=Exit.FAILED)
    assert (jobs / "one").exists()
    refusal("rm", jobs / "one", jobs / "nosuch", code=Exit.NO_MOUNT_POINT)
    assert (jobs / "one").exists()
    answer("rm", jobs / "one", jobs / "two", jobs / "one")
    assert not (jobs / "one").exists()


def test_a_queue_below_may_be_named_too(jobs: Path) -> None:
    (jobs / "a").mkdir()

    answer("rm", "-r", jobs, jobs / "a")

    assert not jobs.exists()


def test_a_message_that_is_being_written_keeps_it(jobs: Path) -> None:
    with open(jobs / "enqueue", "wb", buffering=0) as writer:
        writer.write(b"x")
        for arguments in ([], ["-f"], ["-rf"]):
            line = refusal("rm", *arguments, jobs, code=Exit.BUSY)
            assert line == f"{jobs}: a message of it is being written"
    assert (1, 0) == status(jobs)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["."], Exit.NO_MOUNT_POINT, "is a mount"),
        (["-rf", "."], Exit.NO_MOUNT_POINT, "is a mount"),
        (["/tmp"], Exit.NO_MOUNT_POINT, "not in a mount"),
        (["JOBS/done"], Exit.NO_MOUNT_POINT, "shows messages"),
        (["JOBS/enqueue"], Exit.NO_MOUNT_POINT, "file of a queue"),
        (["nosuch"], Exit.NO_MOUNT_POINT, "no such queue"),
        ([], Exit.USAGE, "QUEUE"),
    ],
)
def test_bad_input_is_one_line_and_removes_nothing(jobs: Path, arguments: list[str], code: Exit, words: str) -> None:
    named = [word.replace("JOBS", str(jobs)) for word in arguments]

    assert words in refusal("rm", *named, cwd=jobs.parent, code=code)
    assert jobs.exists()
