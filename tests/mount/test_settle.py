"""`ack`, `nack` and `extend` on a real mount: lines of ids or receipts, and errors that a shell sees."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.mount import mounted
from tests.support.programs import SHELLS, sh
from tests.support.queue import claim, put, status, take_all
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

VERBS = ["ack", "nack", "extend"]


def claimed(queue: Path, count: int = 1) -> list[dict[str, str]]:
    """Enqueue and claim *count* messages."""
    put(queue, *(b"%d" % number for number in range(count)))
    messages = [claim(queue) for _ in range(count)]
    assert None not in messages
    return messages  # type: ignore[return-value]  # no None, as asserted


def error_of(file: Path, text: bytes) -> int:
    """Return the errno of one write(2) of *text* to *file*; 0 if it succeeds, whatever close says."""
    fd = os.open(file, os.O_WRONLY)
    try:
        return 0 if os.write(fd, text) == len(text) else -1
    except OSError as error:
        return error.errno or -1
    finally:
        os.close(fd)


@pytest.mark.parametrize("name", ["id", "receipt"])
def test_ack_removes_for_good(jobs: Path, name: str) -> None:
    (message,) = claimed(jobs)

    assert 0 == error_of(jobs / "ack", message[name].encode() + b"\n")

    assert (0, 0) == status(jobs)
    assert errno.ENOENT == error_of(jobs / "ack", message[name].encode() + b"\n")


@pytest.mark.parametrize("name", ["id", "receipt"])
def test_nack_gives_back_to_the_old_place(jobs: Path, name: str) -> None:
    first, _ = claimed(jobs, 2)

    assert 0 == error_of(jobs / "nack", first[name].encode() + b"\n")

    assert (1, 1) == status(jobs)
    again = claim(jobs)
    assert again is not None
    assert (first["id"], 2) == (again["id"], again["attempt"])


def test_extend_lets_the_lease_start_anew(backend_url: str) -> None:
    with mounted(backend_url, options=["lease=2"]) as mount:
        queue = mount.path / "jobs"
        queue.mkdir()
        kept, left = claimed(queue, 2)

        def extend_until_the_other_is_back() -> bool:
            (queue / "extend").write_text(kept["receipt"] + "\n")
            return status(queue) == (1, 1)

        eventually(extend_until_the_other_is_back)

        back = claim(queue)
        assert back is not None
        assert left["id"] == back["id"]
        assert 0 == error_of(queue / "ack", kept["receipt"].encode() + b"\n")


def test_the_receipt_of_a_claim_that_is_over_is_stale(jobs: Path) -> None:
    (message,) = claimed(jobs)
    (jobs / "nack").write_text(message["id"])
    again = claim(jobs)
    assert again is not None

    for verb in VERBS:
        assert errno.ESTALE == error_of(jobs / verb, message["receipt"].encode() + b"\n")
    assert (0, 1) == status(jobs)
    assert 0 == error_of(jobs / "ack", again["receipt"].encode() + b"\n")


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("shell", SHELLS)
def test_builtin_echo_fails_where_it_should(jobs: Path, place: Path, verb: str, shell: str) -> None:
    put(jobs, b"pending")
    pending = (jobs / "peek").read_text().split('"')[3]
    for line in ["999999999", f"{pending}", f"{pending}.1", "x", "-1", "0", "01", "1.0", "1.1.1", "1 2", "", "9" * 30]:
        done = sh(f"echo '{line}' > jobs/{verb}", place, shell)

        assert 0 != done.returncode, line
        assert "" != done.stderr
    assert (1, 0) == status(jobs)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"999999999999\n", errno.ENOENT),
        (b"99999999999999999999\n", errno.EINVAL),
        (b"9223372036854775807\n", errno.ENOENT),
        (b"9223372036854775808\n", errno.EINVAL),
        (b"one\n", errno.EINVAL),
        (b"\n", errno.EINVAL),
        (b"\xff\n", errno.EINVAL),
        (b"x" * 100_000, errno.EINVAL),
        (b"1.99999999999999999999\n", errno.EINVAL),
    ],
)
def test_errors_have_their_errno(jobs: Path, verb: str, line: bytes, expected: int) -> None:
    assert expected == error_of(jobs / verb, line)


@pytest.mark.parametrize("verb", VERBS)
def test_a_pending_message_can_not_be_settled(jobs: Path, verb: str) -> None:
    put(jobs, b"x")
    pending = (jobs / "peek").read_bytes().split(b'"')[3]

    assert errno.ESTALE == error_of(jobs / verb, pending + b"\n")
    assert (1, 0) == status(jobs)


def test_another_queues_message_is_unknown(jobs: Path, place: Path) -> None:
    (message,) = claimed(jobs)
    (place / "other").mkdir()

    assert errno.ENOENT == error_of(place / "other" / "ack", message["id"].encode() + b"\n")
    assert (0, 1) == status(jobs)


def test_of_several_all_are_tried_and_the_first_failure_told(jobs: Path) -> None:
    ids = [message["id"].encode() for message in claimed(jobs, 4)]
    lines = b"%s\n%s\nx\n888888888\n%s\n" % (ids[0], ids[1], ids[2])

    assert errno.EINVAL == error_of(jobs / "ack", lines)

    assert (0, 1) == status(jobs)
    assert errno.ENOENT == error_of(jobs / "ack", b"888888888\n%s\nx\n" % ids[3])
    assert (0, 0) == status(jobs)


def test_the_same_id_twice_counts_once(jobs: Path) -> None:
    (message,) = claimed(jobs)
    line = message["id"].encode() + b"\n"

    assert errno.ENOENT == error_of(jobs / "ack", line + line)
    assert (0, 0) == status(jobs)


def test_a_line_is_acted_on_when_its_newline_comes(jobs: Path) -> None:
    message, _ = claimed(jobs, 2)
    with (jobs / "ack").open("wb", buffering=0) as file:
        for byte in message["id"].encode():
            file.write(bytes([byte]))
            assert (0, 2) == status(jobs)
        file.write(b"\n")
        assert (0, 1) == status(jobs)


def test_the_last_line_without_a_newline_is_acted_on_at_the_last_close(jobs: Path) -> None:
    (message,) = claimed(jobs)
    with (jobs / "ack").open("wb", buffering=0) as file:
        file.write(message["id"].encode())
        os.close(os.dup(file.fileno()))
        assert (0, 1) == status(jobs)

    assert (0, 0) == status(jobs)


def test_close_tells_of_a_bad_last_line(jobs: Path, place: Path) -> None:
    for text, said in [("888888888", "No such file"), ("x", "Invalid argument")]:
        file = os.open(jobs / "ack", os.O_WRONLY)
        os.write(file, text.encode())
        with pytest.raises(OSError, match=said):
            os.close(file)
        done = sh(f"/bin/echo -n {text} > jobs/ack", place)
        assert 0 != done.returncode


def test_a_piece_of_a_longer_id_is_never_taken_for_an_id(jobs: Path) -> None:
    messages = claimed(jobs, 12)
    long = (
        next(m["id"] for m in messages if any(m["id"] != o["id"] and m["id"].startswith(o["id"]) for o in messages))
        if any(m["id"] != o["id"] and m["id"].startswith(o["id"]) for m in messages for o in messages)
        else messages[-1]["id"]
    )
    with (jobs / "ack").open("wb", buffering=0) as file:
        file.write(long[:1].encode())
        try:
            os.close(os.dup(file.fileno()))  # a FLUSH in the middle: the piece may be an id of ours, or none
        except OSError as error:
            assert errno.ENOENT == error.errno
        file.write(long[1:].encode() + b"\n")

    assert (0, 11) == status(jobs)
    assert long not in {
        message["id"] for message in messages if error_of(jobs / "ack", message["id"].encode() + b"\n") == 0
    }


def test_after_a_failure_amid_a_line_nothing_more_is_taken(jobs: Path) -> None:
    """Whether the writer sends it all again or goes on can't be told, and one of the two would make another id."""
    (message,) = claimed(jobs)
    file = os.open(jobs / "ack", os.O_WRONLY)
    with pytest.raises(OSError, match="Invalid"):
        os.write(file, b"x\n4")
    with pytest.raises(OSError, match="Invalid"):
        os.write(file, message["id"].encode() + b"\n")
    with contextlib.suppress(OSError):
        os.close(file)

    assert (0, 1) == status(jobs)


