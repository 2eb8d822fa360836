"""`config` on a real mount: every key, merged on write, whole or not at all, and kept."""

from __future__ import annotations

import errno
import json
import os
import time
from typing import TYPE_CHECKING

import pytest

from tests.support.mount import mounted
from tests.support.programs import CATS, SHELLS, cat, sh
from tests.support.queue import claim, config, error_of, lines_of, put, status, take_all
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.mount import Mount
    from tests.support.redis_server import RedisServer

DEFAULTS = {
    "order": "fifo",
    "lease": "300",
    "max_attempts": "0",
    "retry_delay": "0",
    "retry_backoff": "2",
    "max_messages": "0",
    "max_bytes": "0",
    "max_message_bytes": "67108864",
    "on_full": "error",
    "ttl": "0",
    "retention": "600",
    "retain": "64",
    "dedup_window": "0",
    "paused": "false",
    "kind": "queue",
    "timeout": "600",
    "forward": "",
}

#: Values as written, and as shown.
GOOD = {
    "order": [("lifo", "lifo"), ("fifo", "fifo")],
    "lease": [("0.000000001", "0.000000001"), ("1.50", "1.5"), ("316224000", "316224000"), ("007", "7")],
    "max_attempts": [("3", "3"), ("0", "0")],
    "retry_delay": [("0", "0"), ("0.25", "0.25")],
    "retry_backoff": [("1", "1"), ("1000", "1000"), ("1.5", "1.5")],
    "max_messages": [("1", "1"), ("9007199254740992", "9007199254740992")],
    "max_bytes": [("1", "1"), ("0", "0")],
    "max_message_bytes": [("1", "1"), ("1073741824", "1073741824")],
    "on_full": [("block", "block"), ("error", "error")],
    "ttl": [("0", "0"), ("60.5", "60.5")],
    "retention": [("0", "0"), ("1", "1")],
    "retain": [("0", "0"), ("1000000", "1000000")],
    "dedup_window": [("0", "0"), ("3600", "3600")],
    "paused": [("true", "true"), ("false", "false")],
    "kind": [("event", "event"), ("queue", "queue")],
    "timeout": [("0.5", "0.5")],
    "forward": [("a/b   c", "a/b c"), ("", "")],
}

NO_NUMBERS = ["", "-1", "1e18", "1e3", "nan", "inf", "text", "+1", "0x10", "1_000", "1,5", "٣", "9" * 40, "1 2"]
NO_WHOLE = [*NO_NUMBERS, "1.5", "1.0", "9007199254740993"]
NO_SECONDS = [*NO_NUMBERS, "-0.5", ".5", "1.", "999999999999", "316224001"]
NO_WORDS = ["", "0", "1", "1.5", "-1", "1e18", "nan", "text", "yes"]

BAD = {
    "order": [*NO_WORDS, "FIFO"],
    "lease": [*NO_SECONDS, "0", "0.0"],
    "max_attempts": NO_WHOLE,
    "retry_delay": NO_SECONDS,
    "retry_backoff": [*NO_NUMBERS, "0", "0.5", "1000.1"],
    "max_messages": NO_WHOLE,
    "max_bytes": NO_WHOLE,
    "max_message_bytes": [*NO_WHOLE, "0", "1073741825"],
    "on_full": [*NO_WORDS, "drop"],
    "ttl": NO_SECONDS,
    "retention": NO_SECONDS,
    "retain": NO_WHOLE,
    "dedup_window": NO_SECONDS,
    "paused": [*NO_WORDS, "True", "TRUE"],
    "kind": NO_WORDS,
    "timeout": [*NO_SECONDS, "0"],
    "forward": ["/a", "a/", "a//b", "a/enqueue", "dead", "x" * 256],
}


def test_every_key_is_shown_with_its_default_in_the_documented_order(jobs: Path) -> None:
    text = "".join(f"{key} = {value}\n" for key, value in DEFAULTS.items())

    assert text == (jobs / "config").read_text()


@pytest.mark.parametrize("key", GOOD)
def test_every_key_can_be_set_and_touches_no_other(jobs: Path, key: str) -> None:
    for written, shown in GOOD[key]:
        (jobs / "config").write_text(f"{key} = {written}\n")
        assert {**DEFAULTS, key: shown} == config(jobs)


