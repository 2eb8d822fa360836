"""`queuefs put` on a real mount."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from queuefs.cli.exits import Exit
from tests.cli.commands import QUEUEFS, answer, refusal, run, start
from tests.support.mount import PATIENCE, mounted
from tests.support.queue import claim, listed, payload_of, stats, status, take, take_all
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1024 * 1024

PAYLOADS = {
    "a line": b"hello\n",
    "no newline": b"hello",
    "one byte": b"\0",
    "two lines": b"a\nb\n",
    "bytes": bytes(range(256)) * 3,
    "a piece": os.urandom(MIB),
    "a byte more": os.urandom(MIB + 1),
    "many pieces": os.urandom(5 * MIB + 7),
}


def ids(text: bytes) -> list[str]:
    """Return the lines of *text*."""
    return text.decode().splitlines()


# What becomes a message ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_a_file_and_standard_input_are_messages_byte_for_byte(jobs: Path, tmp_path: Path, payload: bytes) -> None:
    file = tmp_path / "file"
    file.write_bytes(payload)

    (first,) = ids(answer("put", jobs, file))
    (second,) = ids(answer("put", jobs, stdin=payload))
    with file.open("rb") as redirected:
        done = subprocess.run([*QUEUEFS, "put", jobs, "-"], stdin=redirected, capture_output=True, check=True)

    assert [first, second, *ids(done.stdout)] == sorted(os.listdir(jobs / "pending"), key=int)
    assert [payload] * 3 == take_all(jobs)


def test_each_file_is_a_message_in_the_order_of_the_command_line(jobs: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text(name)

    found = ids(answer("put", jobs, tmp_path / "two", "-", tmp_path / "one", stdin=b"stdin"))

    assert 3 == len(found)
    assert found == sorted(found, key=int)
    assert [b"two", b"stdin", b"one"] == take_all(jobs)


@pytest.mark.parametrize("source", ["file", "stdin"])
def test_an_empty_file_is_an_empty_message(jobs: Path, tmp_path: Path, source: str) -> None:
    (tmp_path / "empty").touch()

    (message,) = ids(answer("put", jobs, "--priority", "3", *([tmp_path / "empty"] if source == "file" else [])))

    assert [message] == os.listdir(jobs / "pending")
    found = claim(jobs)
    assert found is not None
    assert (b"", 3) == (payload_of(found), found["priority"])


def test_standard_input_counts_from_where_it_stands(jobs: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"first\n" + b"x" * (2 * MIB))
    with file.open("rb", buffering=0) as redirected:
        redirected.read(6)
        subprocess.run([*QUEUEFS, "put", "-q", jobs], stdin=redirected, check=True)

    assert [b"x" * (2 * MIB)] == take_all(jobs)


def test_files_whose_size_says_nothing_are_read_to_their_end(jobs: Path) -> None:
    answer("put", jobs, "/proc/version")

    with open("/proc/version", "rb") as file:
        assert [file.read()] == take_all(jobs)


def test_options_reach_the_message(jobs: Path) -> None:
    answer("put", jobs, "--priority=-7", "--ttl", "60", "--timeout", "1.5", "--key", "a key", stdin=b"x")
    answer("put", jobs, "--delay", "3600", stdin=b"y")

    assert 1 == stats(jobs)["delayed"]
    found = claim(jobs)
    assert found is not None
    assert (-7, 1.5, "a key") == (found["priority"], found["timeout"], found["key"])
    assert 50 < found["expires_at"] - time.time() < 70


def test_a_repetition_prints_the_id_of_the_first(jobs: Path) -> None:
    first = answer("put", jobs, "--key", "k", stdin=b"1")

    assert first == answer("put", jobs, "--key", "k", stdin=b"2")
    assert "a message with this key is there already" in refusal(
        "put", jobs, "--key", "k", "--strict", stdin=b"3", code=Exit.REFUSED
    )
    assert [b"1"] == take_all(jobs)


def test_quiet_prints_nothing(jobs: Path) -> None:
    assert b"" == answer("put", "-q", jobs, stdin=b"x")
    assert (1, 0) == status(jobs)


# Lines --------------------------------------------------------------------------------------------------------------

LINES = {
    "plain": (b"a\nb\nc\n", [b"a", b"b", b"c"]),
    "blank ones": (b"\n\na\n\n\nb\n\n", [b"a", b"b"]),
    "no end": (b"a\nb", [b"a", b"b"]),
    "none": (b"", []),
    "only blank": (b"\n\n\n", []),
    "longer than a piece": (b"x" * (2 * MIB + 1) + b"\ny\n" + b"z" * MIB, [b"x" * (2 * MIB + 1), b"y", b"z" * MIB]),
    "a newline behind a piece": (b"x" * MIB + b"\ny", [b"x" * MIB, b"y"]),
}


@pytest.mark.parametrize(("text", "expected"), LINES.values(), ids=LINES)
@pytest.mark.parametrize("quiet", [[], ["-q"]], ids=["ids", "quiet"])
def test_each_line_is_a_message(jobs: Path, text: bytes, expected: list[bytes], quiet: list[str]) -> None:
    printed = ids(answer("put", jobs, "--lines", *quiet, stdin=text))

    assert ([] if quiet else sorted(os.listdir(jobs / "pending"), key=int)) == printed
    assert expected == take_all(jobs)


@pytest.mark.parametrize("quiet", [[], ["-q"]], ids=["ids", "quiet"])
def test_lines_are_enqueued_as_they_come(jobs: Path, quiet: list[str]) -> None:
    with start("put", jobs, "--lines", *quiet, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(b"first\nsec")
        process.stdin.flush()
        eventually(lambda: status(jobs) == (1, 0))
        process.stdin.write(b"ond\n")
        process.stdin.flush()
        eventually(lambda: status(jobs) == (2, 0))
        process.stdin.close()
        assert 0 == process.wait(PATIENCE)
    assert [b"first", b"second"] == take_all(jobs)


# Refusals -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["nosuch"], Exit.NO_MOUNT_POINT, "there is no such queue"),
        (["."], Exit.NO_MOUNT_POINT, "is a mount; a queue is a directory in it"),
        (["/tmp"], Exit.NO_MOUNT_POINT, "is not in a mount"),
        (["JOBS/enqueue"], Exit.NO_MOUNT_POINT, "is a file of a queue"),
        (["JOBS/pending"], Exit.NO_MOUNT_POINT, "shows messages"),
        (["JOBS", "/nonexistent"], Exit.FAILED, "/nonexistent: No such file"),
        (["JOBS", "-", "/nonexistent"], Exit.FAILED, "/nonexistent: No such file"),
        (["JOBS", "/tmp"], Exit.FAILED, "/tmp is a directory"),
        (["JOBS", "-", "-"], Exit.USAGE, "only once"),
        (["JOBS", "--priority", "high"], Exit.USAGE, "'high'"),
        (["JOBS", "--priority", "100001"], Exit.USAGE, "'100001'"),
        (["JOBS", "--delay", "-1"], Exit.USAGE, "'-1'"),
        (["JOBS", "--timeout", "0"], Exit.USAGE, "'0'"),
        (["JOBS", "--key", "a,b"], Exit.USAGE, "comma"),
        (["JOBS", "--key", ""], Exit.USAGE, "''"),
        (["JOBS", "--key", "k" * 300], Exit.USAGE, "too long"),
        (["JOBS", "--strict"], Exit.USAGE, "--strict needs --key"),
        (["JOBS", "--nosuch"], Exit.USAGE, "--nosuch"),
        ([], Exit.USAGE, "QUEUE"),
    ],
)
def test_bad_input_is_one_line_and_changes_nothing(jobs: Path, arguments: list[str], code: Exit, words: str) -> None:
    named = [word.replace("JOBS", str(jobs)) for word in arguments]

    assert words in refusal("put", *named, stdin=b"x", cwd=jobs.parent, code=code)
    assert (0, 0) == status(jobs)
    assert 0 == stats(jobs)["totals"]["enqueued"]


def test_control_characters_in_a_name_do_not_reach_the_terminal(jobs: Path) -> None:
    line = refusal("put", jobs / "no\nsuch\x1b[31m", code=Exit.NO_MOUNT_POINT)

    assert "no\\nsuch\\x1b[31m" in line


@pytest.mark.parametrize("size", [11, 3 * MIB])
def test_a_message_over_the_limit_is_refused(jobs: Path, size: int) -> None:
    (jobs / "config").write_text(f"max_message_bytes = {min(size - 1, 2 * MIB)}")

    assert "longer than the queue takes" in refusal("put", jobs, stdin=b"x" * size, code=Exit.REFUSED)
    assert (0, 0) == status(jobs)


def test_a_full_queue_refuses(jobs: Path, tmp_path: Path) -> None:
    (jobs / "config").write_text("max_messages = 2")
    file = tmp_path / "file"
    file.write_text("x")
    done = run("put", jobs, file, file, file, file)

    assert Exit.REFUSED == done.returncode
    assert ids(done.stdout) == sorted(os.listdir(jobs / "pending"), key=int)
    assert (2, 0) == status(jobs)


def test_a_file_that_can_not_be_read_to_its_end_enqueues_nothing(jobs: Path, tmp_path: Path) -> None:
    """A message that was written in part must not become one when the file is closed."""
    long = tmp_path / "long"
    long.write_bytes(b"x" * 3 * MIB)
    script = f"""
