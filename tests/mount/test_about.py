"""What is about the mount: `.queuefs/`, and statfs."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

import queuefs
from tests.support.files import enqueue, move
from tests.support.mount import mounted
from tests.support.programs import CATS, cat, sh
from tests.support.queue import claim, put
from tests.support.redis_server import RedisServer
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.support.mount import Mount


def about(mount: Mount) -> Path:
    """Return the directory about a mount."""
    return mount.path / ".queuefs"


def samples(text: str, name: str) -> dict[Mapping[str, str] | str, float]:
    """Return the samples of one metric: by queue, or by all labels."""
    return {
        sample.labels.get("queue", json.dumps(sample.labels, sort_keys=True)): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name
    }


def test_the_root_lists_it(shared_mount: Mount) -> None:
    assert ".queuefs" in os.listdir(shared_mount.path)
    assert ["backend", "check", "export", "import", "metrics", "version"] == sorted(os.listdir(about(shared_mount)))
    assert stat.S_ISDIR(os.stat(about(shared_mount)).st_mode)


def test_it_is_in_the_root_alone(jobs: Path) -> None:
    assert not (jobs / ".queuefs").exists()


def test_version(shared_mount: Mount) -> None:
    assert (about(shared_mount) / "version").read_text() == f"{queuefs.__version__}\n"


def test_backend_tells_where_and_how(shared_mount: Mount) -> None:
    found = json.loads((about(shared_mount) / "backend").read_text())

    assert found["state"] == "ok"
    assert found["url"] == shared_mount.backend
    assert found["durable"] == (shared_mount.backend != "memory:")
    assert found["shared"] == shared_mount.backend.startswith("redis")


def test_backend_shows_no_password_and_tells_of_an_outage(tmp_path: Path) -> None:
    server = RedisServer(tmp_path)
    server.start()
    with mounted(server.url.replace("redis://", "redis://default:secret@")) as mount:
        mount.expect_in_log("back end failed|redis away")
        server.stop()

        def state() -> Any:
            return json.loads((about(mount) / "backend").read_text())

        eventually(lambda: state()["state"] == "failing")
        assert state()["reason"]
        assert "secret" not in json.dumps(state())
        assert "***" in state()["url"]
        server.start()
        eventually(lambda: state()["state"] == "ok")
    server.stop()


def test_metrics_count_each_queue(place: Path, jobs: Path, shared_mount: Mount) -> None:
    (jobs / "email").mkdir()
    put(jobs / "email", b"1234")
    messages = [enqueue(jobs, b"abc") for _ in range(5)]
    claim(jobs)
    move(jobs / "pending" / messages[1], jobs / "dead")
    (jobs / "ctl").write_text(f"pause {messages[2]}\ncancel {messages[3]}\n")
    text = (about(shared_mount) / "metrics").read_text()
    path = f"{place.name}/jobs"

    expected = {
        "pending": 2,
        "processing": 1,
        "paused": 1,
        "delayed": 0,
        "dead": 1,
        "done": 1,
        "unacked_bytes": 9,
        "enqueued_total": 5,
        "dequeued_total": 1,
        "buried_total": 1,
        "acked_total": 0,
    }
    assert expected == {name: samples(text, f"queuefs_{name}")[path] for name in expected}
    assert samples(text, "queuefs_unacked_bytes")[f"{path}/email"] == 4
    assert samples(text, "queuefs_oldest_pending_seconds")[path] >= 0


def test_metrics_time_the_back_end(jobs: Path, shared_mount: Mount) -> None:
    def claims() -> float:
        text = (about(shared_mount) / "metrics").read_text()
        return samples(text, "queuefs_backend_call_seconds_count")['{"call": "claim"}']

    before = claims()
    put(jobs, b"x")
    claim(jobs)
    assert claims() == before + 1


def test_metrics_count_who_waits(jobs: Path, shared_mount: Mount) -> None:
    def waiting() -> float:
        return next(iter(samples((about(shared_mount) / "metrics").read_text(), "queuefs_waiting").values()))

    with subprocess.Popen(["cat", jobs / "dequeue,wait"], stdout=subprocess.PIPE) as reader:
        eventually(lambda: waiting() == 1)
        put(jobs, b"x")
        assert reader.communicate()[0]
    assert waiting() == 0


def test_odd_names_are_escaped(place: Path, shared_mount: Mount) -> None:
    (place / 'a"b\\c\nd').mkdir()

    assert f'{place.name}/a"b\\c\nd' in samples((about(shared_mount) / "metrics").read_text(), "queuefs_pending")


@pytest.mark.parametrize("program", CATS)
def test_metrics_are_read_whole_by_any_program(jobs: Path, shared_mount: Mount, program: str) -> None:
    put(jobs, b"x")
    assert cat(program, about(shared_mount) / "metrics").endswith(b"\n")
    assert b"queuefs_pending{" in cat(program, about(shared_mount) / "metrics")


@pytest.mark.parametrize("name", ["version", "metrics", "backend"])
def test_it_can_only_be_read(shared_mount: Mount, name: str) -> None:
    file = about(shared_mount) / name

    commands: list[list[str | Path]] = [
        ["rm", file],
        ["mv", file, file.parent / "x"],
        ["chmod", "600", file],
        ["mkdir", file.parent / "q"],
    ]
    for command in commands:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        assert "not permitted" in done.stderr
    with pytest.raises(PermissionError):
        file.write_text("x")
    with pytest.raises(OSError, match="Invalid argument"):
        (file.parent / f"{name},x=1").read_text()


def test_statfs_tells_of_the_store(jobs: Path) -> None:
    before = os.statvfs(jobs)
    put(jobs, b"x" * 1_000_000, b"y")

    def now() -> os.statvfs_result:
        return os.statvfs(jobs)

    eventually(lambda: now().f_files == before.f_files + 2)
    assert before.f_bavail > 0
    assert before.f_blocks >= before.f_bavail
    assert before.f_namemax == 255
    used = (now().f_blocks - now().f_bfree) * now().f_frsize
    assert used >= 1_000_000
    assert sh("df . && df -i . && stat -f .", jobs).returncode == 0


def test_metrics_of_many_queues_are_read_whole_by_readers_that_splice(place: Path, shared_mount: Mount) -> None:
    for number in range(500):
        (place / f"{number}-{'n' * 120}").mkdir()
    for program in ("busybox", "uutils", "sendfile", "gnu"):
        text = cat(program, about(shared_mount) / "metrics")
        assert len(text) > 1024 * 1024
        assert text.endswith(b"\n")
        assert len(text) <= os.stat(about(shared_mount) / "metrics").st_size
    for queue in place.iterdir():
        if queue.name.endswith("n"):
            queue.rmdir()
