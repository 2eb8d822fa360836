"""Messages that come back on a real mount: attempts, pauses between them, and the dead."""

from __future__ import annotations

import errno
import json
import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.mount import mounted
from tests.support.queue import claim, dead, error_of, lines_of, put, stats, status, take_all
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path


def configure(queue: Path, **settings: object) -> None:
    """Set keys of the config."""
    (queue / "config").write_text("".join(f"{key} = {value}\n" for key, value in settings.items()))


def claimed(queue: Path) -> dict[str, Any]:
    """Claim the next message, which has to be there."""
    message = claim(queue)
    assert message is not None
    return message


def buried(queue: Path, *payloads: bytes) -> list[str]:
    """Enqueue *payloads* and bury each; return their ids."""
    put(queue, *payloads)
    ids = [message["id"] for message in lines_of(queue / f"dequeue,count={len(payloads)}")]
    (queue / "nack,dead").write_text("".join(f"{one}\n" for one in ids))
    return ids


@pytest.mark.parametrize("name", ["id", "receipt"])
def test_the_last_attempt_that_is_given_back_is_dead(jobs: Path, name: str) -> None:
    configure(jobs, max_attempts=3)
    put(jobs, b"bad", b"good")
    for attempt in [1, 2, 3]:
        message = claimed(jobs)
        assert ("bad", attempt) == (message["data"], message["attempt"])
        assert 0 == error_of(jobs / "nack", message[name].encode() + b"\n")

    assert (1, 0) == status(jobs)
    (found,) = dead(jobs)
    assert ("bad", "dead", 3) == (found["data"], found["state"], found["attempt"])
    assert "given back at attempt 3, the last" == found["reason"]
    assert [b"good"] == take_all(jobs)
    totals = stats(jobs)["totals"]
    assert (1, 3, 1) == (stats(jobs)["dead"], totals["nacked"], totals["dead"])


def test_the_holders_reason_is_kept_with_the_dead(jobs: Path) -> None:
    configure(jobs, max_attempts=1)
    put(jobs, b"x")
    (jobs / "nack,delay=60,reason=no paper").write_text(claimed(jobs)["id"])

    assert "no paper" == dead(jobs)[0]["reason"]


def test_the_last_attempt_whose_lease_ends_is_dead(jobs: Path) -> None:
    configure(jobs, max_attempts=2, lease=0.2)
    put(jobs, b"x")
    claimed(jobs)
    eventually(lambda: status(jobs) == (1, 0))
    assert 2 == claimed(jobs)["attempt"]
    eventually(lambda: status(jobs) == (0, 0))

    (found,) = dead(jobs)
    assert ("x", 2, "the lease ended at attempt 2, the last") == (found["data"], found["attempt"], found["reason"])
    totals = stats(jobs)["totals"]
    assert (2, 1) == (totals["expired"], totals["dead"])


def test_without_max_attempts_there_is_no_limit(jobs: Path) -> None:
    put(jobs, b"x")
    for attempt in range(1, 30):
        message = claimed(jobs)
        assert attempt == message["attempt"]
        (jobs / "nack").write_text(message["id"])

    assert [] == dead(jobs)


def test_an_undone_claim_is_no_attempt(jobs: Path) -> None:
    configure(jobs, max_attempts=1)
    put(jobs, b"x" * 1000)
    for _ in range(5):
        fd = os.open(jobs / "dequeue", os.O_RDONLY)
        os.read(fd, 10)
        os.close(fd)
        assert (1, 0) == status(jobs)

    assert [] == dead(jobs)
    assert 1 == claimed(jobs)["attempt"]


def test_what_can_not_be_given_back_is_told_whatever_the_limit(jobs: Path) -> None:
    configure(jobs, max_attempts=1, retry_delay=5)
    put(jobs, b"x")
    (pending,) = lines_of(jobs / "peek")

    assert errno.ENOENT == error_of(jobs / "nack", b"999999999\n")
    assert errno.ESTALE == error_of(jobs / "nack", pending["id"].encode() + b"\n")
    assert errno.ESTALE == error_of(jobs / "nack", pending["id"].encode() + b".1\n")
    assert (1, 0) == status(jobs)


