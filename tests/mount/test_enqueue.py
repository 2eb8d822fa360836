"""`enqueue` on a real mount: all the bytes between an open and its last close are one message."""

from __future__ import annotations

import errno
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from queuefs.names import STATE_DIRECTORIES
from tests.support.mount import mounted
from tests.support.programs import SHELLS, sh
from tests.support.queue import claim, status, take, take_all

if TYPE_CHECKING:
    from pathlib import Path

ALL_BYTES = bytes(range(256))

#: Writes a file in two halves, says so, and waits to be killed.
WRITER = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
file = os.open(sys.argv[1], os.O_WRONLY)
for _ in range(2): os.write(file, b'x' * (int(sys.argv[2]) // 2))
print('written', flush=True)
signal.pause()
"""


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("script", "messages"),
    [
        ("echo hello > jobs/enqueue", [b"hello\n"]),
        ("printf %s hello > jobs/enqueue", [b"hello"]),
        ("echo hello >> jobs/enqueue", [b"hello\n"]),
        ("printf 'a\\nb\\nc\\n' > jobs/enqueue", [b"a\nb\nc\n"]),
        ("for i in 1 2 3; do echo $i; done > jobs/enqueue", [b"1\n2\n3\n"]),
        ("for i in 1 2 3; do echo $i > jobs/enqueue; done", [b"1\n", b"2\n", b"3\n"]),
        ("{ echo a; /bin/echo b; echo c; } > jobs/enqueue", [b"a\nb\nc\n"]),
        ("(/bin/echo a; (/bin/echo b)) > jobs/enqueue", [b"a\nb\n"]),
        ("exec 3>jobs/enqueue; echo a >&3; echo b >&3; exec 3>&-", [b"a\nb\n"]),
        ("exec 3>jobs/enqueue; /bin/echo a >&3; (echo b >&3); exec 3>&-", [b"a\nb\n"]),
        ("echo a | tee jobs/enqueue > /dev/null", [b"a\n"]),
        ("echo a | tee -a jobs/enqueue > /dev/null", [b"a\n"]),
        ("cat <<'X' > jobs/enqueue\none\ntwo\nX", [b"one\ntwo\n"]),
        ("touch jobs/enqueue", []),
        (": > jobs/enqueue", []),
        ("test -w jobs/enqueue", []),
        ("printf '' > jobs/enqueue", []),
    ],
)
def test_what_shells_write(place: Path, jobs: Path, shell: str, script: str, messages: list[bytes]) -> None:
    done = sh(script, place, shell)

    assert (0, "", "") == (done.returncode, done.stdout, done.stderr)
    assert messages == take_all(jobs)


def test_what_a_close_has_returned_for_is_seen_by_the_next_call(place: Path, jobs: Path) -> None:
    script = "for i in $(seq 100); do echo $i > jobs/enqueue; read -r x < jobs/dequeue && echo $x; done | wc -l"

    assert "100" == sh(script, place).stdout.strip()
    assert (0, 100) == status(jobs)


def test_the_counts_follow_every_close(jobs: Path) -> None:
    for count in range(1, 51):
        with (jobs / "enqueue").open("wb") as file:
            file.write(b"x")

        assert f"{count}\n" == (jobs / "size").read_text()


BIG = random.Random(1).randbytes(1 << 20)


@pytest.mark.parametrize(
    "way",
    [
        "cat {file} > jobs/enqueue",
        "cat {file} | cat > jobs/enqueue",
        "tee jobs/enqueue < {file} > /dev/null",
        "cp {file} jobs/enqueue",
        "cp -p {file} jobs/enqueue",
        "busybox cp {file} jobs/enqueue",
        "coreutils cp {file} jobs/enqueue",
        "dd if={file} of=jobs/enqueue bs=1M status=none",
        "dd if={file} of=jobs/enqueue bs=7777 status=none",
        "dd if={file} of=jobs/enqueue bs=64K conv=notrunc,fsync status=none",
        "busybox cat {file} > jobs/enqueue",
        "coreutils cat {file} > jobs/enqueue",
        'python3 -c \'import shutil; shutil.copyfile("{file}", "jobs/enqueue")\'',
        'python3 -c \'open("jobs/enqueue", "wb").write(open("{file}", "rb").read())\'',
        'node -e \'const f = require("fs"); f.writeFileSync("jobs/enqueue", f.readFileSync("{file}"))\'',
        'perl -e \'open I, "<", "{file}"; open O, ">", "jobs/enqueue"; print O <I>; close O or die\'',
        "(head -c 300000; cat) < {file} > jobs/enqueue",
    ],
)
def test_a_mebibyte_is_one_message_however_it_is_written(place: Path, jobs: Path, way: str, tmp_path: Path) -> None:
    file = tmp_path / "random"
    file.write_bytes(BIG)

    done = sh(way.format(file=file), place)

    assert (0, "") == (done.returncode, done.stderr)
    assert [BIG] == take_all(jobs)


def test_a_byte_at_a_time_is_one_message(place: Path, jobs: Path, tmp_path: Path) -> None:
    file = tmp_path / "random"
    file.write_bytes(BIG[:3000])

    done = sh(f"dd if={file} of=jobs/enqueue bs=1 status=none", place)

    assert (0, "") == (done.returncode, done.stderr)
    assert [BIG[:3000]] == take_all(jobs)


@pytest.mark.parametrize("size", [1, 65535, 65536, 65537, 131072, 131073])
def test_sizes_about_the_line_between_write_and_close(jobs: Path, size: int) -> None:
    with (jobs / "enqueue").open("wb", buffering=0) as file:
        file.write(BIG[: size // 2])
        file.write(BIG[size // 2 : size])

    assert [BIG[:size]] == take_all(jobs)


def test_fifty_writers_at_once_are_fifty_whole_messages(jobs: Path) -> None:
    payloads = [random.Random(seed).randbytes(200_000) for seed in range(50)]

    def write(payload: bytes) -> None:
        with (jobs / "enqueue").open("wb", buffering=0) as file:
            for start in range(0, len(payload), 50_000):
                file.write(payload[start : start + 50_000])

    with ThreadPoolExecutor(50) as pool:
        list(pool.map(write, payloads))

    assert sorted(payloads) == sorted(take_all(jobs))


@pytest.mark.parametrize(
    "payload",
    [
        ALL_BYTES,
        b"\0",
        b"\0\0\n",
        b"\xff\xfe",
        b"\r\n",
        b"no newline",
        b"many\n\n\n",
        "grün ☃ 𝄞".encode(),
        b'"\\\x7f\x01',
    ],
    ids=repr,
)
def test_every_byte_comes_back(jobs: Path, payload: bytes) -> None:
    (jobs / "enqueue").write_bytes(payload)

    listed = json.loads((jobs / "messages").read_bytes())
    assert 1 == len(listed)
    assert payload == take(jobs)


def test_a_message_over_the_limit_is_refused_and_leaves_nothing(backend_url: str) -> None:
    with mounted(backend_url, options=["max_message_bytes=1000"]) as mount:
        queue = mount.path / "jobs"
        queue.mkdir()
        for shell in SHELLS:
            done = sh(f"echo {'x' * 1000} > jobs/enqueue", mount.path, shell)
            assert 0 != done.returncode
            assert "" != done.stderr  # dash says "I/O error" for every errno
        assert "File too large" in sh(f"echo {'x' * 1000} > jobs/enqueue", mount.path).stderr
        (queue / "enqueue").write_bytes(b"x" * 1000)

        assert '{"pending":1,"processing":0}\n' == (queue / "status").read_text()


def test_a_write_that_failed_spoils_its_message(backend_url: str) -> None:
    with mounted(backend_url, options=["max_message_bytes=10"]) as mount:
        queue = mount.path / "jobs"
        queue.mkdir()
        file = os.open(queue / "enqueue", os.O_WRONLY)
        os.write(file, b"12345")
        for _ in range(2):
            with pytest.raises(OSError, match="too large") as caught:
                os.write(file, b"678901")
            assert errno.EFBIG == caught.value.errno
        with pytest.raises(OSError, match="too large"):
            os.close(file)

        assert "0\n" == (queue / "size").read_text()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGSEGV])
@pytest.mark.parametrize("size", [10, 200_000, 5_000_000])
def test_a_writer_that_a_signal_ends_enqueues_nothing(jobs: Path, number: signal.Signals, size: int) -> None:
    writer = subprocess.Popen(
        [
            sys.executable,
            "-c",
            WRITER,
            jobs / "enqueue",
            str(size),
        ],
        stdout=subprocess.PIPE,
    )
    with writer:
        assert writer.stdout is not None
        assert b"written\n" == writer.stdout.readline()
        writer.send_signal(number)
        assert -number == writer.wait()

    assert '{"pending":0,"processing":0}\n' == (jobs / "status").read_text()
    jobs.rmdir()  # nothing of it is left behind: neither a message nor a stage


def test_a_message_is_in_no_count_before_it_is_closed(jobs: Path) -> None:
    with (jobs / "enqueue").open("wb", buffering=0) as file:
        file.write(b"half")

        assert '{"pending":0,"processing":0}\n' == (jobs / "status").read_text()
        assert b"" == (jobs / "dequeue").read_bytes()
        assert [] == json.loads((jobs / "messages").read_bytes())
        with pytest.raises(OSError, match="busy"):
            jobs.rmdir()

    assert [b"half"] == take_all(jobs)


def test_the_place_is_by_the_first_write_not_by_the_close(jobs: Path) -> None:
    with (jobs / "enqueue").open("wb", buffering=0) as first, (jobs / "enqueue").open("wb", buffering=0) as second:
        first.write(b"first")
        second.write(b"second")
        second.close()

    assert [b"first", b"second"] == take_all(jobs)


def test_reading_back_gives_the_id(place: Path, jobs: Path) -> None:
    script = "exec 3<>jobs/enqueue; echo hi >&3; read -r id <&3; echo $id; exec 3>&-; cat jobs/peek"

    done = sh(script, place)

    told, line = done.stdout.splitlines()
    assert told == json.loads(line)["id"]
    assert [b"hi\n"] == take_all(jobs)


@pytest.mark.parametrize(
    "script",
    [
        "rm jobs/enqueue",
        "ln jobs/enqueue jobs/other",
        "ln -s enqueue jobs/other",
        "mknod jobs/pipe p",
        "touch jobs/other",
        "echo x > jobs/other",
        "echo x > other",
        "mv jobs/enqueue jobs/other",
        "mv /etc/hostname.copy jobs/enqueue",
        "sed -i s/a/b/ jobs/enqueue",
        "install /etc/hostname.copy jobs/enqueue",
    ],
)
def test_no_file_can_be_made_or_replaced(place: Path, jobs: Path, script: str, tmp_path: Path) -> None:
    shutil.copy("/etc/passwd", tmp_path / "copy")

    done = sh(script.replace("/etc/hostname.copy", str(tmp_path / "copy")), place)

    assert 0 != done.returncode
    assert re.search("not permitted|denied", done.stderr)  # sed would read it first
    assert {"jobs", *STATE_DIRECTORIES} == {path.name for path in place.iterdir() if path.is_dir()}
    assert b"" == (jobs / "dequeue").read_bytes()


def test_many_writers_lose_nothing(jobs: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda number: (jobs / "enqueue").write_text(str(number)), range(500)))

    assert sorted(str(number).encode() for number in range(500)) == sorted(take_all(jobs))


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("script", "count"),
    [
        (": > jobs/enqueue,empty", 1),
        ("printf '' > jobs/enqueue,empty", 1),
        ("> jobs/enqueue,empty", 1),
        ("cp /dev/null jobs/enqueue,empty", 1),
        ("exec 3>jobs/enqueue,empty; exec 4>jobs/enqueue,empty,size=0", 2),
        ("cat < /dev/null > jobs/enqueue,empty,priority=3,delay=0,ttl=9,timeout=9", 1),
        ("touch jobs/enqueue,empty", 0),
        (": >> jobs/enqueue,empty", 0),
        ("exec 3<>jobs/enqueue,empty", 0),
        ("test -w jobs/enqueue,empty", 0),
    ],
)
def test_an_open_that_truncates_enqueues_an_empty_message(
    place: Path, jobs: Path, shell: str, script: str, count: int
) -> None:
    done = sh(script, place, shell)

    assert (0, "") == (done.returncode, done.stderr)
    assert [b""] * count == take_all(jobs)


def test_an_empty_message_is_there_when_the_open_returns(jobs: Path) -> None:
    file = os.open(jobs / "enqueue,empty,priority=7", os.O_RDWR | os.O_TRUNC)
    message = claim(jobs)
    assert message is not None

    assert ("", 7) == (message["data"], message["priority"])
    assert f"{message['id']}\n".encode() == os.read(file, 100)
    assert b"" == os.read(file, 100)
    with pytest.raises(OSError, match="Invalid argument"):
        os.write(file, b"x")
    os.close(file)
    assert (0, 1) == status(jobs)


def test_without_a_truncation_there_is_no_id_to_read(jobs: Path) -> None:
    file = os.open(jobs / "enqueue,empty", os.O_RDWR)
    assert b"" == os.read(file, 100)
    with pytest.raises(OSError, match="Invalid argument"):
        os.write(file, b"x")
    os.close(file)

    assert (0, 0) == status(jobs)


def test_an_empty_message_that_can_not_be_taken_is_an_error_of_the_open(jobs: Path) -> None:
    truncate = os.O_WRONLY | os.O_TRUNC
    os.close(os.open(jobs / "enqueue,empty,key=k,strict", truncate))
    with pytest.raises(FileExistsError):
        os.open(jobs / "enqueue,empty,key=k,strict", truncate)
    again = os.open(jobs / "enqueue,empty,key=k", os.O_RDWR | os.O_TRUNC)
    first = claim(jobs)
    assert first is not None
    assert f"{first['id']}\n".encode() == os.read(again, 100)
    os.close(again)
    (jobs / "config").write_text("max_messages = 1\n")
    with pytest.raises(OSError, match="No space left"):
        os.open(jobs / "enqueue,empty", truncate)
    (jobs / "config").write_text("on_full = block\n")
    with pytest.raises(BlockingIOError):
        os.open(jobs / "enqueue,empty", truncate | os.O_NONBLOCK)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(os.open, jobs / "enqueue,empty", truncate)
        with pytest.raises(TimeoutError):
            waiting.result(0.2)
        (jobs / "ack").write_text(first["id"])
        os.close(waiting.result(30))

    assert [b""] == take_all(jobs)
    jobs.rmdir()


@pytest.mark.parametrize(
    "script",
    [
        "cp --sparse=auto holes jobs/enqueue",
        "cp --sparse=always holes jobs/enqueue",
        "cp all-hole jobs/enqueue",
        "dd if=holes of=jobs/enqueue bs=64K conv=sparse status=none",
        'python3 -c \'import os; f = os.open("jobs/enqueue", os.O_WRONLY); os.pwrite(f, b"x", 5)\'',
        'python3 -c \'f = open("jobs/enqueue", "wb", 0); f.write(b"abc"); f.seek(0); f.write(b"x")\'',
    ],
)
def test_holes_and_steps_back_are_refused(jobs: Path, tmp_path: Path, script: str) -> None:
    """Without them the message would be another one, and who wrote it would not know."""
    with (tmp_path / "holes").open("wb") as file:
        file.write(b"head" * 1000)
        file.seek(1 << 20)
        file.write(b"tail")
        file.truncate(3 << 20)
    (tmp_path / "all-hole").touch()
    os.truncate(tmp_path / "all-hole", 1 << 20)

    done = sh(script.replace("holes", f"{tmp_path}/holes").replace("all-hole", f"{tmp_path}/all-hole"), jobs.parent)

    assert 0 != done.returncode
    assert "Invalid argument" in done.stderr
    assert (0, 0) == status(jobs)


#: Has a thread that opens a file, and may end; writes twice, says so, and waits to be killed.
THREADED_WRITER = """
import os, signal, sys, threading
files = []
done = threading.Event()
def open_it():
    files.append(os.open(sys.argv[1], os.O_WRONLY))
    for _ in range(2): os.write(files[0], b'x' * 100)
    done.set()
    if sys.argv[2] == 'stays': signal.pause()
thread = threading.Thread(target=open_it, daemon=True)
thread.start()
done.wait()
if sys.argv[2] == 'ends': thread.join()
print('written', flush=True)
signal.pause()
"""


@pytest.mark.parametrize("thread", ["stays", "ends"])
def test_a_killed_writer_with_threads_enqueues_nothing(jobs: Path, thread: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", THREADED_WRITER, jobs / "enqueue", thread], stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        assert b"written\n" == writer.stdout.readline()
        writer.kill()

    assert (0, 0) == status(jobs)


def test_a_producer_that_timeout_ends_enqueues_nothing(jobs: Path) -> None:
    done = sh("timeout 0.3 sh -c 'echo one; echo two; exec sleep 100' > jobs/enqueue; echo $?", jobs.parent)

    assert done.stdout in {"124\n", "125\n"}  # timeout may notice at its own close that the message was given up
    assert (0, 0) == status(jobs)


def test_a_part_of_a_program_that_was_killed_is_no_message(jobs: Path) -> None:
    done = sh("(echo one; echo two; sh -c 'echo three; kill -9 $$'; echo four) > jobs/enqueue", jobs.parent)

    assert "canceled" in done.stderr
    assert (0, 0) == status(jobs)
