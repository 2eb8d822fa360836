"""A Redis that goes away and comes back: an errno within seconds, and nothing lost."""

from __future__ import annotations

import errno
import os
import signal
import sqlite3
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.support.mount import mounted
from tests.support.programs import SHELLS, sh
from tests.support.queue import claim, put, status, take_all
from tests.support.redis_server import RedisServer
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.mount import Mount


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    # What is confirmed has to be on disk: the server is killed, and loses what it had not written.
    server = RedisServer(tmp_path, options=("--appendfsync", "always"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def mount(server: RedisServer) -> Iterator[Mount]:
    with mounted(f"{server.url}?timeout=1") as mount:
        (mount.path / "jobs").mkdir()
        yield mount
        mount.expect_in_log("level=warning")


def answers(queue: Path) -> bool:
    try:
        status(queue)
    except OSError as error:
        assert errno.EIO == error.errno
        return False
    return True


def test_every_builtin_echo_fails_while_it_is_away(server: RedisServer, mount: Mount) -> None:
    put(mount.path / "jobs", b"before")
    message = claim(mount.path / "jobs")
    assert message is not None
    server.kill()
    for shell in SHELLS:
        for command in ["echo x > jobs/enqueue", f"echo {message['id']} > jobs/ack"]:
            done = sh(command, mount.path, shell)
            assert 0 != done.returncode
            assert "" != done.stderr
    server.start()

    eventually(lambda: answers(mount.path / "jobs"))
    assert (0, 1) == status(mount.path / "jobs")
    (mount.path / "jobs" / "ack").write_text(message["id"])
    put(mount.path / "jobs", b"after")
    assert [b"after"] == take_all(mount.path / "jobs")


def test_a_publication_held_up_by_an_outage_is_done_afterwards(server: RedisServer, mount: Mount) -> None:
    queue = mount.path / "jobs"
    file = os.open(queue / "enqueue", os.O_WRONLY)
    os.write(file, b"stored before, closed meanwhile")
    server.kill()
    os.close(file)
    eventually(lambda: "not done after close" in mount.read_log())
    server.start()
    eventually(lambda: answers(queue))

    assert [b"stored before, closed meanwhile"] == take_all(queue)


def test_a_server_that_hangs_is_an_error_and_no_hang(server: RedisServer, mount: Mount) -> None:
    queue = mount.path / "jobs"
    server.pause()
    try:
        with pytest.raises(OSError, match="Input/output"):
            (queue / "status").read_text()
    finally:
        server.resume()
    eventually(lambda: answers(queue))
    put(queue, b"x")
    assert [b"x"] == take_all(queue)


@pytest.mark.parametrize("leaves", ["stop", "kill", None])
def test_a_message_that_its_writer_was_told_is_not_stored_is_dropped(server: RedisServer, leaves: str | None) -> None:
    with mounted(f"{server.url}?timeout=1") as mount:
        mount.expect_in_log("level=warning")
        queue = mount.path / "jobs"
        queue.mkdir()
        file = os.open(queue / "enqueue", os.O_WRONLY)
        os.write(file, b"stored")
        server.pause()
        try:
            assert 0 != sh("echo lost > jobs/enqueue", mount.path).returncode
        finally:
            server.resume()
        if leaves is None:
            os.close(file)
            assert [b"stored"] == take_all(queue)
            queue.rmdir()
            return
        eventually(lambda: answers(queue))
        os.close(file)
        if leaves == "kill":
            eventually(lambda: "dropped what no writer knows" in mount.read_log())
            eventually(lambda: status(queue) == (1, 0))
            mount.kill()
            subprocess.run(["fusermount3", "-u", str(mount.path)], check=True)
        else:
            assert 0 == mount.stop()
        mount.remount()
        assert [b"stored"] == take_all(queue)
        queue.rmdir()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_while_callers_wait_for_a_server_that_hangs(server: RedisServer, number: signal.Signals) -> None:
    with mounted(f"{server.url}?timeout=2") as mount:
        (mount.path / "jobs").mkdir()
        server.pause()
        try:
            callers = [
                subprocess.Popen(["cat", mount.path / "jobs" / name], stderr=subprocess.DEVNULL)
                for name in ["status", "dequeue", "size", "status"]
            ]
            eventually(lambda: any(is_blocked(caller.pid) for caller in callers))
            assert 0 == mount.stop(number)
        finally:
            server.resume()
        for caller in callers:
            assert 0 != caller.wait()
        mount.expect_in_log("level=warning")


def is_blocked(pid: int) -> bool:
    """Return whether a process waits for the daemon's answer."""
    with open(f"/proc/{pid}/wchan", "rb") as file:
        return file.read() == b"request_wait_answer"


def test_a_stop_while_a_writer_waits_for_a_locked_file(tmp_path: Path) -> None:
    with mounted(f"sqlite://{tmp_path}/queue.db") as mount:
        (mount.path / "jobs").mkdir()
        other = sqlite3.connect(tmp_path / "queue.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        writer = subprocess.Popen(["bash", "-c", "echo x > jobs/enqueue"], cwd=mount.path, stderr=subprocess.DEVNULL)
        eventually(lambda: is_blocked(writer.pid))
        assert 0 == mount.stop()
        other.close()
        assert 0 != writer.wait()
        mount.expect_in_log("level=warning|level=error")
