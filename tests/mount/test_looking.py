"""`peek`, `size`, `status` and `messages` on a real mount."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.support.programs import CATS, cat
from tests.support.queue import claim, listed, payload_of, put, status

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("program", CATS)
def test_every_reader_sees_the_whole_text_and_the_latest(jobs: Path, program: str) -> None:
    assert b'{"pending":0,"processing":0}\n' == cat(program, jobs / "status")
    assert b"0\n" == cat(program, jobs / "size")
    assert b"" == cat(program, jobs / "peek")
    assert b"[]\n" == cat(program, jobs / "messages")
    put(jobs, *(b"%d" % number * 100 for number in range(12)))
    claim(jobs)

    assert b'{"pending":11,"processing":1}\n' == cat(program, jobs / "status")
    assert b"11\n" == cat(program, jobs / "size")
    assert b"1" * 100 == payload_of(json.loads(cat(program, jobs / "peek")))
    assert 12 == len(json.loads(cat(program, jobs / "messages")))


@pytest.mark.parametrize("name", ["status", "size", "peek"])
def test_the_size_is_that_of_the_text(jobs: Path, name: str) -> None:
    put(jobs, b"x" * 5000)

    with (jobs / name).open("rb") as file:
        assert os.fstat(file.fileno()).st_size == len(file.read())


def test_one_open_shows_one_moment(jobs: Path) -> None:
    put(jobs, b"x")
    with (jobs / "status").open("rb", buffering=0) as file:
        first = file.read()
        put(jobs, b"y")
        file.seek(0)

        assert first == file.read()
    assert (2, 0) == status(jobs)


def test_messages_lists_all_in_order_with_their_state(jobs: Path) -> None:
    put(jobs, b"one", b"\xff\xfe", b"three")
    claim(jobs)

    assert [(b"one", "processing"), (b"\xff\xfe", "pending"), (b"three", "pending")] == listed(jobs)


def test_a_large_listing_is_whole_and_can_be_read_again(jobs: Path) -> None:
    payloads = [bytes([65 + number % 26]) * 100_000 for number in range(80)]
    put(jobs, *payloads)

    with (jobs / "messages").open("rb", buffering=0) as file:
        text = b"".join(iter(lambda: file.read(10_000), b""))
        assert payloads == [payload_of(message) for message in json.loads(text)]
        file.seek(5)
        assert text[5:20] == file.read(15)


def test_a_message_settled_while_it_is_listed_is_marked_gone(jobs: Path) -> None:
    put(jobs, *(b"x" * 200_000 for _ in range(40)))
    with (jobs / "messages").open("rb", buffering=0) as file:
        text = file.read(1000)
        (jobs / "clear").write_text("\n")
        text += b"".join(iter(lambda: file.read(1 << 20), b""))

    messages = json.loads(text)
    assert 40 == len(messages)
    assert "data" in messages[0]
    assert messages[-1]["gone"] is True
    assert "data" not in messages[-1]


def test_counts_always_add_up(jobs: Path) -> None:
    """While messages go back and forth, pending and processing always have the same sum."""
    put(jobs, *(b"%d" % number for number in range(20)))

    def go_back_and_forth(_number: int) -> None:
        for _ in range(40):
            message = claim(jobs)
            if message is not None:
                (jobs / "nack").write_text(message["receipt"] + "\n")

    with ThreadPoolExecutor(5) as pool:
        work = [pool.submit(go_back_and_forth, number) for number in range(4)]
        sums = set()
        while not all(future.done() for future in work):
            sums.add(sum(status(jobs)))
            sums.add(len(json.loads((jobs / "messages").read_bytes())))
        for future in work:
            future.result()

    assert {20} == sums
    assert (20, 0) == status(jobs)
