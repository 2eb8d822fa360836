"""`stats` on a real mount: every field, and counts that always add up."""

from __future__ import annotations

import json
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.mount import mounted
from tests.support.queue import claim, lines_of, put, stats, status, take_all
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

EMPTY = {
    "pending": 0,
    "processing": 0,
    "unacked": 0,
    "delayed": 0,
    "paused": 0,
    "dead": 0,
    "done": 0,
    "unacked_bytes": 0,
    "oldest_pending_seconds": None,
    "totals": {"enqueued": 0, "dequeued": 0, "acked": 0, "nacked": 0, "expired": 0, "dead": 0},
}


def claimed(queue: Path, options: str = "") -> dict[str, Any]:
    """Claim the next message, which has to be there."""
    (message,) = lines_of(queue / f"dequeue{options}")
    return message


def test_an_empty_queue_shows_every_field(jobs: Path) -> None:
    assert EMPTY == stats(jobs)


def test_it_is_one_line_and_its_size_is_exact(jobs: Path) -> None:
    put(jobs, b"x")
    size = (jobs / "stats").stat().st_size
    text = (jobs / "stats").read_bytes()

    assert 1 == text.count(b"\n")
    assert text.endswith(b"}\n")
    assert abs(size - len(text)) <= 8  # the age's digits differ between two looks
    with (jobs / "stats").open("rb") as file:
        assert os.fstat(file.fileno()).st_size == len(file.read())


def test_every_count_is_what_it_says(jobs: Path) -> None:
    put(jobs, b"held", b"to ack", b"to give back", b"to bury", b"to pause")
    (jobs / "enqueue,delay=3600").write_text("delayed")
    held = claimed(jobs)
    (jobs / "ack").write_text(claimed(jobs)["id"] + "\n")
    for_later = claimed(jobs)
    (jobs / "nack,dead").write_text(claimed(jobs)["id"] + "\n")
    (jobs / "ctl").write_text(f"pause {lines_of(jobs / 'peek')[0]['id']}\n")
    (jobs / "nack").write_text(for_later["id"] + "\n")

    found = stats(jobs)

    assert found["oldest_pending_seconds"] >= 0
    assert {
        "pending": 3,
        "processing": 1,
        "unacked": 4,
        "delayed": 1,
        "paused": 1,
        "dead": 1,
        "done": 1,
        "unacked_bytes": len("heldto give backto pausedelayed"),
        "oldest_pending_seconds": found["oldest_pending_seconds"],
        "totals": {"enqueued": 6, "dequeued": 4, "acked": 1, "nacked": 2, "expired": 0, "dead": 1},
    } == found
    assert held["id"] == json.loads((jobs / "messages").read_bytes())[0]["id"]


def test_an_undone_claim_and_a_repetition_are_in_no_total(jobs: Path) -> None:
    (jobs / "enqueue,key=k").write_text("x" * 1000)
    (jobs / "enqueue,key=k").write_text("again")
    fd = os.open(jobs / "dequeue", os.O_RDONLY)
    os.read(fd, 10)
    assert 1 == stats(jobs)["totals"]["dequeued"]
    os.close(fd)

    assert {**EMPTY["totals"], "enqueued": 1} == stats(jobs)["totals"]  # type: ignore[dict-item]


def test_ends_of_leases_are_counted(jobs: Path) -> None:
    put(jobs, b"x")
    claimed(jobs, ",lease=0.2")
    eventually(lambda: status(jobs) == (1, 0))

    totals = stats(jobs)["totals"]
    assert (1, 1, 0) == (totals["dequeued"], totals["expired"], totals["nacked"])


def test_a_delay_that_has_passed_is_counted_no_longer(jobs: Path) -> None:
    (jobs / "enqueue,delay=0.3").write_text("x")
    (jobs / "enqueue,delay=3600").write_text("y")
    assert stats(jobs)["delayed"] in {1, 2}

    eventually(lambda: stats(jobs)["delayed"] == 1)
    assert "x" == claimed(jobs)["data"]


