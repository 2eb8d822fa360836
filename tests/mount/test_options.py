"""The options after a comma on a real mount: what each means, and that a bad one changes nothing."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.programs import SHELLS, sh
from tests.support.queue import claim, dead, error_of, lines_of, listed, payload_of, put, stats, status, take_all
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.mount import Mount

#: What is no number at all, wherever one is expected.
NO_NUMBERS = ["", "1e18", "1e3", "nan", "inf", "-inf", "text", "+1", " 1", "1 ", "0x10", "1_000", "1,5", "٣", "9" * 40]

#: What is no duration, beside those.
NO_SECONDS = ["-1", "-0", "-0.5", ".", "1.", ".5", "1.2.3", "999999999999", "1.0000000001"]

#: What is no whole number, beside those.
NO_WHOLE = ["1.5", "1.0", "-1", "9007199254740993"]

#: For each option with a number: what is refused beside `NO_NUMBERS`.
NUMERIC = {
    "enqueue,priority": ["1.5", "100001", "-100001", "-", "--1", "-1.5"],
    "enqueue,delay": NO_SECONDS,
    "enqueue,ttl": NO_SECONDS,
    "enqueue,timeout": [*NO_SECONDS, "0", "0.0"],
    "enqueue,size": NO_WHOLE,
    "enqueue,lines,size": NO_WHOLE,
    "dequeue,wait": NO_SECONDS,
    "dequeue,lease": [*NO_SECONDS, "0", "0.0"],
    "dequeue,count": [*NO_WHOLE, "0", "10001"],
    "peek,count": [*NO_WHOLE, "0", "10001"],
    "nack,delay": NO_SECONDS,
    "extend,lease": [*NO_SECONDS, "0", "0.0"],
    "wait,timeout": NO_SECONDS,
}


def open_error(path: Path) -> int:
    """Return the errno of opening *path* in the direction that its verb has; 0 if it opens."""
    writes = path.name.split(",")[0] in {"enqueue", "ack", "nack", "extend", "clear", "ctl"}
    try:
        os.close(os.open(path, os.O_WRONLY if writes else os.O_RDONLY))
    except OSError as error:
        return error.errno or -1
    return 0


def everything(queue: Path) -> tuple[object, ...]:
    """Return all that can be seen of a queue, but for what time changes."""
    seen: dict[str, Any] = stats(queue)
    del seen["oldest_pending_seconds"]
    return seen, (queue / "config").read_text(), (queue / "messages").read_text()


@pytest.mark.parametrize("option", NUMERIC)
def test_a_bad_number_is_refused_at_open_and_changes_nothing(jobs: Path, option: str) -> None:
    put(jobs, b"held", b"pending")
    assert claim(jobs) is not None
    before = everything(jobs)

    for value in [*NO_NUMBERS, *NUMERIC[option]]:
        assert errno.EINVAL == open_error(jobs / f"{option}={value}"), value
    if option != "dequeue,wait":
        assert errno.EINVAL == open_error(jobs / option)

    assert before == everything(jobs)


@pytest.mark.parametrize(
    "name",
    [
        *(f"{verb}," for verb in ["enqueue", "dequeue", "ack", "status", "config", "ctl", "clear", "events"]),
        *(f"{verb},x" for verb in ["ack", "size", "status", "stats", "clear", "config", "ctl", "wait", "messages"]),
        "enqueue,colour=red",
        "enqueue,priority=1,",
        "enqueue,,priority=1",
        "enqueue,priority=1,priority=1",
        "enqueue,lines=1",
        "enqueue,lines,lines",
        "enqueue,strict=yes,key=x",
        "enqueue,key",
        "enqueue,key=",
        "enqueue,Priority=1",
        "enqueue,priority =1",
        "enqueue,lease=5",
        "dequeue,raw=1",
        "dequeue,raw,raw",
        "dequeue,count=2,count=2",
        "dequeue,id=7",
        "dequeue,ack=",
        "dequeue,priority=1",
        "nack,dead=1",
        "nack,reason",
        "nack,reason=",
        "nack,lease=5",
        "extend,delay=5",
        "peek,id",
        "messages,dead=1",
        "events,replay=1",
        "wait,forever",
        "dequeue,raw,id",
        "enqueue,strict",
        "nack,dead,delay=5",
    ],
)
def test_a_bad_option_is_refused_at_open(jobs: Path, name: str) -> None:
    before = everything(jobs)

    assert (jobs / name).exists()  # ENOENT would mislead
    assert errno.EINVAL == open_error(jobs / name)
    assert before == everything(jobs)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("enqueue,delay=soon", "option 'delay': 'soon' is not a number of seconds"),
        ("dequeue,count=0", "option 'count': '0' is not a whole number from 1"),
        ("nack,colour=red", "no option 'colour'"),
        ("ack,x", "no option 'x'"),
        ("peek,count=1,count=2", "option 'count' is given twice"),
        ("extend,lease", "option 'lease' needs a value"),
    ],
)
def test_the_log_says_which_option_is_bad(shared_mount: Mount, jobs: Path, name: str, reason: str) -> None:
    before = shared_mount.read_log()

    assert errno.EINVAL == open_error(jobs / name)
    assert reason in shared_mount.read_log().removeprefix(before)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_sees_that_an_option_is_refused(jobs: Path, place: Path, shell: str) -> None:
    done = sh(
        "echo x > jobs/enqueue,delay=-1 || echo refused; cat jobs/dequeue,count=1.5 || echo refused", place, shell
    )

    assert "refused\nrefused\n" == done.stdout
    assert (0, 0) == status(jobs)


def test_options_need_no_quoting_and_come_in_any_order(jobs: Path, place: Path) -> None:
    assert 0 == sh("echo x > jobs/enqueue,ttl=60,priority=-3,delay=0,timeout=2.5", place).returncode

    (message,) = lines_of(jobs / "dequeue,lease=10,count=5")
    assert (-3, 2.5) == (message["priority"], message["timeout"])


# enqueue ------------------------------------------------------------------------------------------------------------


def test_a_higher_priority_is_first(jobs: Path) -> None:
    for priority in [0, -100_000, 5, 100_000, 5, -1]:
        (jobs / f"enqueue,priority={priority}").write_text(str(priority))

    assert [100_000, 5, 5, 0, -1, -100_000] == [int(payload) for payload in take_all(jobs)]


def test_a_delayed_message_is_pending_and_not_handed_out(jobs: Path) -> None:
    (jobs / "enqueue,delay=3600").write_text("later")
    put(jobs, b"now")

    assert (2, 0) == status(jobs)
    assert 1 == stats(jobs)["delayed"]
    assert ["now"] == [message["data"] for message in lines_of(jobs / "peek,count=10")]
    assert [b"now"] == take_all(jobs)
    assert (1, 0) == status(jobs)
    (message,) = json.loads((jobs / "messages").read_bytes())
    assert 3600 == pytest.approx(message["due"] - time.time(), abs=60)


def test_a_delay_that_has_passed_brings_a_message_to_its_place_and_never_earlier(jobs: Path) -> None:
    begun = time.monotonic()
    (jobs / "enqueue,delay=0.5").write_text("first")
    put(jobs, b"second")

    eventually(lambda: lines_of(jobs / "peek")[0]["data"] == "first")

    assert time.monotonic() - begun >= 0.5
    assert [b"first", b"second"] == take_all(jobs)


def test_a_message_lapses_when_its_time_to_live_ends(jobs: Path) -> None:
    begun = time.monotonic()
    (jobs / "enqueue,ttl=0.5").write_text("short")
    (jobs / "enqueue,ttl=3600").write_text("long")
    (jobs / "enqueue,ttl=0").write_text("for ever")

    eventually(lambda: status(jobs) == (2, 0))

    assert time.monotonic() - begun >= 0.5
    assert [b"long", b"for ever"] == take_all(jobs)


def test_a_claimed_message_outlives_its_time_to_live_until_it_is_given_back(jobs: Path) -> None:
    (jobs / "enqueue,ttl=0.5").write_text("x")
    message = claim(jobs)
    assert message is not None
    eventually(lambda: time.time() > message["expires_at"] + 0.1)
    assert (0, 1) == status(jobs)

    (jobs / "nack").write_text(message["id"])

    assert b"" == (jobs / "dequeue").read_bytes()
    eventually(lambda: status(jobs) == (0, 0))


def test_a_message_of_the_size_asked_for_is_taken(jobs: Path) -> None:
    for size in [1, 70_000]:
        (jobs / f"enqueue,size={size}").write_bytes(b"x" * size)

    assert [1, 70_000] == [len(payload) for payload in take_all(jobs)]


@pytest.mark.parametrize("size", [3, 65_536, 100_000])
def test_a_longer_message_than_asked_for_is_refused_at_write(jobs: Path, size: int) -> None:
    assert errno.EFBIG == error_of(jobs / f"enqueue,size={size}", b"x" * (size + 1))
    with pytest.raises(OSError, match="too large"):
        (jobs / "enqueue,size=0").write_bytes(b"x")
    assert (0, 0) == status(jobs)


@pytest.mark.parametrize("size", [3, 65_537, 100_000])
def test_a_shorter_message_than_asked_for_is_refused_at_close(jobs: Path, size: int) -> None:
    fd = os.open(jobs / f"enqueue,size={size}", os.O_WRONLY)
    os.write(fd, b"x" * (size - 1))
    with pytest.raises(OSError, match="Invalid argument"):
        os.close(fd)

    assert (0, 0) == status(jobs)
    assert 0 == stats(jobs)["totals"]["enqueued"]


def test_children_may_write_a_sized_message_together(jobs: Path, place: Path) -> None:
    """Each child's exit closes its copy; all but the last close come too early for the size."""
    assert 0 == sh("(printf abc; /bin/echo -n def) > jobs/enqueue,size=6", place).returncode
    assert [b"abcdef"] == take_all(jobs)