def test_a_piece_that_is_sent_again_is_not_taken_for_an_id(jobs: Path) -> None:
    """The kernel cuts a long write into pieces; of one that failed, the writer sends the rest again."""
    theirs, mine = claimed(jobs, 2)
    file = os.open(jobs / "ack", os.O_WRONLY)
    os.write(file, mine["id"].encode() + b"\n987")
    for _ in range(3):
        with pytest.raises(OSError, match="No such file"):
            os.write(file, theirs["id"].encode() + b"\n")
    with contextlib.suppress(OSError):
        os.close(file)

    assert (0, 1) == status(jobs)
    assert 0 == error_of(jobs / "ack", theirs["receipt"].encode() + b"\n")


def test_a_killed_writers_last_line_may_be_a_piece(jobs: Path) -> None:
    (message,) = claimed(jobs)
    script = "import os, signal, sys; os.write(os.open(sys.argv[1], 1), sys.argv[2].encode()); os.kill(os.getpid(), 9)"

    subprocess.run([sys.executable, "-c", script, jobs / "ack", message["id"]], check=False)

    assert (0, 1) == status(jobs)


def test_blanks_alone_are_not_an_id(jobs: Path) -> None:
    file = os.open(jobs / "ack", os.O_WRONLY)
    os.write(file, b" ")
    with pytest.raises(OSError, match="Invalid"):
        os.close(file)


def test_surrounding_blanks_and_carriage_returns_are_fine(jobs: Path) -> None:
    first, second = claimed(jobs, 2)

    assert 0 == error_of(jobs / "ack", f" {first['id']} \r\n\t{second['receipt']}{' ' * 200}\n".encode())
    assert (0, 0) == status(jobs)


@pytest.mark.parametrize(
    "script", ["echo > jobs/clear", ": > jobs/clear", "echo 1 >> jobs/clear", "truncate -s 0 jobs/clear"]
)
def test_clear_removes_what_is_unacknowledged(jobs: Path, place: Path, script: str) -> None:
    (held,) = claimed(jobs)
    put(jobs, b"one", b"two")

    done = sh(script, place)

    assert (0, "") == (done.returncode, done.stderr)
    assert (0, 0) == status(jobs)
    assert errno.ENOENT == error_of(jobs / "ack", held["id"].encode() + b"\n")


@pytest.mark.parametrize("script", ["touch jobs/clear", "test -w jobs/clear", "exec 3>>jobs/clear; exec 3>&-"])
def test_touching_clear_removes_nothing(jobs: Path, place: Path, script: str) -> None:
    put(jobs, b"one")

    assert 0 == sh(script, place).returncode
    assert (1, 0) == status(jobs)


def test_clear_leaves_what_is_being_written(jobs: Path) -> None:
    with (jobs / "enqueue").open("wb", buffering=0) as file:
        file.write(b"staged")
        (jobs / "clear").write_text("\n")

    assert [b"staged"] == take_all(jobs)
