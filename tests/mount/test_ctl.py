"""`ctl` on a real mount: one command a line, for the queue or for a message."""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.mount import mounted
from tests.support.programs import SHELLS, sh
from tests.support.queue import claim, config, dead, error_of, lines_of, put, stats, status, take_all
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.mount import Mount


def ctl(queue: Path, *commands: str) -> int:
    """Write *commands*, a line each, by one write(2); return its errno."""
    return error_of(queue / "ctl", "".join(f"{command}\n" for command in commands).encode())


def ids(queue: Path, *payloads: bytes) -> list[str]:
    """Enqueue *payloads* and return their ids."""
    put(queue, *payloads)
    return [message["id"] for message in lines_of(queue / "peek,count=100")][-len(payloads) :]


def claimed(queue: Path, options: str = "") -> dict[str, Any]:
    """Claim the next message, which has to be there."""
    (message,) = lines_of(queue / f"dequeue{options}")
    return message


def everything(queue: Path) -> tuple[object, ...]:
    """Return all that can be seen of a queue, but for what time changes."""
    seen = stats(queue)
    del seen["oldest_pending_seconds"]
    return seen, (queue / "config").read_text(), (queue / "messages").read_text(), dead(queue)


def test_pause_and_resume_the_queue(jobs: Path) -> None:
    put(jobs, b"x")

    assert 0 == ctl(jobs, "pause")
    assert "true" == config(jobs)["paused"]
    assert b"" == (jobs / "dequeue").read_bytes()
    assert 0 == ctl(jobs, "pause")
    assert 0 == ctl(jobs, "resume")
    assert "false" == config(jobs)["paused"]
    assert [b"x"] == take_all(jobs)


def test_a_paused_queue_stays_so_over_a_restart(tmp_path: Path) -> None:
    with mounted(f"sqlite://{tmp_path}/queue.db") as mount:
        queue = mount.path / "jobs"
        queue.mkdir()
        first, _ = ids(queue, b"one", b"two")
        assert 0 == ctl(queue, "pause", f"pause {first}")
        mount.kill()
        mount.remount()

        assert None is claim(queue)
        assert 0 == ctl(queue, "resume")
        assert [b"two"] == take_all(queue)
        assert 0 == ctl(queue, f"resume {first}")
        assert [b"one"] == take_all(queue)


def test_a_paused_message_is_pending_and_not_handed_out(jobs: Path) -> None:
    first, _ = ids(jobs, b"one", b"two")

    assert 0 == ctl(jobs, f"pause {first}")
    assert 0 == ctl(jobs, f"pause {first}")
    assert (2, 0) == status(jobs)
    assert 1 == stats(jobs)["paused"]
    assert [True, None] == [one.get("paused") for one in json.loads((jobs / "messages").read_bytes())]
    assert "two" == lines_of(jobs / "peek")[0]["data"]
    assert [b"two"] == take_all(jobs)

    assert 0 == ctl(jobs, f"resume {first}")
    assert 0 == ctl(jobs, f"resume {first}")
    assert [b"one"] == take_all(jobs)


def test_what_is_resumed_is_in_its_old_place(jobs: Path) -> None:
    first, _ = ids(jobs, b"one", b"two")

    assert 0 == ctl(jobs, f"pause {first}", f"resume {first}")
    assert [b"one", b"two"] == take_all(jobs)


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_what_someone_holds_can_not_be_paused(jobs: Path, verb: str) -> None:
    put(jobs, b"x")
    message = claimed(jobs)

    assert errno.ESTALE == ctl(jobs, f"{verb} {message['id']}")
    assert (0, 1) == status(jobs)


def test_cancel_removes_a_pending_message(jobs: Path) -> None:
    first, _, third = ids(jobs, b"one", b"two", b"three")
    assert 0 == ctl(jobs, f"pause {third}")

    assert 0 == ctl(jobs, f"cancel {first}", f"cancel {third}")

    assert errno.ENOENT == ctl(jobs, f"cancel {first}")
    assert [b"two"] == take_all(jobs)


def test_a_cancelled_message_stays_with_its_holder_who_is_told_by_extend(jobs: Path, place: Path) -> None:
    put(jobs, b"x")
    message = claimed(jobs)
    assert 0 == error_of(jobs / "extend", message["receipt"].encode() + b"\n")

    assert 0 == ctl(jobs, f"cancel {message['id']}")
    assert 0 == ctl(jobs, f"cancel {message['id']}")

    assert (0, 1) == status(jobs)
    assert True is json.loads((jobs / "messages").read_bytes())[0]["cancelled"]
    assert errno.ECANCELED == error_of(jobs / "extend", message["receipt"].encode() + b"\n")
    done = sh(f"echo {message['id']} > jobs/extend,lease=60 || echo stop", place)
    assert "stop\n" == done.stdout
    fd = os.open(jobs / "extend", os.O_WRONLY)
    os.write(fd, message["id"].encode())
    os.close(fd)
    assert 0 == error_of(jobs / "ack", message["receipt"].encode() + b"\n")
    assert (0, 0) == status(jobs)