# enqueue,lines ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "payloads"),
    [
        (b"one\ntwo\n", [b"one", b"two"]),
        (b"one\ntwo", [b"one", b"two"]),
        (b"\n\none\n\n\ntwo\n\n", [b"one", b"two"]),
        (b"\n", []),
        (b" x \r\n\0\n\xff", [b" x \r", b"\0", b"\xff"]),
        (b"x" * 200_000 + b"\n" + b"y" * 200_000, [b"x" * 200_000, b"y" * 200_000]),
        (b"".join(b"%d\n" % number for number in range(3000)), [b"%d" % number for number in range(3000)]),
    ],
)
def test_each_line_is_a_message(jobs: Path, text: bytes, payloads: list[bytes]) -> None:
    (jobs / "enqueue,lines").write_bytes(text)

    assert payloads == [payload_of(message) for message in lines_of(jobs / "dequeue,count=10000")]


def test_a_line_is_there_when_its_newline_comes(jobs: Path) -> None:
    with (jobs / "enqueue,lines").open("wb", buffering=0) as file:
        file.write(b"o")
        file.write(b"ne\ntw")
        assert [(b"one", "pending")] == listed(jobs)
        os.close(os.dup(file.fileno()))
        assert (1, 0) == status(jobs)
        file.write(b"o\nthree")
        assert (2, 0) == status(jobs)

    assert [b"one", b"two", b"three"] == take_all(jobs)


