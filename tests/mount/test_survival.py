"""What outlives what: a killed daemon, a restart, a stop with open files."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.mount import mounted
from tests.support.queue import claim, listed, put, status, take_all
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.mount import Mount

DURABLE = ["sqlite", "redis"]


@pytest.fixture(params=DURABLE)
def durable(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Mount]:
    """A mount over a store that outlives its daemon."""
    if request.param == "sqlite":
        url = f"sqlite://{tmp_path}/queue.db"
    else:
        url = f"{request.getfixturevalue('redis_server').url}?prefix={tmp_path.name}"
    with mounted(url) as mount:
        (mount.path / "jobs").mkdir()
        yield mount


def test_nothing_confirmed_is_lost_by_a_kill(durable: Mount) -> None:
    queue = durable.path / "jobs"
    put(queue, *(b"%d" % number for number in range(50)))
    held = claim(queue)
    settled = claim(queue)
    assert held is not None
    assert settled is not None
    (queue / "ack").write_text(settled["id"] + "\n")
    durable.kill()
    with pytest.raises(OSError, match=r"not connected|aborted"):
        os.stat(queue / "status")
    durable.remount()

    assert (48, 1) == status(queue)
    assert [(b"0", "processing"), *((b"%d" % number, "pending") for number in range(2, 50))] == listed(queue)
    (queue / "ack").write_text(held["receipt"] + "\n")
    assert [b"%d" % number for number in range(2, 50)] == take_all(queue)


def test_ids_go_on_after_a_kill(durable: Mount) -> None:
    queue = durable.path / "jobs"
    put(queue, b"x")
    before = claim(queue)
    assert before is not None
    (queue / "ack").write_text(before["id"] + "\n")
    durable.kill()
    durable.remount()
    put(queue, b"y")

    after = claim(queue)
    assert after is not None
    assert int(after["id"]) > int(before["id"])


def test_killed_amid_writers_every_confirmed_write_is_there(durable: Mount) -> None:
    """Writers note what a write(2) confirmed; the daemon dies at some moment in between."""
    queue = durable.path / "jobs"
    program = (
        "import os, sys\n"
        "for number in range(100000):\n"
        "    try:\n"
        "        file = os.open(sys.argv[1], os.O_WRONLY)\n"
        "        os.write(file, b'%s-%d' % (sys.argv[2].encode(), number))\n"
        "        print(number, flush=True)\n"
        "        os.close(file)\n"
        "    except OSError:\n"
        "        break\n"
    )
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", program, queue / "enqueue", str(name)], stdout=subprocess.PIPE, text=True
        )
        for name in range(4)
    ]
    for writer in writers:
        assert writer.stdout is not None
        for _ in range(30):
            writer.stdout.readline()
    durable.kill()
    confirmed = set()
    for name, writer in enumerate(writers):
        output, _ = writer.communicate()
        confirmed |= {f"{name}-{number}".encode() for number in range(30)}
        confirmed |= {f"{name}-{number}".encode() for number in output.split()}
    durable.remount()

    if durable.backend.startswith("redis"):  # the other daemon's stages are published once it counts as dead
        eventually(lambda: confirmed <= {payload for payload, _ in listed(queue)})
    found = [payload for payload, _ in listed(queue)]
    assert confirmed <= set(found)
    assert len(found) == len(set(found))


def test_what_was_stored_when_the_daemon_died_is_pending_and_a_part_is_dropped(tmp_path: Path) -> None:
    with mounted(f"sqlite://{tmp_path}/queue.db") as mount:
        queue = mount.path / "jobs"
        queue.mkdir()
        small = os.open(queue / "enqueue", os.O_WRONLY)
        os.write(small, b"small")
        flushed = os.open(queue / "enqueue", os.O_WRONLY)
        os.write(flushed, b"f" * 100_000)
        os.close(os.dup(flushed))
        part = os.open(queue / "enqueue", os.O_WRONLY)
        os.write(part, b"p" * 100_000)
        grown = os.open(queue / "enqueue", os.O_WRONLY)
        os.write(grown, b"g" * 100_000)
        os.close(os.dup(grown))
        os.write(grown, b"more")
        mount.kill()
        mount.remount()

        for file in (small, flushed, part, grown):
            with pytest.raises(OSError, match=r"not connected|aborted"):
                os.write(file, b"more")
            with pytest.raises(OSError, match=r"not connected|aborted"):
                os.close(file)
        assert [b"small", b"f" * 100_000] == take_all(queue)


def test_the_memory_back_end_forgets() -> None:
    with mounted("memory:") as mount:
        (mount.path / "jobs").mkdir()
        mount.kill()
        mount.remount()

        assert [".queuefs"] == os.listdir(mount.path)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_in_order_publishes_what_is_closed_and_keeps_the_rest(durable: Mount, number: signal.Signals) -> None:
    queue = durable.path / "jobs"
    put(queue, b"closed")
    with (queue / "enqueue").open("wb", buffering=0) as file:
        file.write(b"open")
        assert 0 == durable.stop(number)
        with pytest.raises(OSError, match=r"not connected|aborted") as caught:
            file.write(b"x")
        assert caught.value.errno in {errno.ENOTCONN, errno.ECONNABORTED}
        try:
            file.close()
        except OSError as error:
            assert error.errno in {errno.ENOTCONN, errno.ECONNABORTED}
    durable.remount()

    if durable.backend.startswith("sqlite"):
        assert [b"closed", b"open"] == take_all(queue)
    else:
        assert b"closed" in take_all(queue)