def test_a_late_nack_by_receipt_does_not_bury_what_someone_else_holds(jobs: Path) -> None:
    configure(jobs, max_attempts=2)
    put(jobs, b"x")
    (late,) = lines_of(jobs / "dequeue,lease=0.2")
    eventually(lambda: status(jobs) == (1, 0))
    now = claimed(jobs)

    assert errno.ESTALE == error_of(jobs / "nack", late["receipt"].encode() + b"\n")

    assert (0, 1) == status(jobs)
    assert 0 == error_of(jobs / "ack", now["receipt"].encode() + b"\n")


def test_a_message_rests_after_each_failure_longer_and_never_shorter_than_asked_for(jobs: Path) -> None:
    configure(jobs, retry_delay=0.2, retry_backoff=2)
    put(jobs, b"x")
    for attempt in [1, 2, 3]:
        message = claimed(jobs)
        begun = time.monotonic()
        (jobs / "nack").write_text(message["id"] + "\n")
        assert b"" == (jobs / "dequeue").read_bytes() or time.monotonic() - begun >= 0.2
        assert (1, 0) == status(jobs)
        eventually(lambda: (jobs / "peek").read_bytes() != b"")
        assert time.monotonic() - begun >= 0.2 * 2 ** (attempt - 1)


def test_a_message_rests_after_its_lease_has_ended(jobs: Path) -> None:
    configure(jobs, retry_delay=3600, lease=0.2)
    put(jobs, b"x", b"y")
    claimed(jobs)
    eventually(lambda: status(jobs) == (2, 0))

    assert 1 == stats(jobs)["delayed"]
    assert [b"y"] == take_all(jobs)


def test_a_nacks_own_delay_goes_before_the_queues(jobs: Path) -> None:
    configure(jobs, retry_delay=3600)
    put(jobs, b"x")
    (jobs / "nack,delay=0").write_text(claimed(jobs)["id"])

    assert 2 == claimed(jobs)["attempt"]


def test_an_undone_claim_does_not_rest(jobs: Path) -> None:
    configure(jobs, retry_delay=3600)
    put(jobs, b"x" * 1000)
    fd = os.open(jobs / "dequeue", os.O_RDONLY)
    os.read(fd, 10)
    os.close(fd)

    assert 1 == claimed(jobs)["attempt"]


def test_the_last_line_without_a_newline_counts_as_well(jobs: Path) -> None:
    configure(jobs, max_attempts=1)
    put(jobs, b"x")
    (jobs / "nack").write_text(claimed(jobs)["id"])

    assert ["x"] == [message["data"] for message in dead(jobs)]


def test_a_head_that_always_fails_does_not_starve_the_rest(jobs: Path) -> None:
    configure(jobs, retry_delay=2)
    (jobs / "enqueue,priority=100").write_text("poison")
    put(jobs, *(b"%d" % number for number in range(20)))
    done: list[str] = []
    while len(done) < 20:
        message = claimed(jobs)
        if message["data"] == "poison":
            (jobs / "nack").write_text(message["id"] + "\n")
        else:
            (jobs / "ack").write_text(message["id"] + "\n")
            done.append(message["data"])

    assert [str(number) for number in range(20)] == done
    assert (1, 0) == status(jobs)


def test_the_dead_are_listed_by_id_and_in_no_count(jobs: Path) -> None:
    ids = buried(jobs, b"one", b"\xff", b"three")

    assert (0, 0) == status(jobs)
    assert [] == json.loads((jobs / "messages").read_bytes())
    assert ids == [message["id"] for message in dead(jobs)]
    assert ["one", None, "three"] == [message.get("data") for message in dead(jobs)]
    assert "/w==" == dead(jobs)[1]["data_base64"]
    assert "" == (jobs / "dequeue").read_text()