def test_a_killed_writers_last_line_is_none(jobs: Path) -> None:
    script = "import os, sys; os.write(os.open(sys.argv[1], 1), b'one\\ntw'); os.kill(os.getpid(), 9)"

    done = subprocess.run([sys.executable, "-c", script, jobs / "enqueue,lines"], check=False)

    assert -signal.SIGKILL == done.returncode
    # on an instant store one short write is not worth a look at who made it
    assert take_all(jobs) in ([b"one"], [b"one", b"tw"])


def test_options_hold_for_each_line(jobs: Path) -> None:
    put(jobs, b"plain")
    (jobs / "enqueue,lines,priority=7,timeout=3").write_bytes(b"one\ntwo\n")

    found = lines_of(jobs / "dequeue,count=3")
    assert [("one", 7), ("two", 7), ("plain", 0)] == [(message["data"], message["priority"]) for message in found]
    assert [3, 3, None] == [message.get("timeout") for message in found]


def test_lines_before_a_bad_one_are_taken(jobs: Path) -> None:
    (jobs / "config").write_text("max_message_bytes = 3")
    fd = os.open(jobs / "enqueue,lines", os.O_WRONLY)

    assert 4 == os.write(fd, b"abc\ndefg\nhi\n")
    with pytest.raises(OSError, match="too large"):
        os.write(fd, b"defg\nhi\n")
    assert 3 == os.write(fd, b"hi\n")
    os.close(fd)

    assert [b"abc", b"hi"] == take_all(jobs)


def write_all(fd: int, text: bytes) -> None:
    """Write all of *text* as programs do: what a short write has left comes with the next."""
    while text:
        text = text[os.write(fd, text) :]


@pytest.mark.parametrize("first", [b"abcd", b"ok\nabcd", b"ab\nabcdef\nx", b"abcd\nx"])
def test_after_a_failure_amid_a_line_no_piece_of_it_becomes_a_message(jobs: Path, first: bytes) -> None:
    (jobs / "config").write_text("max_message_bytes = 3")
    fd = os.open(jobs / "enqueue,lines", os.O_WRONLY)
    with pytest.raises(OSError, match="too large"):
        write_all(fd, first)
    for _ in range(2):
        with pytest.raises(OSError, match="too large"):
            os.write(fd, b"ef\n")
    with pytest.raises(OSError, match="too large"):
        os.close(fd)

    assert take_all(jobs) in ([], [b"ok"], [b"ab"])