def test_the_oldest_pending_ones_age_grows_and_is_that_of_the_oldest(jobs: Path) -> None:
    begun = time.monotonic()
    put(jobs, b"old")
    eventually(lambda: stats(jobs)["oldest_pending_seconds"] > 0.3)
    put(jobs, b"new")
    age = stats(jobs)["oldest_pending_seconds"]
    assert 0.3 < age <= time.monotonic() - begun + 0.1

    claimed(jobs)
    assert stats(jobs)["oldest_pending_seconds"] < time.monotonic() - begun


def test_totals_outlive_what_they_count_and_the_daemon(tmp_path: Path) -> None:
    with mounted(f"sqlite://{tmp_path}/queue.db") as mount:
        queue = mount.path / "jobs"
        queue.mkdir()
        put(queue, b"1", b"2", b"3")
        take_all(queue)
        put(queue, b"4")
        (queue / "clear").write_text("\n")
        mount.kill()
        mount.remount()

        totals = {**EMPTY["totals"], "enqueued": 4, "dequeued": 3, "acked": 3}  # type: ignore[dict-item]
        assert {**EMPTY, "done": 3, "totals": totals} == stats(queue)


def test_clear_and_an_end_in_the_queue_leave_nothing_behind(jobs: Path) -> None:
    put(jobs, b"1", b"2")
    (jobs / "enqueue,delay=60").write_text("3")
    (jobs / "enqueue,priority=3").write_text("4")
    (jobs / "ctl").write_text(f"pause {lines_of(jobs / 'peek')[0]['id']}\n")
    claimed(jobs)
    (jobs / "clear").write_text("\n")

    assert EMPTY == {**stats(jobs), "totals": EMPTY["totals"]}


MESSAGES = 30
ROUNDS = 60


def _work(queue: Path, number: int) -> None:
    """Claim and give back in every way there is; nothing is ever settled for good."""
    for turn in range(ROUNDS):
        way = (number + turn) % 4
        if way == 0:
            with (queue / "dequeue").open("rb", buffering=0) as file:
                file.read(3)  # undone
        elif way == 1:
            found = lines_of(queue / "dequeue,count=3")
            (queue / "nack").write_text("".join(f"{one['receipt']}\n" for one in found) or " ")
        elif (message := claim(queue)) is not None:
            (queue / ("nack" if way == 2 else "nack,delay=0.01")).write_text(message["receipt"] + "\n")


def test_counts_add_up_whenever_one_looks(jobs: Path) -> None:
    put(jobs, *(b"%d" % number for number in range(MESSAGES)))
    done = threading.Event()
    wrong: list[object] = []
    looks = 0

    def look() -> None:
        nonlocal looks
        while not done.is_set():
            found = stats(jobs)
            pending, processing = status(jobs)
            listed = json.loads((jobs / "messages").read_bytes())
            sums = {found["pending"] + found["processing"], found["unacked"], pending + processing, len(listed)}
            if sums != {MESSAGES}:
                wrong.append((found, pending, processing, len(listed)))
            looks += 1

    with ThreadPoolExecutor(6) as pool:
        looking = [pool.submit(look) for _ in range(2)]
        working = [pool.submit(_work, jobs, number) for number in range(4)]
        for work in working:
            work.exception()
        done.set()
        for one in looking:
            one.result()

    assert [] == wrong
    assert looks > 10
    for work in working:
        work.result()
    eventually(lambda: stats(jobs)["delayed"] == 0)
    assert (MESSAGES, 0) == status(jobs)
    assert sorted(b"%d" % number for number in range(MESSAGES)) == sorted(take_all(jobs))
    totals = stats(jobs)["totals"]
    assert totals["dequeued"] == totals["nacked"] + totals["acked"]


@pytest.mark.parametrize("name", ["stats", "messages"])
def test_ten_thousand_messages_are_counted_right(jobs: Path, name: str) -> None:
    (jobs / "enqueue,lines").write_bytes(b"".join(b"%d\n" % number for number in range(10_000)))
    (jobs / "dequeue,id,count=100").read_bytes()

    if name == "stats":
        assert (9900, 100) == (stats(jobs)["pending"], stats(jobs)["processing"])
    else:
        found = json.loads((jobs / "messages").read_bytes())
        assert [str(number) for number in range(10_000)] == [message["data"] for message in found]
        assert 100 == sum(message["state"] == "processing" for message in found)