@pytest.mark.parametrize("key", BAD)
def test_a_bad_value_is_refused_and_changes_nothing(jobs: Path, key: str) -> None:
    (jobs / "config").write_text("lease = 7\nretain = 3\nttl = 1000")
    put(jobs, b"x")
    before = (jobs / "config").read_text()

    for value in BAD[key]:
        assert errno.EINVAL == error_of(jobs / "config", f"{key} = {value}\n".encode()), value
        mixed = f"lease = 9\n{key} = {value}\nretain = 4\n"
        assert errno.EINVAL == error_of(jobs / "config", mixed.encode()), value

    assert before == (jobs / "config").read_text()
    assert (1, 0) == status(jobs)


@pytest.mark.parametrize(
    "text",
    [
        b"colour = red",
        b"lease",
        b"lease:5",
        b"= 5",
        b"Lease = 5",
        b"lease 5",
        b"\xff",
        b"\0",
        b"retain = 1\nx",
        b"a" * 70_000,
    ],
)
def test_what_is_no_setting_is_refused_whole(jobs: Path, text: bytes) -> None:
    assert errno.EINVAL == error_of(jobs / "config", b"retain = 5\n" + text)
    assert DEFAULTS == config(jobs)


def test_the_log_says_what_is_bad(shared_mount: Mount, jobs: Path) -> None:
    before = shared_mount.read_log()
    assert errno.EINVAL == error_of(jobs / "config", b"retry_backoff = 0.5")
    assert errno.EINVAL == error_of(jobs / "config", b"colour = red")

    said = shared_mount.read_log().removeprefix(before)
    assert "retry_backoff: '0.5' is not a number from 1 to 1000" in said
    assert "config has no key 'colour'" in said


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_sets_and_sees_errors(jobs: Path, place: Path, shell: str) -> None:
    script = "echo 'lease = 5' > jobs/config; echo retain=2 >> jobs/config; echo ttl=-1 > jobs/config || echo refused"
    done = sh(script, place, shell)

    assert "refused\n" == done.stdout
    assert {**DEFAULTS, "lease": "5", "retain": "2"} == config(jobs)


def test_comments_and_blank_lines_and_blanks_are_fine(jobs: Path) -> None:
    (jobs / "config").write_text("# a comment\n\n   \n  # lease = x\r\n\tlease=5\r\n  retain   =    2  \nlease = 6")

    assert {**DEFAULTS, "lease": "6", "retain": "2"} == config(jobs)


def test_what_is_shown_can_be_written_back(jobs: Path, place: Path) -> None:
    (jobs / "config").write_text("lease = 5.25\nforward = a b\npaused = true\norder = lifo")
    before = (jobs / "config").read_bytes()
    (place / "other").mkdir()

    assert 0 == sh("cat jobs/config > other/config", place).returncode
    assert before == (place / "other" / "config").read_bytes()


def test_one_open_can_write_and_read(jobs: Path) -> None:
    fd = os.open(jobs / "config", os.O_RDWR)
    assert b"lease = 300\n" in os.pread(fd, 10_000, 0)
    os.write(fd, b"lease = 5\n")
    assert b"lease = 5\n" in os.pread(fd, 10_000, 0)
    os.close(fd)


def test_opening_changes_nothing(jobs: Path, place: Path) -> None:
    (jobs / "config").write_text("lease = 5")
    assert (
        0 == sh(": > jobs/config; touch jobs/config; test -w jobs/config; truncate -s0 jobs/config", place).returncode
    )

    assert "5" == config(jobs)["lease"]


@pytest.mark.parametrize("program", CATS)
def test_reading_gives_all_and_the_size_is_exact(jobs: Path, program: str) -> None:
    (jobs / "config").write_text(f"forward = {'x' * 200} {'y' * 200}")
    text = (jobs / "config").read_bytes()

    assert text == cat(program, jobs / "config")
    assert len(text) == (jobs / "config").stat().st_size


def test_what_was_set_is_kept_over_a_restart_and_defaults_come_from_the_mount(tmp_path: Path) -> None:
    with mounted(f"sqlite://{tmp_path}/queue.db", options=["lease=5"]) as mount:
        for name in ["set", "unset"]:
            (mount.path / name).mkdir()
        (mount.path / "set" / "config").write_text("lease = 5\nretain = 3")
        assert ("5", "5") == (config(mount.path / "set")["lease"], config(mount.path / "unset")["lease"])
        assert 0 == mount.stop()
        mount.options = ("lease=7", "max_message_bytes=1000")
        mount.remount()

        assert {**DEFAULTS, "lease": "5", "retain": "3", "max_message_bytes": "1000"} == config(mount.path / "set")
        assert {**DEFAULTS, "lease": "7", "max_message_bytes": "1000"} == config(mount.path / "unset")