def test_each_line_has_the_size_asked_for(jobs: Path) -> None:
    fd = os.open(jobs / "enqueue,lines,size=4", os.O_WRONLY)
    os.write(fd, b"good\n")
    with pytest.raises(OSError, match="Invalid argument"):
        os.write(fd, b"ab\n")
    os.write(fd, b"cd")
    os.write(fd, b"ef\n")
    with pytest.raises(OSError, match="too large"):
        os.write(fd, b"longer\n")
    os.close(fd)

    assert [b"good", b"cdef"] == take_all(jobs)


def test_a_pipe_of_lines_arrives_whole_and_in_order(jobs: Path, place: Path) -> None:
    done = sh("seq 5000 > jobs/enqueue,lines && cat jobs/size", place)

    assert ("5000\n", "") == (done.stdout, done.stderr)
    assert [str(number) for number in range(1, 5001)] == [
        message["data"] for message in lines_of(jobs / "dequeue,count=10000")
    ]


# dequeue ------------------------------------------------------------------------------------------------------------


def test_the_lease_is_the_readers_choice(jobs: Path) -> None:
    put(jobs, b"short", b"long")
    begun = time.monotonic()
    (short,) = lines_of(jobs / "dequeue,lease=0.5")
    (long,) = lines_of(jobs / "dequeue,lease=7200")
    assert 7200 == pytest.approx(long["lease_until"] - time.time(), abs=60)

    eventually(lambda: status(jobs) == (1, 1))

    assert time.monotonic() - begun >= 0.5
    again = claim(jobs)
    assert again is not None
    assert (short["id"], 2) == (again["id"], again["attempt"])


def test_count_claims_up_to_so_many_a_line_each(jobs: Path) -> None:
    put(jobs, b"1", b"2", b"3", b"\xff")

    assert ["1", "2"] == [message["data"] for message in lines_of(jobs / "dequeue,count=2")]
    assert (2, 2) == status(jobs)
    assert [b"3", b"\xff"] == [payload_of(message) for message in lines_of(jobs / "dequeue,count=10000")]
    assert (0, 4) == status(jobs)
    assert [] == lines_of(jobs / "dequeue,count=5")


def test_of_many_claims_those_that_were_not_read_to_their_end_are_undone(jobs: Path) -> None:
    put(jobs, *(b"%d" % number for number in range(5)))
    with (jobs / "dequeue,count=5").open("rb", buffering=0) as file:
        one = file.readline()
        file.read(len(one) + 10)  # the second, and a part of the third
        assert (0, 5) == status(jobs)

    assert (3, 2) == status(jobs)
    assert [b"2", b"3", b"4"] == take_all(jobs)


def test_raw_is_the_payload_alone(jobs: Path) -> None:
    put(jobs, b"one\n", b"\xff\0" * 100_000, b"three", b"four")

    assert b"one\n" == (jobs / "dequeue,raw").read_bytes()
    assert b"\xff\0" * 100_000 == (jobs / "dequeue,raw").read_bytes()
    assert b"threefour" == (jobs / "dequeue,raw,count=2").read_bytes()
    assert b"" == (jobs / "dequeue,raw").read_bytes()
    assert (0, 4) == status(jobs)


def test_id_is_the_id_alone(jobs: Path) -> None:
    put(jobs, b"one", b"two", b"three")

    first = (jobs / "dequeue,id").read_text()
    rest = (jobs / "dequeue,id,count=9").read_text().split()

    assert 2 == len(rest)
    assert first.endswith("\n")
    (jobs / "ack").write_text("\n".join([first.strip(), *rest]))
    assert (0, 0) == status(jobs)


def test_ack_settles_what_was_read_to_its_end_and_closed(jobs: Path) -> None:
    put(jobs, b"one", b"two")
    with (jobs / "dequeue,ack,raw").open("rb", buffering=0) as file:
        assert b"one" == file.read(100)
        assert (1, 1) == status(jobs)
    assert (1, 0) == status(jobs)
    assert "two" == lines_of(jobs / "dequeue,ack")[0]["data"]

    assert (0, 0) == status(jobs)
    assert 2 == stats(jobs)["totals"]["acked"]


