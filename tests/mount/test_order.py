"""Who is first, on a real mount: priority whatever the order, and the order among equals."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from tests.support.queue import claim, lines_of, put, status, take, take_all
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path


def fill(queue: Path) -> None:
    """Enqueue messages of three priorities."""
    for text, priority in [("a", 0), ("b", 5), ("c", 0), ("d", -5), ("e", 5), ("f", 0)]:
        (queue / f"enqueue,priority={priority}").write_text(text)


ORDERS = {"fifo": "beacfd", "lifo": "ebfcad"}


@pytest.mark.parametrize("order", ORDERS)
def test_priority_goes_before_the_order(jobs: Path, order: str) -> None:
    (jobs / "config").write_text(f"order = {order}")
    fill(jobs)

    assert ORDERS[order].encode() == b"".join(take_all(jobs))


@pytest.mark.parametrize("order", ORDERS)
def test_all_that_look_see_the_order_in_which_is_handed_out(jobs: Path, order: str) -> None:
    (jobs / "config").write_text(f"order = {order}")
    fill(jobs)

    assert ORDERS[order].encode() == (jobs / "peek,raw,count=10").read_bytes()
    assert ORDERS[order] == "".join(message["data"] for message in json.loads((jobs / "messages").read_bytes()))
    assert ORDERS[order].encode() == (jobs / "dequeue,raw,count=10").read_bytes()


def test_the_order_can_change_at_any_time(jobs: Path) -> None:
    put(jobs, b"1", b"2", b"3", b"4")

    assert b"1" == take(jobs)
    (jobs / "config").write_text("order = lifo")
    assert b"4" == take(jobs)
    (jobs / "config").write_text("order = fifo")
    assert [b"2", b"3"] == take_all(jobs)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("back", ["nack", "lease", "undo", "delay", "retry"])
def test_what_comes_back_has_its_old_place(jobs: Path, order: str, back: str) -> None:
    (jobs / "config").write_text(f"order = {order}\n")
    fill(jobs)
    top = ORDERS[order][0]
    if back == "undo":
        fd = os.open(jobs / "dequeue", os.O_RDONLY)
        os.read(fd, 5)
        os.close(fd)
    else:
        (message,) = lines_of(jobs / f"dequeue,lease={0.2 if back == 'lease' else 60}")
        assert top == message["data"]
        verb = {"nack": "nack", "delay": "nack,delay=0.2", "retry": "nack,dead"}.get(back)
        if verb is not None:
            (jobs / verb).write_text(message["receipt"] + "\n")
        if back == "retry":
            (jobs / "ctl").write_text("retry all\n")

    eventually(lambda: (jobs / "peek,raw").read_text() == top)
    assert ORDERS[order].encode() == b"".join(take_all(jobs))


@pytest.mark.parametrize("order", ORDERS)
def test_a_place_is_by_id_also_when_a_message_closes_late(jobs: Path, order: str) -> None:
    (jobs / "config").write_text(f"order = {order}")
    with (jobs / "enqueue").open("wb", buffering=0) as file:
        file.write(b"early")
        put(jobs, b"late")

    assert ([b"early", b"late"] if order == "fifo" else [b"late", b"early"]) == take_all(jobs)


@pytest.mark.parametrize("order", ORDERS)
def test_what_can_not_be_handed_out_does_not_block_what_can(jobs: Path, order: str) -> None:
    (jobs / "config").write_text(f"order = {order}")
    (jobs / "enqueue,priority=9,delay=3600").write_text("later")
    (jobs / "enqueue,priority=8").write_text("paused")
    (jobs / "ctl").write_text(f"pause {lines_of(jobs / 'peek')[0]['id']}\n")
    (jobs / "enqueue,priority=7").write_text("held")
    assert claim(jobs) is not None
    put(jobs, b"now")

    assert [b"now"] == take_all(jobs)
    assert (2, 1) == status(jobs)


def test_a_late_urgent_message_is_next(jobs: Path) -> None:
    put(jobs, *(b"%d" % number for number in range(50)))
    assert b"0" == take(jobs)
    (jobs / "enqueue,priority=1").write_text("urgent")

    assert b"urgent" == take(jobs)
    assert b"1" == take(jobs)
