"""A Redis that goes away and comes back: an errno within seconds, and nothing lost."""

from __future__ import annotations

import errno
import os
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
    server = RedisServer(tmp_path)
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