def test_many_dead_are_listed_in_pages(jobs: Path) -> None:
    payloads = [b"%d" % number * 1000 for number in range(700)]
    (jobs / "enqueue,lines").write_bytes(b"\n".join(payloads))
    ids = (jobs / "dequeue,id,count=1000").read_bytes()
    (jobs / "nack,dead").write_bytes(ids)

    found = dead(jobs)
    assert payloads == [message["data"].encode() for message in found]
    assert ids.decode().split() == [message["id"] for message in found]


def test_retry_brings_a_dead_one_to_its_old_place_for_another_life(jobs: Path) -> None:
    configure(jobs, max_attempts=1)
    first, second = buried(jobs, b"one", b"two")
    put(jobs, b"three")
    assert 0 == error_of(jobs / "ctl", f"retry {first}\n".encode())

    message = claimed(jobs)
    assert (first, "one", 1, f"{first}.2") == tuple(message[key] for key in ("id", "data", "attempt", "receipt"))
    assert [second] == [found["id"] for found in dead(jobs)]
    (jobs / "nack").write_text(message["id"])
    assert 2 == len(dead(jobs))
    (jobs / "ctl").write_text("retry all\n")
    assert [b"one", b"two", b"three"] == take_all(jobs)


def test_drop_removes_dead_ones_for_good(jobs: Path) -> None:
    first, _, _ = buried(jobs, b"one", b"two", b"three")

    assert 0 == error_of(jobs / "ctl", f"drop {first}\n".encode())
    assert ["two", "three"] == [message["data"] for message in dead(jobs)]
    assert errno.ENOENT == error_of(jobs / "ctl", f"drop {first}\n".encode())
    assert errno.ENOENT == error_of(jobs / "ctl", f"retry {first}\n".encode())
    assert 0 == error_of(jobs / "ctl", b"drop all\n")
    assert [] == dead(jobs)
    assert 0 == error_of(jobs / "ctl", b"drop all\n")
    assert 0 == error_of(jobs / "ctl", b"retry all\n")


@pytest.mark.parametrize("verb", ["retry", "drop"])
def test_only_the_dead_are_retried_or_dropped(jobs: Path, verb: str) -> None:
    put(jobs, b"held", b"pending")
    held = claimed(jobs)
    (pending,) = lines_of(jobs / "peek")

    for message in held, pending:
        assert errno.ESTALE == error_of(jobs / "ctl", f"{verb} {message['id']}\n".encode())
    assert errno.ENOENT == error_of(jobs / "ctl", f"{verb} 999999999\n".encode())
    assert (1, 1) == status(jobs)


def test_the_dead_block_rmdir_and_clear_leaves_them(jobs: Path) -> None:
    buried(jobs, b"one")
    put(jobs, b"two")
    (jobs / "clear").write_text("\n")

    assert (0, 0) == status(jobs)
    assert 1 == len(dead(jobs))
    with pytest.raises(OSError, match="not empty"):
        jobs.rmdir()
    (jobs / "ctl").write_text("drop all\n")
    jobs.rmdir()


def test_the_dead_outlive_the_daemon(tmp_path: Path) -> None:
    with mounted(f"sqlite://{tmp_path}/queue.db") as mount:
        queue = mount.path / "jobs"
        queue.mkdir()
        ids = buried(queue, b"one", b"two")
        mount.kill()
        mount.remount()

        assert ids == [message["id"] for message in dead(queue)]
        (queue / "ctl").write_text("retry all")
        assert [b"one", b"two"] == take_all(queue)


def test_pauses_outlive_the_daemon(tmp_path: Path) -> None:
    with mounted(f"sqlite://{tmp_path}/queue.db") as mount:
        queue = mount.path / "jobs"
        queue.mkdir()
        configure(queue, retry_delay=1, max_attempts=5)
        put(queue, b"x")
        begun = time.monotonic()
        (queue / "nack").write_text(claimed(queue)["id"] + "\n")
        (queue / "enqueue,delay=3600").write_text("later")
        mount.kill()
        mount.remount()

        eventually(lambda: (queue / "peek").read_bytes() != b"")
        assert time.monotonic() - begun >= 1
        assert 2 == claimed(queue)["attempt"]
        assert (1, 1) == status(queue)
