"""Bounded queues on a real mount: how much they hold, exactly, and what a writer meets when they are full."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.programs import SHELLS, sh
from tests.support.queue import claim, dead, error_of, lines_of, put, stats, status, take, take_all
from tests.support.waiting import eventually


def configure(queue: Path, **settings: object) -> None:
    """Set keys of the config."""
    (queue / "config").write_text("".join(f"{key} = {value}\n" for key, value in settings.items()))


def test_a_queue_takes_exactly_so_many_messages(jobs: Path) -> None:
    configure(jobs, max_messages=3)
    put(jobs, b"1", b"2", b"3")

    assert errno.ENOSPC == error_of(jobs / "enqueue", b"4")
    assert (3, 0) == status(jobs)
    held = claim(jobs)
    assert held is not None
    assert errno.ENOSPC == error_of(jobs / "enqueue", b"4")  # what is in processing takes room
    (jobs / "ack").write_text(held["id"] + "\n")
    assert 0 == error_of(jobs / "enqueue", b"4")
    assert errno.ENOSPC == error_of(jobs / "enqueue", b"5")
    assert [b"2", b"3", b"4"] == take_all(jobs)


def test_a_queue_takes_exactly_so_many_bytes(jobs: Path) -> None:
    configure(jobs, max_bytes=10)
    put(jobs, b"1234", b"123456")

    assert errno.ENOSPC == error_of(jobs / "enqueue", b"x")
    assert b"1234" == take(jobs)
    assert errno.ENOSPC == error_of(jobs / "enqueue", b"12345")
    assert 0 == error_of(jobs / "enqueue", b"1234")
    assert errno.ENOSPC == error_of(jobs / "enqueue", b"x")
    assert [b"123456", b"1234"] == take_all(jobs)


def test_a_message_that_grows_meets_the_limit_at_the_write_that_crosses_it(jobs: Path) -> None:
    configure(jobs, max_bytes=10)
    put(jobs, b"1234")
    fd = os.open(jobs / "enqueue", os.O_WRONLY)
    os.write(fd, b"abc")
    os.write(fd, b"def")
    with pytest.raises(OSError, match="No space left"):
        os.write(fd, b"g")
    with suppress(OSError):
        os.close(fd)

    assert [b"1234"] == take_all(jobs)  # half a message is no message
    assert 0 == error_of(jobs / "enqueue", b"1234567890")


def test_a_message_larger_than_the_whole_queue_is_too_big(jobs: Path) -> None:
    for on_full in ["error", "block"]:
        configure(jobs, max_bytes=10, on_full=on_full)
        assert errno.EFBIG == error_of(jobs / "enqueue", b"12345678901")
        assert errno.EFBIG == error_of(jobs / "enqueue", b"x" * 100_000)
    assert 0 == error_of(jobs / "enqueue", b"1234567890")


def test_a_big_message_without_room_is_told_at_close(jobs: Path) -> None:
    configure(jobs, max_bytes=150_000)
    put(jobs, b"x" * 100_000)
    fd = os.open(jobs / "enqueue", os.O_WRONLY)
    os.write(fd, b"y" * 100_000)
    with pytest.raises(OSError, match="No space left"):
        os.close(fd)

    assert [b"x" * 100_000] == take_all(jobs)


def test_what_is_being_written_takes_room(jobs: Path) -> None:
    configure(jobs, max_messages=1, max_bytes=10)
    with (jobs / "enqueue").open("wb", buffering=0) as file:
        assert errno.EFBIG == error_of(jobs / "enqueue", b"12345678901")
        file.write(b"staged")
        assert (0, 0) == status(jobs)
        assert errno.ENOSPC == error_of(jobs / "enqueue", b"x")

    assert [b"staged"] == take_all(jobs)


def test_what_comes_to_nothing_gives_its_room_back(jobs: Path) -> None:
    configure(jobs, max_messages=1)
    for script in [
        "import os, sys; os.write(os.open(sys.argv[1] + ',size=9', 1), b'x')",
        "import os, sys; f = os.open(sys.argv[1], 1); os.write(f, b'x'); os.write(f, b'y'); os.kill(os.getpid(), 9)",
    ]:
        subprocess.run([sys.executable, "-c", script, jobs / "enqueue"], check=False)
        eventually(lambda: error_of(jobs / "enqueue", b"z") == 0)
        assert [b"z"] == take_all(jobs)


@pytest.mark.parametrize("end", ["ack", "clear", "cancel", "bury", "ttl", "dequeue,ack"])
def test_whatever_leaves_makes_room(jobs: Path, end: str) -> None:
    configure(jobs, max_messages=1)
    (jobs / f"enqueue,ttl={0.3 if end == 'ttl' else 0}").write_text("x")
    if end == "cancel":
        (jobs / "ctl").write_text(f"cancel {lines_of(jobs / 'peek')[0]['id']}\n")
    elif end == "clear":
        (jobs / "clear").write_text("\n")
    elif end == "dequeue,ack":
        lines_of(jobs / "dequeue,ack")
    elif end != "ttl":
        message = claim(jobs)
        assert message is not None
        (jobs / ("ack" if end == "ack" else "nack,dead")).write_text(message["id"] + "\n")

    eventually(lambda: error_of(jobs / "enqueue", b"y") == 0)
    assert [b"y"] == take_all(jobs)


def test_a_message_that_comes_back_finds_its_place_in_a_full_queue(jobs: Path) -> None:
    configure(jobs, max_messages=1)
    put(jobs, b"x")
    message = claim(jobs)
    assert message is not None
    (jobs / "nack").write_text(message["id"])
    assert (1, 0) == status(jobs)
    (jobs / "nack,dead").write_text(lines_of(jobs / "dequeue")[0]["id"] + "\n")
    put(jobs, b"y")
    (jobs / "ctl").write_text("retry all\n")

    assert [] == dead(jobs)
    assert [b"x", b"y"] == take_all(jobs)


def test_limits_can_be_lifted(jobs: Path) -> None:
    configure(jobs, max_messages=1, max_bytes=2)
    put(jobs, b"x")
    configure(jobs, max_messages=0)
    put(jobs, b"y")
    assert errno.ENOSPC == error_of(jobs / "enqueue", b"z")
    configure(jobs, max_bytes=0)
    put(jobs, b"z" * 1000)

    assert (3, 0) == status(jobs)


def test_lines_are_taken_until_the_queue_is_full(jobs: Path, place: Path) -> None:
    configure(jobs, max_messages=3)
    done = sh("seq 5 > jobs/enqueue,lines", place)

    assert 0 != done.returncode
    assert "No space left" in done.stderr
    assert [b"1", b"2", b"3"] == take_all(jobs)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_sees_a_full_queue(jobs: Path, place: Path, shell: str) -> None:
    configure(jobs, max_messages=2)
    done = sh("for i in 1 2 3 4; do echo $i > jobs/enqueue && echo took $i; done", place, shell)

    assert "took 1\ntook 2\n" == done.stdout
    assert 2 == len(done.stderr.splitlines())  # dash calls every failure "I/O error"


def test_many_writers_at_once_never_exceed_it(jobs: Path) -> None:
    configure(jobs, max_messages=10, max_bytes=35)
    with ThreadPoolExecutor(20) as pool:
        errors = list(pool.map(lambda _: error_of(jobs / "enqueue", b"xxxx"), range(60)))

    assert {0: 8, errno.ENOSPC: 52} == {one: errors.count(one) for one in set(errors)}
    assert (8, 0) == status(jobs)
    assert 32 == stats(jobs)["unacked_bytes"]


@pytest.mark.parametrize("limit", ["max_messages", "max_bytes"])
def test_a_writer_that_must_not_wait_is_told(jobs: Path, limit: str) -> None:
    configure(jobs, on_full="block", **{limit: 1})
    put(jobs, b"x")
    fd = os.open(jobs / "enqueue", os.O_WRONLY | os.O_NONBLOCK)
    with pytest.raises(BlockingIOError):
        os.write(fd, b"y")
    with pytest.raises(BlockingIOError):
        os.write(fd, b"y")
    assert b"x" == take(jobs)
    assert 1 == os.write(fd, b"y")  # nothing was taken of the others
    os.close(fd)

    assert [b"y"] == take_all(jobs)


def test_a_writer_of_lines_that_must_not_wait_can_go_on_later(jobs: Path) -> None:
    configure(jobs, on_full="block", max_messages=2)
    fd = os.open(jobs / "enqueue,lines", os.O_WRONLY | os.O_NONBLOCK)
    text = b"1\n2\n3\n4"
    assert 4 == os.write(fd, text)
    with pytest.raises(BlockingIOError):
        os.write(fd, text[4:])
    assert b"1" == take(jobs)
    assert 2 == os.write(fd, text[4:])
    with pytest.raises(BlockingIOError):
        os.write(fd, text[6:])
    assert b"2" == take(jobs)
    assert 1 == os.write(fd, text[6:])
    os.close(fd)

    assert [b"3", b"4"] == take_all(jobs)


def test_with_room_nobody_waits(jobs: Path) -> None:
    configure(jobs, on_full="block", max_messages=2, max_bytes=200_000)
    put(jobs, b"x" * 100_000, b"y" * 100_000)

    assert [100_000, 100_000] == [len(payload) for payload in take_all(jobs)]


@pytest.mark.parametrize("name", ["enqueue", "enqueue,priority=1"])
def test_writers_that_wait_do_not_hold_up_each_other(jobs: Path, name: str) -> None:
    """The kernel lets one writer at a time into an inode, and may know one that all shared while none could wait."""
    (jobs / name).write_text("x")
    configure(jobs, on_full="block", max_messages=1)
    script = "import os, sys; os.write(os.open(sys.argv[1], os.O_WRONLY), b'y')"
    writers = [subprocess.Popen([sys.executable, "-c", script, jobs / name]) for _ in range(3)]
    try:
        eventually(lambda: all(is_blocked(writer.pid) for writer in writers))
        for writer in reversed(writers):
            writer.kill()
            assert -9 == writer.wait(10)
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
    assert [b"x"] == take_all(jobs)


def is_blocked(pid: int) -> bool:
    """Return whether a process waits for the daemon's answer."""
    return b"request_wait_answer" == Path(f"/proc/{pid}/wchan").read_bytes()