def test_ack_settles_nothing_that_was_read_in_part(jobs: Path) -> None:
    put(jobs, b"one", b"two", b"three")
    with (jobs / "dequeue,ack,raw,count=3").open("rb", buffering=0) as file:
        assert b"onet" == file.read(4)

    assert (2, 0) == status(jobs)
    assert [b"two", b"three"] == take_all(jobs)


def test_ack_by_a_reader_that_lost_its_claim_takes_it_from_nobody(jobs: Path) -> None:
    put(jobs, b"x")
    with (jobs / "dequeue,ack,lease=0.3").open("rb", buffering=0) as file:
        assert json.loads(file.read(1000))["data"] == "x"
        eventually(lambda: status(jobs) == (1, 0))
        other = claim(jobs)

    assert other is not None
    assert (0, 1) == status(jobs)
    assert 0 == error_of(jobs / "ack", other["receipt"].encode() + b"\n")


# peek ---------------------------------------------------------------------------------------------------------------


def test_peek_shows_as_many_as_asked_for_in_order(jobs: Path) -> None:
    put(jobs, b"1", b"2")
    (jobs / "enqueue,priority=1").write_text("3")
    for name, expected in [("peek", ["3"]), ("peek,count=2", ["3", "1"]), ("peek,count=10000", ["3", "1", "2"])]:
        path = jobs / name
        size = path.stat().st_size
        text = path.read_bytes()
        assert expected == [json.loads(line)["data"] for line in text.splitlines()]
        assert size == len(text)

    assert b"3" == (jobs / "peek,raw").read_bytes()
    assert b"312" == (jobs / "peek,count=3,raw").read_bytes()
    assert (3, 0) == status(jobs)


def test_peek_of_nothing_is_no_bytes(jobs: Path) -> None:
    for name in ["peek", "peek,raw", "peek,count=7", "peek,raw,count=7"]:
        assert b"" == (jobs / name).read_bytes()


# nack and extend ----------------------------------------------------------------------------------------------------


def test_nack_with_a_delay_comes_back_then_and_not_earlier(jobs: Path) -> None:
    put(jobs, b"one", b"two", b"three")
    one, two = lines_of(jobs / "dequeue,count=2")
    begun = time.monotonic()
    (jobs / "nack,delay=0.5").write_text(one["receipt"])
    (jobs / "nack,delay=3600").write_text(two["id"])
    assert (3, 0) == status(jobs)
    assert 2 == stats(jobs)["delayed"]

    eventually(lambda: lines_of(jobs / "peek")[0]["data"] == "one")

    assert time.monotonic() - begun >= 0.5
    assert [b"one", b"three"] == take_all(jobs)


def test_nack_with_a_reason_keeps_it(jobs: Path, place: Path) -> None:
    put(jobs, b"x")
    message = claim(jobs)
    assert message is not None
    reason = "the printer is out of paper = sad ☹"

    assert 0 == sh(f"echo {message['id']} > 'jobs/nack,reason={reason}'", place).returncode

    again = claim(jobs)
    assert again is not None
    assert (reason, 2) == (again["reason"], again["attempt"])
    (jobs / "nack").write_text(again["id"])
    assert reason == lines_of(jobs / "peek")[0]["reason"]


def test_nack_dead_sets_aside_at_once(jobs: Path) -> None:
    put(jobs, b"bad", b"good")
    message = claim(jobs)
    assert message is not None

    (jobs / "nack,dead,reason=poison").write_text(message["receipt"] + "\n")

    assert (1, 0) == status(jobs)
    (buried,) = dead(jobs)
    assert (message["id"], "bad", "dead", "poison") == tuple(buried[key] for key in ("id", "data", "state", "reason"))
    assert errno.ENOENT == error_of(jobs / "ack", message["id"].encode() + b"\n")


def test_extend_gives_the_lease_asked_for_from_now_on(jobs: Path) -> None:
    put(jobs, b"x")
    (message,) = lines_of(jobs / "dequeue,lease=5")

    (jobs / "extend,lease=7200").write_text(message["id"])

    def lease() -> float:
        (found,) = json.loads((jobs / "messages").read_bytes())
        return float(found["lease_until"]) - time.time()

    assert 7200 == pytest.approx(lease(), abs=60)
    (jobs / "extend").write_text(message["receipt"])
    assert 300 == pytest.approx(lease(), abs=60)
    (jobs / "extend,lease=0.2").write_text(message["receipt"])
    eventually(lambda: status(jobs) == (1, 0))


def test_options_are_not_listed(jobs: Path) -> None:
    before = os.listdir(jobs)
    (jobs / "enqueue,priority=1").write_text("x")

    assert before == os.listdir(jobs)
    assert not any("," in name for name in before)