import os, sys
read = os.read
def fails(fd, size, left=[3]):
    left[0] -= 1
    if left[0] < 0:
        raise OSError(5, "Input/output error")
    return read(fd, size)
os.read = fails
from queuefs.cli import main
main(["put", {str(jobs)!r}])
"""
    with subprocess.Popen(["cat", long], stdout=subprocess.PIPE) as source:
        done = subprocess.run([QUEUEFS[0], "-c", script], stdin=source.stdout, capture_output=True, check=False)
        source.kill()

    assert (Exit.FAILED, b"queuefs: standard input: Input/output error\n") == (done.returncode, done.stderr)
    assert (0, 0) == status(jobs)
    assert 0 == stats(jobs)["totals"]["enqueued"]


def test_a_file_that_becomes_shorter_while_it_is_read_enqueues_nothing(jobs: Path, tmp_path: Path) -> None:
    """Its size was told to the mount, which takes nothing else."""
    file = tmp_path / "file"
    file.write_bytes(b"x" * 8 * MIB)
    script = f"""
import os
read = os.read
def shortens(fd, size):
    os.truncate({str(file)!r}, {2 * MIB})
    return read(fd, size)
os.read = shortens
from queuefs.cli import main
main(["put", {str(jobs)!r}, {str(file)!r}])
"""
    done = subprocess.run([QUEUEFS[0], "-c", script], capture_output=True, check=False)

    assert (Exit.FAILED, b"") == (done.returncode, done.stdout)
    assert b"became shorter while it was read" in done.stderr
    assert 0 == stats(jobs)["totals"]["enqueued"]


def test_an_id_that_can_not_be_printed_is_said(jobs: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*QUEUEFS, "put", jobs], input=b"x", stdout=full, stderr=subprocess.PIPE, check=False)

    (message,) = os.listdir(jobs / "pending")
    assert (Exit.FAILED, f"queuefs: message {message} is enqueued; stdout: No space left on device\n".encode()) == (
        done.returncode,
        done.stderr,
    )


def test_a_daemon_that_is_gone_is_said() -> None:
    with mounted() as mount:
        (mount.path / "jobs").mkdir()
        mount.kill()

        assert "daemon of this mount is gone" in refusal("put", mount.path / "jobs", stdin=b"x", code=Exit.NO_STORE)


# Signals, memory and time -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize(
    "begun", [b"half a message", b"x" * MIB, b"x" * (2 * MIB + 5)], ids=["short", "a piece", "long"]
)
def test_what_a_signal_ends_amid_a_message_enqueues_nothing(jobs: Path, number: signal.Signals, begun: bytes) -> None:
    with start("put", jobs, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(begun)
        process.stdin.flush()
        eventually(lambda: _has_read_all(process))
        process.send_signal(number)

        assert -number == process.wait(PATIENCE)
        assert process.stdout is not None
        assert b"" == process.stdout.read()
        assert process.stderr is not None
        assert b"" == process.stderr.read()
    eventually(lambda: list(jobs.glob("pending/*")) == [] and status(jobs) == (0, 0))
    assert 0 == stats(jobs)["totals"]["enqueued"]
    jobs.rmdir()  # nothing is staged either


def _has_read_all(process: subprocess.Popen[bytes]) -> bool:
    """Tell whether the process sleeps in a read of its standard input, a pipe that is empty."""
    try:
        with open(f"/proc/{process.pid}/syscall", encoding="ascii") as file:
            return file.read().split()[:2] == ["0", "0x0"]
    except OSError:
        return False


def test_a_long_file_is_not_held_in_memory(jobs: Path, tmp_path: Path) -> None:
    size = 256 * MIB
    (jobs / "config").write_text(f"max_message_bytes = {size}")
    file = tmp_path / "file"
    with file.open("wb") as sparse:
        sparse.truncate(size)
    idle = _peak_of("--version")

    assert _peak_of("put", jobs, file) - idle < 32 * MIB
    assert (1, 0) == status(jobs)
    assert size == os.stat(next((jobs / "pending").iterdir())).st_size
    (jobs / "clear").write_text("\n")


def _peak_of(*arguments: str | Path) -> int:
    """Return how many bytes of memory the command took at most."""
    script = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
"""
    done = subprocess.run([QUEUEFS[0], "-c", script, *QUEUEFS, *arguments], capture_output=True, check=True)
    return int(done.stdout)


def test_it_starts_without_the_daemons_libraries(jobs: Path) -> None:
    script = """
import sys
from queuefs.cli import main
try:
    main(sys.argv[1:])
finally:
    heavy = {"trio", "pyfuse3", "structlog", "msgspec", "rich", "asyncio"} & set(sys.modules)
    assert not heavy, heavy
"""
    commands: list[list[str | Path]] = [["put", "-q", jobs], ["ls", jobs], ["get", jobs], ["rm", jobs]]
    for command in commands:
        done = subprocess.run([QUEUEFS[0], "-c", script, *command], input=b"x", capture_output=True, check=False)
        assert (0, b"") == (done.returncode, done.stderr)


def test_a_put_takes_little_time(jobs: Path) -> None:
    """Measured: 70 ms, of which click takes 32; the bound is for a loaded machine."""
    used = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        answer("put", "-q", jobs, stdin=b"x")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

    assert min(used) < 0.15
    assert [b"x"] * 5 == take_all(jobs)
    assert take(jobs) is None
    assert [] == listed(jobs)