def test_another_mount_sees_a_change(redis_server: RedisServer, tmp_path: Path) -> None:
    url = f"{redis_server.url}?prefix={tmp_path.name}"
    with mounted(url) as here, mounted(url) as there:
        (here.path / "jobs").mkdir()
        eventually((there.path / "jobs").is_dir)
        (here.path / "jobs" / "config").write_text("lease = 5\n")
        eventually(lambda: config(there.path / "jobs")["lease"] == "5")
        (there.path / "jobs" / "config").write_text("retain = 2\n")  # merged, whatever this side believes
        eventually(lambda: config(here.path / "jobs")["retain"] == "2")

        assert {**DEFAULTS, "lease": "5", "retain": "2"} == config(here.path / "jobs") == config(there.path / "jobs")
        here.kill()
        here.remount()
        assert {**DEFAULTS, "lease": "5", "retain": "2"} == config(here.path / "jobs")


def test_a_rename_takes_it_along_and_a_new_queue_of_the_name_has_none(jobs: Path, place: Path) -> None:
    (jobs / "config").write_text("lease = 5")
    jobs.rename(place / "work")
    jobs.mkdir()

    assert "5" == config(place / "work")["lease"]
    assert DEFAULTS == config(jobs)


def test_changes_from_many_sides_are_all_kept(jobs: Path, place: Path) -> None:
    keys = ["lease", "timeout", "max_attempts", "retain", "ttl", "retention"]
    done = sh(" & ".join(f"echo '{key} = 9' > jobs/config" for key in keys) + "; wait", place)

    assert "" == done.stderr
    assert {"9"} == {config(jobs)[key] for key in keys}


# What they mean -----------------------------------------------------------------------------------------------------


def test_lease_holds_for_readers_that_ask_for_none(jobs: Path) -> None:
    (jobs / "config").write_text("lease = 1000")
    put(jobs, b"x", b"y")

    message = claim(jobs)
    assert message is not None
    assert 1000 == pytest.approx(message["lease_until"] - time.time(), abs=60)
    (other,) = lines_of(jobs / "dequeue,lease=50")
    assert 50 == pytest.approx(other["lease_until"] - time.time(), abs=30)


def test_paused_hands_out_nothing_and_takes_everything(jobs: Path) -> None:
    put(jobs, b"held")
    held = claim(jobs)
    assert held is not None
    (jobs / "config").write_text("paused = true")
    put(jobs, b"x")

    assert b"" == (jobs / "dequeue").read_bytes()
    assert b"" == (jobs / "dequeue,count=5,raw").read_bytes()
    assert 0 == error_of(jobs / "ack", held["receipt"].encode() + b"\n")
    assert (1, 0) == status(jobs)
    (jobs / "config").write_text("paused = false")
    assert [b"x"] == take_all(jobs)


def test_ttl_is_that_of_messages_which_have_none(jobs: Path) -> None:
    (jobs / "config").write_text("ttl = 0.3")
    put(jobs, b"short")
    (jobs / "enqueue,ttl=0").write_text("for ever")
    (jobs / "enqueue,ttl=3600").write_text("long")

    eventually(lambda: status(jobs) == (2, 0))
    assert [b"for ever", b"long"] == take_all(jobs)


@pytest.mark.parametrize("limit", [1, 10, 65_536, 65_537, 200_000])
def test_max_message_bytes_is_exact(jobs: Path, limit: int) -> None:
    (jobs / "config").write_text(f"max_message_bytes = {limit}")

    put(jobs, b"x" * limit)
    assert errno.EFBIG == error_of(jobs / "enqueue", b"x" * (limit + 1))
    fd = os.open(jobs / "enqueue", os.O_WRONLY)
    os.write(fd, b"x" * limit)
    for call in lambda: os.write(fd, b"x"), lambda: os.close(fd):
        with pytest.raises(OSError, match="too large"):
            call()

    assert (1, 0) == status(jobs)
    assert limit == len(take_all(jobs)[0])


def test_a_change_holds_from_the_next_open_on(jobs: Path) -> None:
    with (jobs / "enqueue").open("wb", buffering=0) as file:
        file.write(b"abc")
        (jobs / "config").write_text("max_message_bytes = 1")
        file.write(b"def")

    assert errno.EFBIG == error_of(jobs / "enqueue", b"ab")
    assert [b"abcdef"] == take_all(jobs)


def test_lower_limits_leave_what_is_there(jobs: Path) -> None:
    put(jobs, b"one", b"two")
    (jobs / "config").write_text("max_messages = 1\nmax_bytes = 1\nmax_message_bytes = 1")

    assert 2 == len(json.loads((jobs / "messages").read_bytes()))
    assert [b"one", b"two"] == take_all(jobs)
