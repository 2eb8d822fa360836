"""Messages as files: each line of the table in docs/reference/filesystem.md, by ordinary programs."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.files import STATES, enqueue, ls, move, where
from tests.support.mount import mounted
from tests.support.programs import CATS, cat, sh
from tests.support.queue import claim, config, put, stats, status, take_all

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def error_of(*command: object) -> str:
    """Return what a command that fails says."""
    done = subprocess.run([str(word) for word in command], check=False, capture_output=True, text=True)
    assert done.returncode != 0
    return done.stderr.strip().rpartition(": ")[2]


def rename_errno(source: Path, target: Path) -> int:
    """Return the errno of rename(2); 0 if it succeeds."""
    try:
        os.rename(source, target)
    except OSError as error:
        return error.errno or -1
    return 0


def xattrs(file: Path) -> dict[str, str]:
    """Return the extended attributes as getfattr shows them."""
    text = subprocess.run(["getfattr", "-d", file], check=True, capture_output=True, text=True).stdout
    pairs = (line.split("=", 1) for line in text.splitlines() if line.startswith("user.queuefs."))
    return {name.removeprefix("user.queuefs."): value.strip('"') for name, value in pairs}


# Looking --------------------------------------------------------------------------------------------------------------


def test_pending_lists_in_the_order_of_handing_out(jobs: Path) -> None:
    low, first, second = (enqueue(jobs, b"x", options) for options in (",priority=-1", "", ""))
    high = enqueue(jobs, b"x", ",priority=5")
    late = enqueue(jobs, b"x", ",delay=1000")

    assert [high, first, second, late, low] == ls(jobs / "pending")

    (jobs / "config").write_text("order = lifo\n")
    assert [high, late, second, first, low] == ls(jobs / "pending")


def test_a_message_is_listed_where_it_is(jobs: Path) -> None:
    message = enqueue(jobs)
    assert where(jobs, message) == "pending"
    claim(jobs)
    assert where(jobs, message) == "processing"
    (jobs / "nack,dead").write_text(message + "\n")
    assert where(jobs, message) == "dead"
    (jobs / "ctl").write_text(f"retry {message}\n")
    assert where(jobs, message) == "pending"
    claim(jobs)
    (jobs / "ack").write_text(message + "\n")
    assert where(jobs, message) == "done"
    (jobs / "ctl").write_text(f"prune {message}\n")
    assert where(jobs, message) == "gone"


@pytest.mark.parametrize("program", CATS)
def test_a_payload_is_read_where_it_lies(jobs: Path, program: str) -> None:
    payload = bytes(range(256)) * 2000
    message = enqueue(jobs, payload)

    assert cat(program, jobs / "pending" / message) == payload
    move(jobs / "pending" / message, jobs / "processing")
    assert cat(program, jobs / "processing" / message) == payload
    move(jobs / "processing" / message, jobs / "dead")
    assert cat(program, jobs / "dead" / message) == payload
    assert status(jobs) == (0, 0)


def test_a_payload_can_be_sought_in_and_mapped(jobs: Path) -> None:
    payload = os.urandom(300_000)
    file = jobs / "pending" / enqueue(jobs, payload)

    assert sh(f"tail -c 1000 {file} | sha256sum", jobs).stdout.split()[0] == hashlib.sha256(payload[-1000:]).hexdigest()
    with file.open("rb") as opened:
        opened.seek(200_001)
        assert opened.read(70_000) == payload[200_001:270_001]
        opened.seek(5)
        assert opened.read(10) == payload[5:15]
        opened.seek(300_000)
        assert opened.read() == b""


def test_stat_tells_size_and_time(jobs: Path) -> None:
    before = claim(jobs)
    message = enqueue(jobs, b"hello\n")
    assert before is None
    peeked = json.loads((jobs / "peek").read_text())
    found = os.stat(jobs / "pending" / message)

    assert found.st_size == 6
    assert stat.S_ISREG(found.st_mode)
    assert stat.S_IMODE(found.st_mode) == 0o444
    assert found.st_mtime == pytest.approx(peeked["enqueued_at"], abs=0.001)
    with os.scandir(jobs / "pending") as entries:
        assert [(found.st_ino, True)] == [(entry.inode(), entry.is_file()) for entry in entries]


def test_extended_attributes_tell_what_is_known(jobs: Path) -> None:
    (jobs / "config").write_text("lease = 120\n")
    message = enqueue(jobs, b"x", ",priority=7,key=k1,delay=0,timeout=30")
    pending = xattrs(jobs / "pending" / message)
    assert pending.items() >= {"id": message, "state": "pending", "attempt": "0", "priority": "7", "key": "k1"}.items()
    assert pending["timeout"] == "30.0"
    assert "receipt" not in pending

    claimed = claim(jobs)
    assert claimed is not None
    held = xattrs(jobs / "processing" / message)
    assert held.items() >= {"state": "processing", "attempt": "1", "receipt": f"{message}.1"}.items()
    assert float(held["lease_until"]) == pytest.approx(claimed["lease_until"], abs=0.001)
    assert float(held["claimed_at"]) == pytest.approx(claimed["lease_until"] - 120, abs=0.001)

    (jobs / "nack,dead,reason=no such file").write_text(message + "\n")
    assert xattrs(jobs / "dead" / message)["reason"] == "no such file"


def test_extended_attributes_cannot_be_set(jobs: Path) -> None:
    file = jobs / "pending" / enqueue(jobs)

    assert error_of("setfattr", "-n", "user.queuefs.attempt", "-v", "0", file) == "Operation not supported"
    with pytest.raises(OSError, match="No data available"):
        os.getxattr(file, "user.other")


@pytest.mark.parametrize(
    "name", ["0", "01", "+1", "-1", "1.1", " 1", "x", "9" * 19, "9" * 20, "\N{ARABIC-INDIC DIGIT ONE}"]
)
def test_no_other_name_is_a_message(jobs: Path, name: str) -> None:
    enqueue(jobs)

    for state in STATES:
        assert not (jobs / state / name).exists()


def test_a_message_of_another_queue_is_not_here(place: Path, jobs: Path) -> None:
    (place / "other").mkdir()
    message = enqueue(place / "other")

    assert not (jobs / "pending" / message).exists()
    assert where(place / "other", message) == "pending"


def test_reading_claims_nothing(jobs: Path) -> None:
    message = enqueue(jobs)

    sh("find . -type f -path '*pending*' -exec md5sum {} +; ls -lR . >/dev/null; du -a pending; wc -c pending/*", jobs)

    assert status(jobs) == (1, 0)
    assert xattrs(jobs / "pending" / message)["attempt"] == "0"


# Done -----------------------------------------------------------------------------------------------------------------


def record(queue: Path, message: str) -> dict[str, Any]:
    """Return a record as `cat done/ID` shows it."""
    found: dict[str, Any] = json.loads(sh(f"cat done/{message}", queue).stdout)
    return found


def test_a_record_tells_how_it_went(jobs: Path) -> None:
    message = enqueue(jobs, b"hello", ",priority=3,key=k")
    claim(jobs)
    (jobs / "ack").write_text(message + "\n")
    found = record(jobs, message)

    assert (
        found.items()
        >= {
            "id": message,
            "status": "succeeded",
            "attempt": 1,
            "priority": 3,
            "size": 5,
            "key": "k",
        }.items()
    )
    assert found["enqueued_at"] <= found["claimed_at"] <= found["finished_at"]
    assert found["queued_for"] >= 0
    assert found["ran_for"] >= 0
    assert os.stat(jobs / "done" / message).st_size == len((jobs / "done" / message).read_bytes())


def test_a_cancelled_message_leaves_a_record(jobs: Path) -> None:
    waiting, held = enqueue(jobs), enqueue(jobs)
    move(jobs / "pending" / held, jobs / "processing")
    (jobs / "ctl").write_text(f"cancel {waiting}\ncancel {held}\n")

    assert record(jobs, waiting)["status"] == "cancelled"
    assert "claimed_at" not in record(jobs, waiting)
    assert where(jobs, held) == "processing"
    (jobs / "nack").write_text(held + "\n")
    assert record(jobs, held)["status"] == "cancelled"
    assert stats(jobs)["done"] == 2


def test_the_latest_records_are_kept(jobs: Path) -> None:
    (jobs / "config").write_text("retain = 3\n")
    messages = [enqueue(jobs) for _ in range(5)]
    assert take_all(jobs) == [b"x"] * 5

    assert list(reversed(messages[2:])) == ls(jobs / "done")
    (jobs / "config").write_text("retain = 0\n")
    last = enqueue(jobs)
    assert take_all(jobs) == [b"x"]
    assert where(jobs, last) == "gone"


def test_sixty_four_are_kept_by_default(jobs: Path) -> None:
    put(jobs, *[b"x"] * 70)
    take_all(jobs)

    assert (config(jobs)["retain"], config(jobs)["retention"]) == ("64", "600")
    assert len(ls(jobs / "done")) == 64


def test_records_can_be_dropped(jobs: Path) -> None:
    first, second, third = (enqueue(jobs) for _ in range(3))
    take_all(jobs)

    (jobs / "done" / first).unlink()
    assert [third, second] == ls(jobs / "done")
    (jobs / "ctl").write_text("prune all\n")
    assert ls(jobs / "done") == []
    assert error_of("rm", jobs / "done" / first) == "No such file or directory"


def test_records_do_not_keep_a_queue_from_being_removed(jobs: Path) -> None:
    enqueue(jobs)
    take_all(jobs)
    jobs.rmdir()


def test_events_tell_when_a_record_goes(jobs: Path) -> None:
    (jobs / "config").write_text("retain = 1\n")
    with (jobs / "events").open() as events:
        first, second = enqueue(jobs), enqueue(jobs)
        take_all(jobs)
        lines = iter(events.readline, "")
        told = next(event for event in map(json.loads, lines) if event["event"] == "terminate")
    assert told["id"] == first
    assert ls(jobs / "done") == [second]


# Removing -------------------------------------------------------------------------------------------------------------


def test_removing_a_pending_message_cancels_it(jobs: Path) -> None:
    message = enqueue(jobs)
    subprocess.run(["rm", jobs / "pending" / message], check=True)

    assert status(jobs) == (0, 0)
    assert record(jobs, message)["status"] == "cancelled"


def test_removing_a_message_in_processing_acks_it(jobs: Path) -> None:
    message = enqueue(jobs)
    claim(jobs)
    subprocess.run(["rm", jobs / "processing" / message], check=True)

    assert status(jobs) == (0, 0)
    assert record(jobs, message)["status"] == "succeeded"
    assert stats(jobs)["totals"]["acked"] == 1


def test_removing_a_dead_message_drops_it(jobs: Path) -> None:
    message = enqueue(jobs)
    move(jobs / "pending" / message, jobs / "dead")
    subprocess.run(["rm", jobs / "dead" / message], check=True)

    assert where(jobs, message) == "gone"
    jobs.rmdir()


def test_find_deletes(jobs: Path) -> None:
    for _ in range(30):
        enqueue(jobs)
    sh("mv pending/* dead/", jobs)
    assert len(ls(jobs / "dead")) == 30
    done = sh("find dead -type f -delete", jobs)

    assert (0, "") == (done.returncode, done.stderr)
    assert ls(jobs / "dead") == []


def test_who_has_it_open_reads_on_as_far_as_it_was_read(jobs: Path) -> None:
    payload = b"y" * 300_000
    message = enqueue(jobs, payload)
    with (jobs / "pending" / message).open("rb", buffering=0) as file:
        assert file.read(10) == payload[:10]
        (jobs / "pending" / message).unlink()
        assert os.fstat(file.fileno()).st_size == len(payload)
        with pytest.raises(OSError, match="Stale file handle"):
            os.pread(file.fileno(), 10, 299_000)


# Moving ---------------------------------------------------------------------------------------------------------------


def test_from_pending_to_processing_claims_that_one(jobs: Path) -> None:
    first, second = enqueue(jobs, b"1"), enqueue(jobs, b"2")
    move(jobs / "pending" / second, jobs / "processing")

    assert [second] == ls(jobs / "processing")
    assert xattrs(jobs / "processing" / second)["receipt"] == f"{second}.1"
    (jobs / "ack").write_text(f"{second}.1\n")
    assert [first] == ls(jobs / "pending")


def test_a_paused_message_is_not_taken(jobs: Path) -> None:
    message = enqueue(jobs)
    (jobs / "ctl").write_text(f"pause {message}\n")

    assert rename_errno(jobs / "pending" / message, jobs / "processing" / message) == errno.EBUSY
    (jobs / "ctl").write_text(f"resume {message}\npause\n")
    assert rename_errno(jobs / "pending" / message, jobs / "processing" / message) == errno.EBUSY
    (jobs / "ctl").write_text("resume\n")
    assert rename_errno(jobs / "pending" / message, jobs / "processing" / message) == 0


def test_from_processing_to_pending_nacks(jobs: Path) -> None:
    first, second = enqueue(jobs), enqueue(jobs)
    claim(jobs)
    move(jobs / "processing" / first, jobs / "pending")

    assert [first, second] == ls(jobs / "pending")
    assert xattrs(jobs / "pending" / first)["attempt"] == "1"
    assert stats(jobs)["totals"]["nacked"] == 1


def test_from_dead_to_pending_retries(jobs: Path) -> None:
    first, _second = enqueue(jobs), enqueue(jobs)
    claim(jobs)
    (jobs / "nack,dead").write_text(first + "\n")
    move(jobs / "dead" / first, jobs / "pending")

    assert ls(jobs / "pending")[0] == first
    assert xattrs(jobs / "pending" / first)["attempt"] == "0"


@pytest.mark.parametrize("state", ["pending", "processing"])
def test_to_dead_buries(jobs: Path, state: str) -> None:
    message = enqueue(jobs)
    if state == "processing":
        claim(jobs)
    move(jobs / state / message, jobs / "dead")

    assert where(jobs, message) == "dead"
    assert xattrs(jobs / "dead" / message)["reason"] == "moved to dead/"
    assert stats(jobs)["totals"]["dead"] == 1
    assert status(jobs) == (0, 0)


def test_to_another_queue_it_goes_as_it_is(place: Path, jobs: Path) -> None:
    other = place / "other"
    other.mkdir()
    message, later = enqueue(jobs, b"payload", ",priority=2"), enqueue(other, b"later")
    move(jobs / "pending" / message, other / "pending")

    assert status(jobs) == (0, 0)
    assert [message, later] == ls(other / "pending")
    assert (other / "pending" / message).read_bytes() == b"payload"
    assert take_all(other) == [b"payload", b"later"]


def test_to_another_queue_only_if_there_is_room(place: Path, jobs: Path) -> None:
    other = place / "other"
    other.mkdir()
    (other / "config").write_text("max_messages = 1\nmax_message_bytes = 10\n")
    big, small, key = enqueue(jobs, b"x" * 11), enqueue(jobs), enqueue(jobs, b"y", ",key=k")
    assert rename_errno(jobs / "pending" / big, other / "pending" / big) == errno.EFBIG
    enqueue(other, b"z", ",key=k")
    assert rename_errno(jobs / "pending" / small, other / "pending" / small) == errno.ENOSPC
    (other / "config").write_text("max_messages = 0\n")
    assert rename_errno(jobs / "pending" / key, other / "pending" / key) == errno.EEXIST

    assert [big, small, key] == ls(jobs / "pending")


MEANINGLESS = [
    ("pending", "done"),
    ("processing", "done"),
    ("dead", "done"),
    ("dead", "processing"),
    ("done", "pending"),
    ("done", "processing"),
    ("done", "dead"),
]


@pytest.mark.parametrize(("source", "target"), MEANINGLESS)
def test_moves_that_mean_nothing_are_refused(jobs: Path, source: str, target: str) -> None:
    message = enqueue(jobs)
    if source == "dead":
        move(jobs / "pending" / message, jobs / "dead")
    elif source != "pending":
        claim(jobs)
        if source == "done":
            (jobs / "ack").write_text(message + "\n")

    assert error_of("mv", jobs / source / message, jobs / target) == "Operation not permitted"
    assert where(jobs, message) == source


def test_a_message_keeps_its_id(jobs: Path) -> None:
    first, second = enqueue(jobs), enqueue(jobs)
    claim(jobs)

    assert rename_errno(jobs / "pending" / second, jobs / "pending" / "999999") == errno.EPERM
    assert rename_errno(jobs / "processing" / first, jobs / "pending" / "name") == errno.EPERM
    assert rename_errno(jobs / "processing" / first, jobs / "pending" / second) == errno.EEXIST
    assert sh(f"mv -n processing/{first} pending/{second}", jobs).returncode in {0, 1}
    assert (where(jobs, first), where(jobs, second)) == ("processing", "pending")


def test_nothing_else_goes_anywhere(place: Path, jobs: Path, tmp_path: Path) -> None:
    (place / "other").mkdir()
    message = enqueue(jobs)
    outside = tmp_path / "file"
    outside.write_text("x")

    assert error_of("mv", jobs / "pending" / message, place / "other") == "Operation not permitted"
    assert error_of("mv", jobs / "pending" / message, place / "other" / "dead") == "Operation not permitted"
    assert error_of("mv", jobs / "pending", place / "other") == "Operation not permitted"
    assert error_of("mv", jobs, place / "other" / "pending") == "Operation not permitted"
    assert error_of("mv", jobs / "enqueue", jobs / "pending") == "Operation not permitted"
    assert error_of("cp", outside, jobs / "pending") == "Operation not permitted"
    assert error_of("mv", outside, jobs / "pending").endswith("Operation not permitted")
    assert error_of("mkdir", jobs / "pending" / "x") == "Operation not permitted"
    assert error_of("rmdir", jobs / "pending") == "Operation not permitted"
    assert error_of("ln", jobs / "pending" / message, jobs / "dead" / message) == "Operation not permitted"
    assert error_of("truncate", "-s", "0", jobs / "pending" / message) == "Permission denied"
    assert outside.read_text() == "x"
    assert where(jobs, message) == "pending"
    assert status(jobs) == (1, 0)


def test_out_of_the_mount_it_is_copied_and_cancelled(jobs: Path, tmp_path: Path) -> None:
    message = enqueue(jobs, b"payload")
    move(jobs / "pending" / message, tmp_path)

    assert (tmp_path / message).read_bytes() == b"payload"
    assert record(jobs, message)["status"] == "cancelled"


def test_a_rename_of_the_queue_takes_all_with_it(place: Path, jobs: Path) -> None:
    messages = [enqueue(jobs, b"%d" % number) for number in range(4)]
    move(jobs / "pending" / messages[1], jobs / "processing")
    move(jobs / "pending" / messages[2], jobs / "dead")
    (jobs / "pending" / messages[3]).unlink()
    jobs.rename(place / "work")

    assert [where(place / "work", message) for message in messages] == ["pending", "processing", "dead", "done"]
    assert not jobs.exists()


def test_who_races_for_one_message_gets_it_alone(jobs: Path) -> None:
    for _ in range(20):
        message = enqueue(jobs)
        racers = [
            subprocess.Popen(["mv", jobs / "pending" / message, jobs / target], stderr=subprocess.DEVNULL)
            for target in ("processing", "dead", "processing", "dead")
        ]
        assert sorted(racer.wait() for racer in racers) in ([0, 1, 1, 1], [0, 0, 1, 1])  # processing, and then dead
        assert where(jobs, message) in {"processing", "dead"}
        assert sum(status(jobs)) + stats(jobs)["dead"] == 1
        sh("rm -f processing/* dead/*", jobs)


@pytest.fixture
def restarted(backend_url: str) -> Iterator[tuple[Path, Any]]:
    """A mount of its own, and what restarts its daemon."""
    with mounted(backend_url) as mount:

        def restart() -> None:
            assert mount.stop() == 0
            mount.remount()

        yield mount.path, restart


def same_but_for_clocks(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Return whether both tell the same; each daemon's wall clock was read at another instant."""
    times = {name for name in before if name.endswith(("_at", "_until"))}
    assert {name: float(before[name]) for name in times} == pytest.approx(
        {name: float(after[name]) for name in times}, abs=0.01
    )
    return before.keys() == after.keys() and all(before[name] == after[name] for name in before.keys() - times)


@pytest.mark.parametrize("backend_url", ["sqlite", "redis"], indirect=True)
def test_all_of_it_is_there_after_a_restart(restarted: tuple[Path, Any]) -> None:
    path, restart = restarted
    jobs = path / "jobs"
    jobs.mkdir()
    messages = [enqueue(jobs, b"%d" % number) for number in range(4)]
    move(jobs / "pending" / messages[1], jobs / "processing")
    move(jobs / "pending" / messages[2], jobs / "dead")
    (jobs / "pending" / messages[3]).unlink()
    before = [xattrs(jobs / state / message) for state, message in zip(STATES[:3], messages, strict=False)]
    told = record(jobs, messages[3])
    restart()

    assert [where(jobs, message) for message in messages] == ["pending", "processing", "dead", "done"]
    for state, message, facts in zip(STATES[:3], messages, before, strict=False):
        assert same_but_for_clocks(facts, xattrs(jobs / state / message))
    assert same_but_for_clocks(told, record(jobs, messages[3]))
