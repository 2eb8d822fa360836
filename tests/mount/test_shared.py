"""Two mounts on one Redis."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.support.mount import mounted
from tests.support.queue import claim, put, status, take, take_all
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.mount import Mount
    from tests.support.redis_server import RedisServer


@pytest.fixture
def two(redis_server: RedisServer, tmp_path: Path) -> Iterator[tuple[Mount, Mount]]:
    url = f"{redis_server.url}?prefix={tmp_path.name}"
    with mounted(url) as here, mounted(url) as there:
        yield here, there


def test_what_one_side_writes_the_other_reads(two: tuple[Mount, Mount]) -> None:
    here, there = (mount.path / "jobs" for mount in two)
    here.mkdir()
    put(here, b"hello")

    eventually(lambda: status(there) == (1, 0))  # what a close leaves to do is seen at once on its own mount alone
    message = claim(there)
    assert message is not None
    eventually(lambda: status(here) == (0, 1))
    (here / "ack").write_text(message["receipt"] + "\n")
    assert (0, 0) == status(there)


def test_no_message_goes_to_two_holders(two: tuple[Mount, Mount]) -> None:
    queues = [mount.path / "jobs" for mount in two]
    queues[0].mkdir()
    eventually(queues[1].exists)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: put(queues[number % 2], b"%d" % number), range(200)))
        taken = list(pool.map(lambda number: take(queues[number % 2]), range(220)))

    assert sorted(b"%d" % number for number in range(200)) == sorted(item for item in taken if item is not None)
    assert (0, 0) == status(queues[0]) == status(queues[1])


def test_the_tree_is_one(two: tuple[Mount, Mount]) -> None:
    here, there = (mount.path for mount in two)
    (here / "a" / "b").mkdir(parents=True)
    eventually((there / "a" / "b").is_dir)
    put(there / "a" / "b", b"x")
    (here / "a").rename(here / "c")

    eventually((there / "c" / "b").is_dir)
    eventually(lambda: not (there / "a").exists())
    assert [b"x"] == take_all(there / "c" / "b")
    (there / "c" / "b").rmdir()
    (there / "c").rmdir()
    eventually(lambda: os.listdir(here) == [".queuefs"])


def test_a_dead_daemons_claims_are_the_others_after_their_lease(redis_server: RedisServer, tmp_path: Path) -> None:
    url = f"{redis_server.url}?prefix={tmp_path.name}"
    with mounted(url, options=["lease=1"]) as here, mounted(url) as there:
        (here.path / "jobs").mkdir()
        put(here.path / "jobs", b"x")
        assert claim(here.path / "jobs") is not None
        here.kill()
        eventually(lambda: status(there.path / "jobs") == (1, 0))
        assert [b"x"] == take_all(there.path / "jobs")


def test_a_pause_on_one_mount_holds_on_the_other(two: tuple[Mount, Mount]) -> None:
    here, there = (mount.path / "jobs" for mount in two)
    here.mkdir()
    put(here, b"x")
    eventually(lambda: status(there) == (1, 0))
    (there / "ctl").write_text("pause\n")
    eventually(lambda: b"paused = true" in (here / "config").read_bytes())
    assert claim(here) is None
    (there / "ctl").write_text("resume\n")
    eventually(lambda: take(here) == b"x")
