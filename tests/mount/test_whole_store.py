"""`.queuefs/export`, `import` and `check`: the whole store by files, while it is in use."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.support.files import STATES, enqueue, ls, move, where
from tests.support.mount import mounted
from tests.support.programs import CATS, cat, sh
from tests.support.queue import claim, put, status, take_all

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.mount import Mount
    from tests.support.redis_server import RedisServer


@pytest.fixture
def mount(backend_url: str) -> Iterator[Mount]:
    """A mount of its own: these files show all that is in a store."""
    with mounted(backend_url) as one:
        yield one


@pytest.fixture
def other() -> Iterator[Mount]:
    """An empty one."""
    with mounted("memory:") as one:
        yield one


def fill(mount: Mount) -> tuple[Path, list[str]]:
    """Make a queue with a message in each state, and return it with their ids by state."""
    jobs = mount.path / "jobs"
    (jobs / "email").mkdir(parents=True)
    (jobs / "config").write_text("lease = 500\n")
    messages = [enqueue(jobs, payload, ",priority=3") for payload in (b"one", b"\xff\x00two", b"three", b"four")]
    enqueue(jobs / "email", b"below")
    move(jobs / "pending" / messages[1], jobs / "processing")
    move(jobs / "pending" / messages[2], jobs / "dead")
    (jobs / "pending" / messages[3]).unlink()
    return jobs, messages


def test_what_is_exported_can_be_imported(mount: Mount, other: Mount) -> None:
    jobs, messages = fill(mount)
    assert sh(f"cat {mount.path}/.queuefs/export > {other.path}/.queuefs/import", mount.path).returncode == 0
    copy = other.path / "jobs"

    for state, message in zip(STATES, messages, strict=True):
        assert where(copy, message) == state
        if state != "done":
            assert (copy / state / message).read_bytes() == (jobs / state / message).read_bytes()
    assert json.loads((copy / "done" / messages[3]).read_text())["status"] == "cancelled"
    assert "lease = 500" in (copy / "config").read_text()
    assert take_all(copy / "email") == [b"below"]
    assert int(enqueue(copy)) > max(map(int, messages))


@pytest.mark.parametrize(
    "program", sorted(CATS.keys() - {"node"})
)  # it refuses what may have more than 2 GiB by its size
def test_any_program_reads_all_of_an_export(mount: Mount, program: str) -> None:
    fill(mount)
    lines = cat(program, mount.path / ".queuefs" / "export").splitlines()

    assert "queuefs_export" in json.loads(lines[0])
    assert json.loads(lines[-1])["totals"]["messages"] == 4


def test_a_part_can_be_exported(mount: Mount) -> None:
    fill(mount)
    text = (mount.path / ".queuefs" / "export,queue=jobs%2Femail").read_text()

    assert '"below"' in text
    assert '"one"' not in text
    with pytest.raises(FileNotFoundError):
        (mount.path / ".queuefs" / "export,queue=nothing").read_text()


def test_a_waiting_reader_gets_what_is_imported(mount: Mount, other: Mount) -> None:
    jobs, _ = fill(mount)
    (other.path / "jobs").mkdir()
    reader = ["cat", str(other.path / "jobs" / "dequeue,wait,raw")]
    with subprocess.Popen(reader, stdout=subprocess.PIPE) as process:
        sh(f"cat {jobs.parent}/.queuefs/export > {other.path}/.queuefs/import", mount.path)
        assert process.communicate()[0] == b"one"


def test_an_import_says_what_is_wrong_and_ends_there(other: Mount) -> None:
    other.expect_in_log("an import ended early")
    done = sh("echo '{\"nonsense\": 1}' > .queuefs/import", other.path)
    assert "Invalid argument" in done.stderr
    assert sh("ls", other.path).stdout == ""


def test_a_cut_export_is_an_error_of_close(mount: Mount, other: Mount) -> None:
    fill(mount)
    other.expect_in_log("an import ended early")
    text = (mount.path / ".queuefs" / "export").read_bytes()
    fd = os.open(other.path / ".queuefs" / "import", os.O_WRONLY)
    os.write(fd, text[: text.rindex(b"\n", 0, -1) + 1])
    with pytest.raises(OSError, match="Invalid argument"):
        os.close(fd)


def test_one_import_at_a_time(other: Mount) -> None:
    other.expect_in_log("an import ended early")
    file = other.path / ".queuefs" / "import"
    header = b'{"queuefs_export":1,"version":"0","exported_at":1.0,"queues":0,"messages":0,"lowest_id":null}\n'
    with file.open("wb", buffering=0) as first:
        first.write(header)
        with file.open("wb", buffering=0) as second, pytest.raises(OSError, match="busy"):
            second.write(header)
        with pytest.raises(OSError, match="Invalid argument"):
            first.close()


def test_they_are_for_the_owner_alone(mount: Mount) -> None:
    modes = {
        name: stat.S_IMODE(os.stat(mount.path / ".queuefs" / name).st_mode) for name in ("export", "import", "check")
    }

    assert modes == {"export": 0o400, "import": 0o200, "check": 0o600}


def test_a_sound_store_is_ok(mount: Mount) -> None:
    fill(mount)

    assert (mount.path / ".queuefs" / "check").read_text() == "ok\n"
    assert sh("exec 3<>.queuefs/check; echo repair >&3; cat <&3", mount.path).stdout == "nothing to repair\n"
    with pytest.raises(OSError, match="Invalid argument"):
        (mount.path / ".queuefs" / "check").write_text("burn")


def damage_sqlite(url: str, message: str) -> None:
    """Flip a byte of a payload by hand."""
    with sqlite3.connect(url.removeprefix("sqlite://")) as db:
        db.execute("UPDATE body SET data = x'00' || substr(data, 2) WHERE id = ?", (int(message),))
    db.close()


def damage_redis(url: str, message: str) -> None:
    """Lose a payload."""
    redis = pytest.importorskip("redis").Redis.from_url(url.partition("?")[0])
    prefix = url.partition("prefix=")[2]
    bodies = [key for key in redis.scan_iter(f"{{{prefix}}}:q:*:body") if redis.hexists(key, message.rjust(19, "0"))]
    assert len(bodies) == 1
    redis.hdel(bodies[0], message.rjust(19, "0"))
    redis.close()


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_a_damaged_message_is_named_and_set_aside_and_the_rest_flows(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    server: RedisServer = request.getfixturevalue("redis_server")
    url = f"sqlite://{tmp_path}/queue.db" if kind == "sqlite" else f"{server.url}?prefix={tmp_path.name}"
    with mounted(url) as mount:
        mount.expect_in_log("repaired")
        mount.expect_in_log("it is skipped and stays where it is|payload")
        jobs = mount.path / "jobs"
        jobs.mkdir()
        bad, good = enqueue(jobs, b"bad"), enqueue(jobs, b"good")
        (damage_sqlite if kind == "sqlite" else damage_redis)(url, bad)

        assert f"message {bad}" in (mount.path / ".queuefs" / "check").read_text()
        claimed = claim(jobs)
        assert claimed is not None
        assert claimed["id"] == good
        (mount.path / ".queuefs" / "check").write_text("repair\n")
        assert ls(jobs / "dead") == [bad]
        assert os.getxattr(jobs / "dead" / bad, "user.queuefs.reason")
        (jobs / "ack").write_text(good)
        assert status(jobs) == (0, 0)
        assert (mount.path / ".queuefs" / "check").read_text() == "ok\n"
        put(jobs, b"next")
        assert take_all(jobs) == [b"next"]


def test_a_big_message_that_lost_a_part_is_set_aside_by_its_reader(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/queue.db"
    with mounted(url) as mount:
        mount.expect_in_log("back end failed")
        jobs = mount.path / "jobs"
        jobs.mkdir()
        bad, good = enqueue(jobs, b"b" * 900_000), enqueue(jobs, b"good")
        with (jobs / "enqueue,priority=1").open("wb", buffering=0) as file:
            for _ in range(4):
                file.write(b"x" * 1_000_000)
        bad = ls(jobs / "pending")[0]
        with sqlite3.connect(url.removeprefix("sqlite://")) as db:
            db.execute("DELETE FROM chunk WHERE id = ? AND position > 2000000", (int(bad),))
        db.close()

        assert "Input/output error" in sh("cat dequeue,raw > /dev/null", jobs).stderr
        assert ls(jobs / "dead") == [bad]
        assert os.getxattr(jobs / "dead" / bad, "user.queuefs.reason") == b"its payload is damaged"
        assert [payload[:4] for payload in take_all(jobs)] == [b"bbbb", b"good"]
        assert good
