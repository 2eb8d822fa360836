"""`queuefs get` on a real mount."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest

from queuefs.cli.exits import Exit
from tests.cli.commands import QUEUEFS, answer, objects, refusal, run, start
from tests.support.mount import PATIENCE, mounted
from tests.support.queue import claim, put, stats, status
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1024 * 1024

PAYLOADS = {
    "a line": b"hello\n",
    "empty lines": b"\n\n",
    "one byte": b"\0",
    "bytes": bytes(range(256)) * 3,
    "a piece": os.urandom(MIB),
    "many pieces": os.urandom(5 * MIB + 7),
}


def only_pending(queue: Path) -> dict[str, Any]:
    """Return what `messages` shows of the one message there is, which has to be pending."""
    (message,) = json.loads((queue / "messages").read_bytes())
    assert "pending" == message["state"]
    found: dict[str, Any] = message
    return found


def long_message(queue: Path, size: int = 8 * MIB) -> None:
    """Enqueue a message that no pipe holds."""
    (queue / "enqueue").write_bytes(b"x" * size)


# What is taken ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
@pytest.mark.parametrize("to", ["pipe", "file", "output"])
def test_the_payload_comes_byte_for_byte_and_the_message_is_done(
    jobs: Path, tmp_path: Path, payload: bytes, to: str
) -> None:
    put(jobs, payload, b"next")
    file = tmp_path / "file"
    if to == "pipe":
        assert payload == answer("get", jobs)
    elif to == "file":
        with file.open("wb") as redirected:
            subprocess.run([*QUEUEFS, "get", jobs], stdout=redirected, check=True)
        assert payload == file.read_bytes()
    else:
        assert b"" == answer("get", jobs, "-o", file)
        assert payload == file.read_bytes()

    assert (1, 0) == status(jobs)
    assert 1 == stats(jobs)["totals"]["acked"]
    assert [] == [name for name in os.listdir(tmp_path) if name != "file"]


def test_nothing_there_is_a_code_of_its_own(jobs: Path, tmp_path: Path) -> None:
    for arguments in ([], ["-o", tmp_path / "file"], ["--json"], ["--wait", "0.2"]):
        done = run("get", jobs, *arguments)
        assert (Exit.EMPTY, b"", b"") == (done.returncode, done.stdout, done.stderr)
    assert [] == os.listdir(tmp_path)


@pytest.mark.parametrize("wait", [["--wait"], ["--wait", "60"], ["--wait=60"]])
def test_it_waits_for_a_message(jobs: Path, wait: list[str]) -> None:
    with start("get", *wait, jobs) as process:
        eventually(lambda: _waits(process))
        put(jobs, b"here it is")
        out, err = process.communicate(timeout=PATIENCE)
    assert (0, b"here it is", b"") == (process.returncode, out, err)


def _waits(process: subprocess.Popen[bytes]) -> bool:
    """Tell whether the process has been blocked in a read that the mount answers later (readv: 19)."""
    with open(f"/proc/{process.pid}/syscall", encoding="ascii") as file:
        return file.read().split()[0] == "19"


def test_a_wait_ends_after_its_time(jobs: Path) -> None:
    begun = time.monotonic()

    assert Exit.EMPTY == run("get", "--wait", "0.5", jobs).returncode
    assert 0.5 < time.monotonic() - begun < PATIENCE


def test_no_ack_leaves_it_in_processing_and_tells_the_receipt(jobs: Path) -> None:
    put(jobs, b"x")
    done = run("get", "--no-ack", "--lease", "77", jobs)

    (message,) = os.listdir(jobs / "processing")
    assert (0, b"x", f"{message}.1\n".encode()) == (done.returncode, done.stdout, done.stderr)
    until = float(os.getxattr(jobs / "processing" / message, "user.queuefs.lease_until"))
    assert 60 < until - time.time() < 80
    (jobs / "ack").write_bytes(done.stderr)
    assert (0, 0) == status(jobs)


@pytest.mark.parametrize("payload", [b"text\n", bytes(range(256)), b"", b"x" * 3 * MIB], ids=["t", "b", "e", "long"])
def test_json_is_what_dequeue_shows(jobs: Path, payload: bytes) -> None:
    answer("put", "-q", "--key", "k", jobs, stdin=payload)
    expected = json.loads((jobs / "peek").read_bytes())

    (found,) = objects(answer("get", "--json", jobs))

    assert f"{found['id']}.1" == found.pop("receipt")
    found.pop("lease_until")
    found["attempt"] -= 1
    assert expected == found
    assert (0, 0) == status(jobs)
    assert 1 == stats(jobs)["totals"]["acked"]


def test_json_with_no_ack_leaves_it_in_processing(jobs: Path) -> None:
    put(jobs, b"x")
    done = run("get", "--json", "--no-ack", jobs)

    assert f"{objects(done.stdout)[0]['receipt']}\n".encode() == done.stderr
    assert (0, 1) == status(jobs)


# Output -------------------------------------------------------------------------------------------------------------


def test_an_output_file_takes_the_place_of_another_when_it_is_whole(jobs: Path, tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("old")
    link.symlink_to("file")
    held = file.open()
    long_message(jobs)

    answer("get", jobs, "-o", link)

    assert "old" == held.read()
    held.close()
    assert link.is_symlink()
    assert 8 * MIB == file.stat().st_size
    assert 0o644 == stat.S_IMODE(file.stat().st_mode) | 0o044


def test_a_name_as_long_as_can_be_is_an_output_too(jobs: Path, tmp_path: Path) -> None:
    put(jobs, b"x")
    file = tmp_path / ("é" * 127)

    answer("get", jobs, "-o", file)

    assert b"x" == file.read_bytes()


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("nosuch/file", "No such file or directory"),
        ("file/below", "Not a directory"),
        ("/dev/null", "no regular file"),
        (".", "no regular file"),
        ("/proc/file", "No such file or directory"),
    ],
)
def test_an_output_that_can_not_be_written_takes_nothing(jobs: Path, tmp_path: Path, output: str, words: str) -> None:
    (tmp_path / "file").touch()
    put(jobs, b"x")

    assert words in refusal("get", jobs, "-o", output, cwd=tmp_path, code=Exit.FAILED)
    assert 0 == only_pending(jobs)["attempt"] or output == "/proc/file"  # which is found out when it is made
    assert ["file"] == os.listdir(tmp_path)


def test_a_closed_stdout_takes_nothing(jobs: Path) -> None:
    put(jobs, b"x")
    done = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *QUEUEFS, "get", jobs], stderr=subprocess.PIPE, check=False)

    assert (Exit.FAILED, b"queuefs: stdout: Bad file descriptor\n") == (done.returncode, done.stderr)
    assert 0 == only_pending(jobs)["attempt"]


# Failures give the message back -------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["payload", "json"])
def test_a_full_disk_gives_it_back(jobs: Path, form: list[str]) -> None:
    put(jobs, b"x")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*QUEUEFS, "get", jobs, *form], stdout=full, stderr=subprocess.PIPE, check=False)

    assert (Exit.FAILED, b"queuefs: stdout: No space left on device\n") == (done.returncode, done.stderr)
    found = only_pending(jobs)
    assert (1, "get ended before all of it was written") == (found["attempt"], found["reason"])


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["payload", "json"])
def test_a_pipe_that_nobody_reads_to_its_end_gives_it_back(jobs: Path, form: list[str]) -> None:
    long_message(jobs)
    process = start("get", jobs, *form)
    with process:
        assert process.stdout is not None
        process.stdout.read(4)
        process.stdout.close()
        assert process.stderr is not None
        assert b"" == process.stderr.read()
    assert -signal.SIGPIPE == process.returncode
    only_pending(jobs)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["payload", "json"])
def test_a_signal_amid_the_message_gives_it_back(jobs: Path, number: signal.Signals, form: list[str]) -> None:
    long_message(jobs)
    with start("get", jobs, *form) as process:
        assert process.stdout is not None
        process.stdout.read(4)
        process.send_signal(number)
        assert -number == process.wait(PATIENCE)
    eventually(lambda: status(jobs) == (1, 0))
    only_pending(jobs)
    assert b"x" * 8 * MIB == answer("get", jobs)


def test_a_signal_to_the_whole_group_gives_it_back(jobs: Path) -> None:
    long_message(jobs)
    with subprocess.Popen([*QUEUEFS, "get", jobs], stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        process.stdout.read(4)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE)
    eventually(lambda: status(jobs) == (1, 0))


def test_a_signal_while_it_waits_takes_nothing(jobs: Path) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
        with start("get", "--wait", jobs) as process:
            eventually(lambda: _waits(process))
            process.send_signal(number)
            assert -number == process.wait(PATIENCE)
    put(jobs, b"x")
    assert 1 == (claim(jobs) or {})["attempt"]


def test_an_unfinished_output_is_taken_away_whatever_ends_the_command(jobs: Path, tmp_path: Path) -> None:
    (jobs / "config").write_text(f"max_message_bytes = {256 * MIB}")
    with (tmp_path / "source").open("wb") as sparse:
        sparse.truncate(256 * MIB)
    answer("put", "-q", jobs, tmp_path / "source")
    out = tmp_path / "out"
    out.mkdir()
    with start("get", jobs, "-o", out / "file") as process:
        eventually(lambda: os.listdir(out) != [])
        process.kill()
        process.wait(PATIENCE)
    eventually(lambda: os.listdir(out) == [])
    eventually(lambda: status(jobs) == (1, 0))
    (jobs / "clear").write_text("\n")


def test_nohup_is_heeded(jobs: Path) -> None:
    put(jobs, b"x")
    command: list[str | Path] = [
        "sh",
        "-c",
        'trap "" HUP; exec "$@"',
        "sh",
        *QUEUEFS,
        "get",
        "--wait",
        jobs.parent / "later",
    ]
    (jobs.parent / "later").mkdir()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        eventually(lambda: _waits(process))
        process.send_signal(signal.SIGHUP)
        put(jobs.parent / "later", b"still here")
        assert process.stdout is not None
        assert b"still here" == process.stdout.read()


def test_a_lease_that_ends_too_soon_is_said(jobs: Path) -> None:
    long_message(jobs)
    with start("get", "--lease", "0.3", jobs) as process:
        assert process.stdout is not None
        process.stdout.read(4)
        eventually(lambda: status(jobs) == (1, 0))
        other = claim(jobs)
        assert other is not None
        process.stdout.read()
        assert process.stderr is not None
        assert b"is written, but not acknowledged: its lease was over\n" in process.stderr.read()
        assert Exit.FAILED == process.wait(PATIENCE)
    assert (0, 1) == status(jobs)  # the other one's claim is not touched
    (jobs / "ack").write_text(other["receipt"])


def test_a_daemon_that_is_gone_is_said() -> None:
    with mounted() as mount:
        (mount.path / "jobs").mkdir()
        mount.kill()

        assert "daemon of this mount is gone" in refusal("get", mount.path / "jobs", code=Exit.NO_STORE)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--lease", "0"], "'0'"),
        (["--wait=x"], "'x'"),
        (["--wait", "1.2.3"], "'1.2.3'"),
        (["--nosuch"], "--nosuch"),
        (["other"], "other"),
    ],
)
def test_bad_input_is_one_line_and_changes_nothing(jobs: Path, arguments: list[str], words: str) -> None:
    put(jobs, b"x")

    assert words in refusal("get", jobs, *arguments, code=Exit.USAGE)
    assert 0 == only_pending(jobs)["attempt"]


def test_no_process_is_left_behind(jobs: Path) -> None:
    put(jobs, b"x")
    with subprocess.Popen([*QUEUEFS, "get", jobs], stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        assert b"x" == process.stdout.read()  # the end of the pipe: nobody else holds it
        process.wait(PATIENCE)
    with open(f"/proc/{os.getpid()}/task/{os.getpid()}/children", encoding="ascii") as file:
        assert str(process.pid) not in file.read().split()
