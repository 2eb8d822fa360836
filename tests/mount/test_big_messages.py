"""Messages that are longer than the daemon holds: they are written and read in pieces, and small ones pass them by."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.mount import mounted
from tests.support.programs import CATS, cat, sh
from tests.support.queue import listed, payload_of, put, status, take, take_all
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.mount import Mount

MIB = 1 << 20

#: What the daemon may grow by while a message of `HUGE` bytes passes.
BOUND = 32 * MIB
HUGE = 256 * MIB

#: Some bytes that are no UTF-8, and differ from piece to piece.
BIG = random.Random(2).randbytes(5 * MIB + 12345)


@contextmanager
def growth_is_bounded(pid: int) -> Iterator[None]:
    """Fail if a process grows by more than `BOUND` at any time during the block."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak is what it is now (proc(5))
    before = peak(pid)
    yield
    assert (peak(pid) - before) // MIB < BOUND // MIB


def peak(pid: int) -> int:
    """Return the most bytes that a process had in memory since this was last reset."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


@pytest.fixture(scope="session")
def huge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of `HUGE` bytes that is no UTF-8."""
    path = tmp_path_factory.mktemp("huge") / "file"
    piece = random.Random(3).randbytes(MIB)
    with path.open("wb") as file:
        for number in range(HUGE // MIB):
            file.write(b"%8d" % number + piece[8:])
    return path


@pytest.fixture
def roomy(backend_url: str) -> Iterator[Mount]:
    """A mount whose daemon keeps its messages elsewhere, and takes huge ones."""
    if backend_url.startswith("memory"):
        pytest.skip("it holds them")
    with mounted(backend_url, options=[f"max_message_bytes={2 * HUGE}"]) as mount:
        (mount.path / "jobs").mkdir()
        yield mount


def test_a_huge_message_is_never_held(roomy: Mount, huge: Path) -> None:
    queue = roomy.path / "jobs"
    put(queue, bytes(48 * MIB))  # fills SQLite's page cache, which is there for good
    sh("cat jobs/dequeue,raw,ack > /dev/null", roomy.path)

    def bounded(script: str) -> str:
        with growth_is_bounded(roomy.pid):
            done = sh(script.replace("huge", str(huge)), roomy.path)
        assert (0, "") == (done.returncode, done.stderr)
        return done.stdout

    bounded("cat huge > jobs/enqueue")
    bounded("cmp huge jobs/peek,raw")
    bounded(f"cat jobs/messages | {base64_of(queue / 'messages')} | cmp -n {HUGE} huge -")
    message = bounded("cat jobs/dequeue,id").strip()
    assert bounded("sha256sum < huge") == bounded(f"sha256sum < jobs/processing/{message}")
    (queue / "nack").write_text(message)
    bounded(f"cat jobs/dequeue | {base64_of(queue / 'peek')} | cmp -n {HUGE} huge -")
    assert (0, 1) == status(queue)
    (queue / "nack").write_text(message)
    bounded("cmp huge jobs/dequeue,raw")
    assert (0, 1) == status(queue)


def base64_of(file: Path) -> str:
    """Return a command that decodes what stands in *file*, and some bytes behind it."""
    with file.open("rb", buffering=0) as opened:
        before, found, _ = opened.read(1000).partition(b'"data_base64":"')
    assert found
    return f"tail -c +{len(before + found) + 1} | (base64 -di 2>/dev/null || true)"


# Writing --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [MIB - 1, MIB, MIB + 1, 2 * MIB, 2 * MIB + 1])
@pytest.mark.parametrize("step", [MIB, 65537])
def test_sizes_about_the_ends_of_pieces(jobs: Path, size: int, step: int) -> None:
    with (jobs / "enqueue").open("wb", buffering=0) as file:
        for start in range(0, size, step):
            file.write(BIG[start : min(start + step, size)])

    assert [BIG[:size]] == take_all(jobs)


@pytest.mark.parametrize(
    "script",
    [
        "(cat big; cat big) > jobs/enqueue",
        "exec 3>jobs/enqueue; cat big >&3; (cat big >&3); exec 3>&-",
        "cat big big > jobs/enqueue",
        "cat big big | dd of=jobs/enqueue bs=3M iflag=fullblock status=none",
        "cat big big | dd of=jobs/enqueue bs=5555 status=none",
        f"cat big big > jobs/enqueue,size={2 * len(BIG)}",
    ],
)
def test_a_big_message_that_is_flushed_in_between_is_one(place: Path, jobs: Path, script: str, tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(BIG)

    done = sh(script.replace(" big", f" {tmp_path}/big"), place)

    assert (0, "") == (done.returncode, done.stderr)
    assert [BIG + BIG] == take_all(jobs)


def test_small_messages_pass_many_big_ones_by(jobs: Path) -> None:
    """Eight writers at once, and none of their messages is mixed with another."""
    payloads = [random.Random(seed).randbytes(3 * MIB + seed) for seed in range(8)]
    half_way = threading.Barrier(9)

    def write(payload: bytes) -> None:
        with (jobs / "enqueue").open("wb", buffering=0) as file:
            for start in range(0, len(payload), 100_000):
                if start == 2_000_000:
                    half_way.wait(30)
                    half_way.wait(30)
                file.write(payload[start : start + 100_000])

    with ThreadPoolExecutor(8) as pool:
        writers = [pool.submit(write, payload) for payload in payloads]
        half_way.wait(30)
        put(jobs, b"small")
        assert b"small" == take(jobs)
        half_way.wait(30)
        for writer in writers:
            writer.result()

    assert sorted(payloads) == sorted(take_all(jobs))


def test_a_part_of_a_big_message_is_dropped_when_the_daemon_dies(tmp_path: Path) -> None:
    with mounted(f"sqlite://{tmp_path}/queue.db") as mount:
        queue = mount.path / "jobs"
        queue.mkdir()
        part = os.open(queue / "enqueue", os.O_WRONLY)
        grown = os.open(queue / "enqueue", os.O_WRONLY)
        flushed = os.open(queue / "enqueue", os.O_WRONLY)
        for file in (part, grown, flushed):
            assert len(BIG) == os.write(file, BIG)
        os.close(os.dup(grown))
        os.close(os.dup(flushed))
        assert 2 * MIB == os.write(grown, BIG[: 2 * MIB])
        mount.kill()
        for file in (part, grown, flushed):
            with suppress(OSError):
                os.close(file)
        mount.remount()

        assert [BIG] == take_all(queue)
        queue.rmdir()


@pytest.mark.parametrize(
    ("options", "size", "error"),
    [(f",size={3 * MIB}", 3 * MIB - 1, errno.EINVAL), (f",size={3 * MIB}", 3 * MIB + 1, errno.EFBIG)],
)
def test_a_big_message_of_another_size_leaves_nothing(jobs: Path, options: str, size: int, error: int) -> None:
    assert error == error_of_all(jobs / f"enqueue{options}", BIG[:size])
    assert (0, 0) == status(jobs)
    jobs.rmdir()


@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_big_line_among_small_ones_is_one_message(jobs: Path, end: bytes) -> None:
    big = BIG.replace(b"\n", b" ")
    (jobs / "enqueue,lines").write_bytes(b"one\n" + big + b"\ntwo\n" + big + end)

    assert [b"one", big, b"two", big] == take_all(jobs)


# A full queue ---------------------------------------------------------------------------------------------------------


def configure(queue: Path, **settings: object) -> None:
    """Set keys of the config."""
    (queue / "config").write_text("".join(f"{key} = {value}\n" for key, value in settings.items()))


def error_of_all(file: Path, text: bytes) -> int:
    """Return the errno of writing all of *text*, or of closing; 0 if all succeeds."""
    fd = os.open(file, os.O_WRONLY)
    try:
        try:
            for start in range(0, len(text), 100_000):
                os.write(fd, text[start : start + 100_000])
        finally:
            os.close(fd)
    except OSError as error:
        return error.errno or -1
    return 0


def test_a_big_message_without_room_is_refused_and_gives_back_what_it_had(jobs: Path) -> None:
    configure(jobs, max_bytes=4 * MIB)
    put(jobs, BIG[: 2 * MIB])

    assert errno.ENOSPC == error_of_all(jobs / "enqueue", BIG[: 3 * MIB])
    assert 0 == error_of_all(jobs / "enqueue", BIG[: 2 * MIB])
    assert [BIG[: 2 * MIB]] * 2 == take_all(jobs)


def test_the_writer_of_a_big_message_waits_for_room_half_way(jobs: Path) -> None:
    configure(jobs, max_bytes=4 * MIB, on_full="block")
    put(jobs, BIG[: 2 * MIB])
    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(error_of_all, jobs / "enqueue", BIG[: 4 * MIB])
        with pytest.raises(TimeoutError):
            writer.result(0.3)
        assert BIG[: 2 * MIB] == take(jobs)
        assert 0 == writer.result(30)

    assert [BIG[: 4 * MIB]] == take_all(jobs)


def test_a_writer_of_a_big_message_that_must_not_wait_can_go_on_later(jobs: Path) -> None:
    configure(jobs, max_bytes=4 * MIB, on_full="block")
    put(jobs, BIG[: 2 * MIB])
    fd = os.open(jobs / "enqueue", os.O_WRONLY | os.O_NONBLOCK)
    written = 0
    with suppress(BlockingIOError):
        while written < 4 * MIB:
            written += os.write(fd, BIG[written : written + 100_000])
    assert 2 * MIB < written < 4 * MIB
    with pytest.raises(BlockingIOError):
        os.write(fd, BIG[written : written + 100_000])
    assert BIG[: 2 * MIB] == take(jobs)
    while written < 4 * MIB:
        written += os.write(fd, BIG[written : min(written + 100_000, 4 * MIB)])
    os.close(fd)

    assert [BIG[: 4 * MIB]] == take_all(jobs)


def test_two_big_messages_that_hold_up_each_other_do_not_do_so_for_ever(jobs: Path) -> None:
    """Each has a part of the room, and no reader could make any: one of them has to give way."""
    configure(jobs, max_bytes=4 * MIB, on_full="block")
    half_way = threading.Barrier(2)

    def write(fill: bytes) -> int:
        try:
            with (jobs / "enqueue").open("wb", buffering=0) as file:
                for number in range(35):
                    if number == 18:
                        half_way.wait(30)
                    file.write(fill * 100_000)
        except OSError as error:
            return error.errno or -1
        return 0

    with ThreadPoolExecutor(2) as pool:
        writers = {fill: pool.submit(write, fill) for fill in (b"a", b"b")}
        errors = {fill: writer.result(60) for fill, writer in writers.items()}

    assert {0, errno.ENOSPC} == set(errors.values())
    assert [fill * 3_500_000 for fill, error in errors.items() if error == 0] == take_all(jobs)


def test_a_writer_that_is_killed_while_it_waits_half_way_gives_back_what_it_had(jobs: Path) -> None:
    configure(jobs, max_bytes=4 * MIB, on_full="block")
    put(jobs, BIG[: 2 * MIB])
    script = "import os, sys; f = os.open(sys.argv[1], os.O_WRONLY)\nwhile True: os.write(f, bytes(10000))"
    with subprocess.Popen([sys.executable, "-c", script, jobs / "enqueue"]) as writer:
        eventually(lambda: Path(f"/proc/{writer.pid}/wchan").read_bytes() == b"request_wait_answer")
        writer.send_signal(signal.SIGKILL)

    eventually(lambda: error_of_all(jobs / "enqueue", BIG[: 2 * MIB]) == 0)
    assert [BIG[: 2 * MIB]] * 2 == take_all(jobs)


# Reading --------------------------------------------------------------------------------------------------------------

TEXT = ('grün ☃ 𝄞 \n"\\\x01' * 200_000).encode()


@pytest.mark.parametrize("program", CATS)
@pytest.mark.parametrize("payload", [BIG, TEXT, b"x" * (MIB + 1)], ids=["random", "text", "plain"])
def test_every_reader_gets_a_big_message_whole(jobs: Path, program: str, payload: bytes) -> None:
    put(jobs, payload, payload, b"small")

    assert payload == cat(program, jobs / "dequeue,raw")
    line = cat(program, jobs / "dequeue")
    assert payload == payload_of(json.loads(line))
    assert (1, 2) == status(jobs)
    assert json.loads(line).keys() - {"data", "data_base64"} == json.loads(cat(program, jobs / "dequeue")).keys() - {
        "data"
    }


def test_every_offset_of_a_big_message_reads_the_same_bytes(jobs: Path) -> None:
    put(jobs, TEXT, b"other")
    reader = random.Random(4)
    with (jobs / "dequeue").open("rb", buffering=0) as file:
        whole = b"".join(iter(lambda: file.read(1 << 20), b""))
        assert TEXT == payload_of(json.loads(whole))
        for _ in range(100):
            offset = reader.randrange(len(whole) + 10_000)
            assert whole[offset : offset + 100_000] == os.pread(file.fileno(), 100_000, offset)
    assert (1, 1) == status(jobs)


def test_reads_of_a_big_message_by_many_threads_are_one_claim(jobs: Path) -> None:
    put(jobs, BIG, b"other")
    with (jobs / "dequeue,raw").open("rb", buffering=0) as file, ThreadPoolExecutor(8) as pool:
        assert BIG[:100] == file.read(100)
        starts = range(0, len(BIG), 100_000)
        pieces = list(pool.map(lambda start: os.pread(file.fileno(), 100_000, start), starts))
        assert BIG == b"".join(pieces)
        assert BIG[100:] == b"".join(iter(lambda: file.read(1 << 20), b""))  # one after the other: now it was read

    assert (1, 1) == status(jobs)


@pytest.mark.parametrize("options", ["", ",raw", ",ack", ",raw,ack"])
def test_a_big_message_that_was_not_read_to_its_end_is_at_its_place(jobs: Path, options: str) -> None:
    put(jobs, BIG, b"small")
    with (jobs / f"dequeue{options}").open("rb", buffering=0) as file:
        for _ in range(20):
            assert file.read(100_000)
        assert (1, 1) == status(jobs)

    assert (2, 0) == status(jobs)
    assert [BIG, b"small"] == take_all(jobs)


def test_of_several_messages_those_that_were_wholly_read_stay_claimed(jobs: Path) -> None:
    payloads = [b"small", BIG, b"small too", TEXT, b"last"]
    put(jobs, *payloads)
    with (jobs / "dequeue,count=5,raw,ack").open("rb", buffering=0) as file:
        found = b""
        while len(found) < len(BIG) + MIB:
            found += file.read(100_000)

    assert b"".join(payloads).startswith(found)
    assert (2, 0) == status(jobs)
    lines = (jobs / "dequeue,count=9,ack").read_bytes().splitlines()
    assert [TEXT, b"last"] == [payload_of(json.loads(line)) for line in lines]
    assert (0, 0) == status(jobs)


@pytest.mark.parametrize("options", ["", ",raw"])
def test_a_big_message_that_is_settled_while_it_is_read_ends_in_an_error(jobs: Path, options: str) -> None:
    put(jobs, BIG)
    message = json.loads((jobs / "messages").read_bytes())[0]["id"]
    with (jobs / f"dequeue{options}").open("rb", buffering=0) as file:
        assert file.read(100_000)
        (jobs / "ack").write_text(message)
        with pytest.raises(OSError, match="Stale"):
            b"".join(iter(lambda: file.read(100_000), b""))
    assert (0, 0) == status(jobs)


@pytest.mark.parametrize("options", ["", ",raw"])
def test_a_big_message_with_a_hole_ends_in_an_error_and_is_set_aside(tmp_path: Path, options: str) -> None:
    with mounted(f"sqlite://{tmp_path}/queue.db") as mount:
        queue = mount.path / "jobs"
        queue.mkdir()
        put(queue, TEXT, b"small")
        mount.kill()
        with closing(sqlite3.connect(tmp_path / "queue.db", isolation_level=None)) as store:
            store.execute(f"DELETE FROM chunk WHERE position > {2 * MIB}")
        mount.remount()
        with (
            (queue / f"dequeue{options}").open("rb", buffering=0) as file,
            pytest.raises(OSError, match="Input/output"),
        ):
            b"".join(iter(lambda: file.read(100_000), b""))

        assert (1, 0) == status(queue)
        (entry,) = json.loads((queue / "messages,dead").read_bytes())
        assert (True, "its payload is damaged") == (entry["gone"], entry["reason"])
        assert [b"small"] == take_all(queue)
        mount.expect_in_log(f"back end failed.*message {entry['id']}")


@pytest.mark.parametrize("options", ["", ",raw", ",count=3", ",count=3,raw"])
def test_a_look_at_big_messages_shows_what_a_claim_would(jobs: Path, options: str) -> None:
    put(jobs, BIG, TEXT, b"small")
    seen = (jobs / f"peek{options}").stat().st_size
    looked = (jobs / f"peek{options}").read_bytes()

    assert len(looked) == seen
    assert (3, 0) == status(jobs)
    claimed = (jobs / f"dequeue{options}").read_bytes()
    if "raw" in options:
        assert looked == claimed
    else:
        payloads = [[payload_of(json.loads(line)) for line in text.splitlines()] for text in (looked, claimed)]
        assert payloads[0] == payloads[1]


def test_big_messages_are_listed_among_others(jobs: Path) -> None:
    payloads = [b"small", BIG, b"", TEXT, b"last"]
    (jobs / "enqueue,lines").write_bytes(b"small\n")
    put(jobs, BIG, TEXT, b"last")

    assert [(payload, "pending") for payload in payloads if payload] == listed(jobs)


def test_a_big_message_that_is_gone_before_its_entry_is_read_is_listed_as_gone(jobs: Path) -> None:
    put(jobs, b"x" * 900_000, BIG, b"last")
    with (jobs / "messages").open("rb", buffering=0) as file:
        text = file.read(100)
        assert b"x" * 900_000 == take(jobs)
        assert BIG == take(jobs)
        text += b"".join(iter(lambda: file.read(1 << 17), b""))

    entries = json.loads(text)
    assert [("data", None), (None, True), ("data", None)] == [
        ("data" if "data" in entry else None, entry.get("gone")) for entry in entries
    ]