@pytest.mark.parametrize("end", ["ack", "nack", "nack,delay=60", "nack,dead", "lease", "undo"])
def test_a_cancelled_message_is_gone_whichever_way_its_claim_ends(jobs: Path, end: str) -> None:
    put(jobs, b"x" * 1000)
    fd = os.open(jobs / f"dequeue,lease={1 if end == 'lease' else 60}", os.O_RDONLY)
    message = os.read(fd, 10 if end == "undo" else 4000)
    number = message.split(b'"')[3].decode() if end != "undo" else json.loads((jobs / "messages").read_bytes())[0]["id"]
    assert 0 == ctl(jobs, f"cancel {number}")
    os.close(fd)
    if end not in {"lease", "undo"}:
        assert 0 == error_of(jobs / end, f"{number}\n".encode())

    eventually(lambda: status(jobs) == (0, 0))
    assert [] == dead(jobs)


def test_a_receipt_names_a_claim_here_as_well(jobs: Path) -> None:
    put(jobs, b"x")
    late = claimed(jobs)
    (jobs / "nack").write_text(late["receipt"] + "\n")
    for verb in ["pause", "resume", "cancel", "retry", "drop"]:
        assert errno.ESTALE == ctl(jobs, f"{verb} {late['receipt']}")
    now = claimed(jobs)
    assert errno.ESTALE == ctl(jobs, f"cancel {late['receipt']}")
    assert 0 == error_of(jobs / "extend", now["receipt"].encode() + b"\n")

    assert 0 == ctl(jobs, f"cancel {now['receipt']}")
    assert errno.ECANCELED == error_of(jobs / "extend", now["receipt"].encode() + b"\n")


@pytest.mark.parametrize(
    "command",
    [
        "",
        "   ",
        "stop",
        "Pause",
        "pause 1 2",
        "pause x",
        "pause -1",
        "pause 0",
        "pause 1.5.2",
        "pause 1e3",
        "pause 99999999999999999999",
        "pause all",
        "resume all",
        "cancel",
        "cancel all",
        "cancel nan",
        "retry",
        "retry ALL",
        "retry all 1",
        "drop",
        "drop *",
        "pausé",
        "x" * 5000,
    ],
)
def test_what_is_no_command_is_refused_and_changes_nothing(jobs: Path, command: str) -> None:
    put(jobs, b"held", b"pending")
    claimed(jobs)
    before = everything(jobs)

    assert errno.EINVAL == ctl(jobs, command)
    if command:
        with pytest.raises(OSError, match="Invalid argument"):
            (jobs / "ctl").write_text(command)
    assert before == everything(jobs)


@pytest.mark.parametrize("verb", ["pause", "resume", "cancel", "retry", "drop"])
def test_an_unknown_id_is_told(jobs: Path, place: Path, verb: str) -> None:
    (place / "other").mkdir()
    (theirs,) = ids(place / "other", b"x")

    for number in ["999999999", "9223372036854775807", theirs]:
        assert errno.ENOENT == ctl(jobs, f"{verb} {number}")
    assert (1, 0) == status(place / "other")


def test_of_several_all_are_tried_and_the_first_failure_told(jobs: Path) -> None:
    first, second, _ = ids(jobs, b"one", b"two", b"three")

    assert errno.ENOENT == ctl(jobs, f"cancel {first}", "cancel 999999999", "nonsense", f"cancel {second}")
    assert [b"three"] == take_all(jobs)


@pytest.mark.parametrize("command", ["cancel", "pause"])
def test_the_last_line_without_a_newline_is_acted_on_at_the_last_close(jobs: Path, command: str) -> None:
    first, _ = ids(jobs, b"one", b"two")
    with (jobs / "ctl").open("wb", buffering=0) as file:
        for byte in f"{command} {first}".encode():
            file.write(bytes([byte]))
        os.close(os.dup(file.fileno()))
        assert "one" == lines_of(jobs / "peek")[0]["data"]

    assert [b"two"] == take_all(jobs)


@pytest.mark.parametrize("command", ["pause", "retry all", "drop all"])
def test_a_command_for_all_needs_no_newline_either(jobs: Path, command: str) -> None:
    put(jobs, b"bad", b"good")
    (jobs / "nack,dead").write_text(claimed(jobs)["id"])

    (jobs / "ctl").write_text(command)

    if command == "pause":
        assert None is claim(jobs)
    else:
        assert [] == dead(jobs)
        assert ([b"bad", b"good"] if command == "retry all" else [b"good"]) == take_all(jobs)


def test_the_log_says_what_a_late_command_met(shared_mount: Mount, jobs: Path) -> None:
    before = shared_mount.read_log()
    (jobs / "ctl").write_text("cancel 999999999")

    eventually(lambda: "no unacknowledged message 999999999" in shared_mount.read_log().removeprefix(before))


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_commands(jobs: Path, place: Path, shell: str) -> None:
    (number,) = ids(jobs, b"x")
    script = (
        f"echo pause > jobs/ctl; printf 'cancel {number}\\nresume\\n' > jobs/ctl; echo nonsense > jobs/ctl || echo no"
    )

    assert "no\n" == sh(script, place, shell).stdout
    assert (0, 0) == status(jobs)
    assert "false" == config(jobs)["paused"]


def test_a_receipt_in_the_last_line_without_a_newline_is_heeded(jobs: Path) -> None:
    put(jobs, b"x")
    late = claimed(jobs)
    (jobs / "nack").write_text(late["receipt"] + "\n")
    now = claimed(jobs)
    (jobs / "ctl").write_text(f"cancel {late['receipt']}")

    assert 0 == error_of(jobs / "extend", now["receipt"].encode() + b"\n")
