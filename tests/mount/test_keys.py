"""Deduplication by key on a real mount: the first close wins, and only what came to be counts."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.support.files import put_and_read_back
from tests.support.programs import SHELLS, sh
from tests.support.queue import claim, error_of, lines_of, put, stats, status, take, take_all
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

#: Writes twice, so that it is looked at, and is killed before it closes.
KILLED_WRITER = """
import os, sys
f = os.open(sys.argv[1], os.O_WRONLY)
os.write(f, b"x")
os.write(f, b"y")
os.kill(os.getpid(), 9)
"""


def test_a_second_of_a_key_is_accepted_and_dropped(jobs: Path) -> None:
    for text in ["first", "second", "third"]:
        assert 0 == error_of(jobs / "enqueue,key=k", text.encode())
    (jobs / "enqueue,key=other").write_text("other")
    put(jobs, b"none", b"none")

    found = lines_of(jobs / "dequeue,count=10")
    assert ["first", "other", "none", "none"] == [message["data"] for message in found]
    assert ["k", "other", None, None] == [message.get("key") for message in found]
    assert 4 == stats(jobs)["totals"]["enqueued"]


def test_a_key_is_its_queues_own(jobs: Path, place: Path) -> None:
    (place / "other").mkdir()
    (jobs / "enqueue,key=k").write_text("here")
    (place / "other" / "enqueue,key=k").write_text("there")

    assert [b"here"] == take_all(jobs)
    assert [b"there"] == take_all(place / "other")


@pytest.mark.parametrize("state", ["pending", "delayed", "processing", "given back"])
def test_a_key_keeps_repetitions_out_while_its_message_is_unacknowledged(jobs: Path, state: str) -> None:
    (jobs / f"enqueue,key=k,delay={3600 if state == 'delayed' else 0}").write_text("first")
    if state in {"processing", "given back"}:
        message = claim(jobs)
        assert message is not None
        if state == "given back":
            (jobs / "nack").write_text(message["id"])
    before = status(jobs)

    (jobs / "enqueue,key=k").write_text("second")

    assert before == status(jobs)


@pytest.mark.parametrize("end", ["ack", "clear", "cancel", "bury", "ttl"])
def test_a_key_is_free_once_its_message_is_gone(jobs: Path, end: str) -> None:
    (jobs / f"enqueue,key=k,ttl={0.3 if end == 'ttl' else 0}").write_text("first")
    if end == "clear":
        (jobs / "clear").write_text("\n")
    elif end == "cancel":
        (jobs / "ctl").write_text(f"cancel {lines_of(jobs / 'peek')[0]['id']}\n")
    elif end == "ttl":
        eventually(lambda: status(jobs) == (0, 0))
    else:
        message = claim(jobs)
        assert message is not None
        (jobs / ("ack" if end == "ack" else "nack,dead")).write_text(message["id"] + "\n")

    (jobs / "enqueue,key=k").write_text("second")

    assert [b"second"] == take_all(jobs)


def test_within_the_window_a_key_keeps_repetitions_out_though_its_message_is_gone(jobs: Path) -> None:
    (jobs / "config").write_text("dedup_window = 3600")
    first = put_and_read_back(jobs / "enqueue,key=k", b"first")
    assert b"first" == take(jobs)

    assert first == put_and_read_back(jobs / "enqueue,key=k", b"second")
    assert errno.EEXIST == error_of(jobs / "enqueue,key=k,strict", b"third")
    assert (0, 0) == status(jobs)
    (jobs / "config").write_text("dedup_window = 0")
    (jobs / "enqueue,key=k").write_text("fourth")
    assert [b"fourth"] == take_all(jobs)


def test_the_window_ends(jobs: Path) -> None:
    (jobs / "config").write_text("dedup_window = 1")
    (jobs / "enqueue,key=k").write_text("first")
    assert b"first" == take(jobs)

    eventually(lambda: error_of(jobs / "enqueue,key=k,strict", b"second") == 0)
    assert [b"second"] == take_all(jobs)


def test_reading_back_gives_the_first_ones_id(jobs: Path) -> None:
    first = put_and_read_back(jobs / "enqueue,key=k", b"first")
    assert first == put_and_read_back(jobs / "enqueue,key=k", b"second")
    assert first == put_and_read_back(jobs / "enqueue,key=k", b"third")

    assert [first] == [message["id"] for message in lines_of(jobs / "dequeue,count=10")]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_reads_the_id_back(jobs: Path, place: Path, shell: str) -> None:
    done = sh("for i in 1 2; do exec 3<>jobs/enqueue,key=k; echo $i >&3; read -r id <&3; echo $id; done", place, shell)

    (message,) = lines_of(jobs / "dequeue,count=10")
    assert [message["id"]] * 2 == done.stdout.split()
    assert "1\n" == message["data"]


def test_strict_refuses_a_second_at_write(jobs: Path, place: Path) -> None:
    assert 0 == error_of(jobs / "enqueue,key=k,strict", b"first")

    assert errno.EEXIST == error_of(jobs / "enqueue,key=k,strict", b"second")
    done = sh("echo third > jobs/enqueue,strict,key=k", place)
    assert 0 != done.returncode
    assert "exists" in done.stderr
    assert [b"first"] == take_all(jobs)
    assert 0 == error_of(jobs / "enqueue,key=k,strict", b"fourth")


def test_the_first_close_wins(jobs: Path) -> None:
    early = os.open(jobs / "enqueue,key=k", os.O_WRONLY)
    os.write(early, b"early")
    late = os.open(jobs / "enqueue,key=k", os.O_WRONLY)
    os.write(late, b"late")
    os.close(late)
    os.close(early)

    assert [b"late"] == take_all(jobs)


def test_strict_says_at_close_that_another_was_quicker(jobs: Path) -> None:
    slow = os.open(jobs / "enqueue,key=k,strict", os.O_WRONLY)
    os.write(slow, b"slow")
    (jobs / "enqueue,key=k").write_text("quick")
    with pytest.raises(FileExistsError):
        os.close(slow)

    assert [b"quick"] == take_all(jobs)


def test_what_is_being_written_keeps_nobody_out(jobs: Path) -> None:
    fd = os.open(jobs / "enqueue,key=k", os.O_WRONLY)
    os.write(fd, b"x")

    assert 0 == error_of(jobs / "enqueue,key=k,strict", b"quick")
    os.close(fd)
    assert [b"quick"] == take_all(jobs)


def test_a_killed_writers_key_never_counts(jobs: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED_WRITER, jobs / "enqueue,key=k"], check=False)

    assert 0 == error_of(jobs / "enqueue,key=k,strict", b"whole")
    assert [b"whole"] == take_all(jobs)


def test_a_message_that_came_to_nothing_has_no_key(jobs: Path) -> None:
    with pytest.raises(OSError, match="Invalid"):
        (jobs / "enqueue,key=k,size=9").write_text("short")

    assert 0 == error_of(jobs / "enqueue,key=k,strict", b"whole")


def test_of_many_writers_at_once_one_is_first(jobs: Path) -> None:
    with ThreadPoolExecutor(20) as pool:
        errors = list(pool.map(lambda n: error_of(jobs / "enqueue,key=k", b"%d" % n), range(50)))

    assert {0} == set(errors)
    assert (1, 0) == status(jobs)


def test_lines_of_one_key_are_one_message(jobs: Path) -> None:
    (jobs / "enqueue,lines,key=k").write_text("1\n2\n3\n")
    assert [b"1"] == take_all(jobs)
    fd = os.open(jobs / "enqueue,lines,key=k,strict", os.O_WRONLY)
    assert 2 == os.write(fd, b"4\n5\n")
    with pytest.raises(FileExistsError):
        os.write(fd, b"5\n")
    os.close(fd)

    assert [b"4"] == take_all(jobs)


@pytest.mark.parametrize("key", ["a b", "ü☃", "=", "a=b", "'", "x" * 200, "%s", "*", "0", "-1", "\\", "\n"])
def test_odd_keys_are_keys(jobs: Path, key: str) -> None:
    (jobs / f"enqueue,key={key}").write_text("1")
    (jobs / f"enqueue,key={key}").write_text("2")
    (jobs / f"enqueue,key={key}x").write_text("3")

    assert [(key, "1"), (f"{key}x", "3")] == [(m["key"], m["data"]) for m in lines_of(jobs / "dequeue,count=9")]


def test_a_repetition_changes_nothing_of_the_first(jobs: Path) -> None:
    (jobs / "enqueue,key=k").write_text("first")
    (jobs / "enqueue,key=k,priority=9,delay=60,ttl=60,timeout=1").write_text("second")
    put(jobs, b"other")

    first = claim(jobs)
    assert first is not None
    assert ("first", 0) == (first["data"], first["priority"])
    assert {"timeout", "expires_at", "due"}.isdisjoint(first)
