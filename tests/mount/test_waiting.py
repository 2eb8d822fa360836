"""Blocked readers and writers on a real mount: woken at once, in order, and ended by every signal and by a stop."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.support.mount import mounted
from tests.support.programs import CATS, sh
from tests.support.queue import claim, put, status, take, take_all
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Seconds within which a blocked program ends after a signal; the aim is 0.1, and the machine is shared.
SOON = 2.0

#: The same where the file was inherited, and its reader has to be searched for.
LATER = 6.0


def is_blocked(pid: int) -> bool:
    """Return whether a process waits for the daemon's answer."""
    try:
        with open(f"/proc/{pid}/wchan", "rb") as file:
            return file.read() in {b"request_wait_answer", b"folio_wait_bit_common"}
    except OSError:
        return False


def has_ended(pid: int) -> bool:
    """Return whether a process is gone, or only waits for its parent."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] == b"Z"
    except OSError:
        return True


@contextmanager
def blocked(*command: str | Path, **options: object) -> Iterator[subprocess.Popen[bytes]]:
    """Run *command* until it waits for the daemon; end it afterwards."""
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)  # type: ignore[call-overload]
    try:
        eventually(lambda: is_blocked(program.pid))
        yield program
    finally:
        program.kill()
        program.communicate()


@pytest.mark.parametrize("program", ["gnu", "busybox", "uutils", "dd", "python", "perl"])
def test_a_waiting_reader_gets_the_message_that_comes(jobs: Path, program: str) -> None:
    path = jobs / "dequeue,wait"
    with blocked(*CATS[program], f"if={path}" if program == "dd" else path) as reader:
        put(jobs, b"hello")
        output, _ = reader.communicate(timeout=30)

    assert "hello" == json.loads(output)["data"]
    assert (0, 1) == status(jobs)


def test_a_wait_ends_after_its_time(jobs: Path) -> None:
    began = time.monotonic()

    assert b"" == (jobs / "dequeue,wait=0.3").read_bytes()
    assert 0.3 <= time.monotonic() - began


def test_a_message_that_is_there_is_not_waited_for(jobs: Path) -> None:
    put(jobs, b"x")

    assert b"x" == (jobs / "dequeue,wait,raw").read_bytes()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
@pytest.mark.parametrize("name", ["dequeue,wait", "wait", "events"])
def test_a_signal_ends_a_blocked_reader(jobs: Path, number: signal.Signals, name: str) -> None:
    put(jobs, b"x")
    held = claim(jobs)
    assert held is not None
    with blocked("cat", jobs / name, start_new_session=True) as reader:
        reader.send_signal(number)
        began = time.monotonic()
        assert -number == reader.wait(SOON)
        assert time.monotonic() - began < SOON
    put(jobs, b"y")
    assert (1, 1) == status(jobs)


@pytest.mark.parametrize("number", ["INT", "TERM", "KILL"])
@pytest.mark.parametrize(
    "command", ["cat jobs/dequeue,wait", "cat jobs/dequeue,wait | cat", "read -r x < jobs/dequeue,wait"]
)
def test_timeout_ends_a_blocked_command(jobs: Path, number: str, command: str) -> None:
    script = f"timeout -s {number} 0.2 bash -c '{command}'"
    began = time.monotonic()

    sh(script, jobs.parent)

    assert time.monotonic() - began < 10
    put(jobs, b"x")
    eventually(lambda: status(jobs) == (1, 0))


def test_a_signal_that_a_program_handles_interrupts_it(jobs: Path) -> None:
    script = (
        "import os, signal, sys\n"
        "def handler(*_): raise KeyboardInterrupt\n"
        "signal.signal(signal.SIGUSR1, handler)\n"
        "try: open(sys.argv[1]).read()\n"
        "except KeyboardInterrupt: print('interrupted')\n"
    )
    with blocked(sys.executable, "-c", script, jobs / "dequeue,wait") as reader:
        reader.send_signal(signal.SIGUSR1)
        output, _ = reader.communicate(timeout=SOON)

    assert b"interrupted\n" == output


def test_a_thread_that_waits_does_not_keep_its_process(jobs: Path) -> None:
    script = (
        "import sys, threading\n"
        "thread = threading.Thread(target=lambda: open(sys.argv[1]).read())\n"
        "thread.start()\nprint('started', flush=True)\nthread.join()\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, jobs / "dequeue,wait"], stdout=subprocess.PIPE) as reader:
        assert reader.stdout is not None
        assert b"started\n" == reader.stdout.readline()
        eventually(lambda: any(is_blocked(int(tid)) for tid in os.listdir(f"/proc/{reader.pid}/task")))
        reader.terminate()
        assert -signal.SIGTERM == reader.wait(SOON)


@pytest.mark.parametrize("opener", ["lives", "has ended"])
def test_a_reader_that_inherited_its_file_can_be_killed(jobs: Path, opener: str) -> None:
    if opener == "lives":
        script = "exec 3< jobs/dequeue,wait; cat <&3 & echo $!; wait"
    else:
        script = "exec 3< jobs/dequeue,wait; (exec setsid cat <&3 > /dev/null) & echo $!"
    with subprocess.Popen(["bash", "-c", script], cwd=jobs.parent, stdout=subprocess.PIPE) as shell:
        assert shell.stdout is not None
        reader = int(shell.stdout.readline())
        eventually(lambda: is_blocked(reader))
        os.kill(reader, signal.SIGTERM)
        eventually(lambda: has_ended(reader))
        shell.kill()


def test_that_the_opener_has_ended_does_not_end_the_wait(jobs: Path, tmp_path: Path) -> None:
    script = f"exec 3< jobs/dequeue,wait,raw; (exec setsid cat <&3 > {tmp_path}/out) & echo $!"
    with subprocess.Popen(["bash", "-c", script], cwd=jobs.parent, stdout=subprocess.PIPE) as shell:
        assert shell.stdout is not None
        reader = int(shell.stdout.readline())
    eventually(lambda: is_blocked(reader))
    time.sleep(1.5)  # longer than the search for readers takes to come round: it must find this one alive
    put(jobs, b"x")

    eventually(lambda: (tmp_path / "out").read_bytes() == b"x")


def test_messages_go_to_readers_in_the_order_in_which_they_came(jobs: Path) -> None:
    with ExitStack() as stack:
        readers = [stack.enter_context(blocked("cat", jobs / "dequeue,wait,raw")) for _ in range(10)]
        for number in range(10):
            put(jobs, b"%d" % number)
        outputs = [reader.communicate(timeout=30)[0] for reader in readers]

    assert [b"%d" % number for number in range(10)] == outputs
    assert (0, 10) == status(jobs)


def test_a_killed_reader_in_the_line_costs_nobody_a_message(jobs: Path) -> None:
    with ExitStack() as stack:
        readers = [stack.enter_context(blocked("cat", jobs / "dequeue,wait,raw")) for _ in range(6)]
        for reader in readers[::2]:
            reader.kill()
            reader.wait(SOON)
        for number in range(3):
            put(jobs, b"%d" % number)
        outputs = [reader.communicate(timeout=30)[0] for reader in readers[1::2]]

    assert [b"0", b"1", b"2"] == outputs


#: What is done before a reader waits and what wakes it then: writes of {id} to files, for a message that is claimed.
FEEDS: dict[str, tuple[list[tuple[str, str]], list[tuple[str, str]]]] = {
    "nack": ([], [("nack", "{id}")]),
    "the end of a lease": ([("extend,lease=0.5", "{id}")], []),
    "the end of a delay": ([("nack,delay=0.5", "{id}")], []),
    "retry": ([("nack,dead", "{id}")], [("ctl", "retry all")]),
    "resume of the queue": ([("ctl", "pause"), ("nack", "{id}")], [("ctl", "resume")]),
    "resume of the message": ([("nack", "{id}"), ("ctl", "pause {id}")], [("ctl", "resume {id}")]),
}


@pytest.mark.parametrize("feed", FEEDS)
def test_whatever_makes_a_message_claimable_wakes_a_reader(jobs: Path, feed: str) -> None:
    put(jobs, b"x")
    held = claim(jobs)
    assert held is not None
    before, then = FEEDS[feed]
    for name, line in before:
        (jobs / name).write_text(line.format(id=held["id"]) + "\n")
    with blocked("cat", jobs / "dequeue,wait,raw") as reader:
        for name, line in then:
            (jobs / name).write_text(line.format(id=held["id"]) + "\n")
        output, _ = reader.communicate(timeout=30)

    assert b"x" == output


def test_a_claim_that_is_undone_wakes_a_reader(jobs: Path) -> None:
    put(jobs, b"x")
    with (jobs / "dequeue").open("rb", buffering=0) as partly:
        partly.read(2)
        with blocked("cat", jobs / "dequeue,wait,raw") as reader:
            partly.close()
            output, _ = reader.communicate(timeout=30)

    assert b"x" == output


def test_wait_returns_when_the_queue_is_complete(jobs: Path) -> None:
    assert b'{"pending":0,"processing":0}\n' == (jobs / "wait").read_bytes()
    put(jobs, b"x", b"y")
    with blocked("cat", jobs / "wait") as reader:
        assert [b"x"] == take_all(jobs)[:1]
        output, _ = reader.communicate(timeout=30)

    assert b'{"pending":0,"processing":0}\n' == output


@pytest.mark.parametrize("end", ["ack", "clear", "cancel", "bury", "ttl"])
def test_whatever_empties_the_queue_ends_a_wait(jobs: Path, end: str) -> None:
    if end == "ttl":
        (jobs / "enqueue,ttl=0.5").write_bytes(b"x")
    else:
        put(jobs, b"x")
    held = claim(jobs) if end in {"ack", "bury"} else None
    with blocked("cat", jobs / "wait") as reader:
        if end == "ack":
            assert held is not None
            (jobs / "ack").write_text(held["id"] + "\n")
        elif end == "clear":
            (jobs / "clear").write_text("\n")
        elif end == "cancel":
            (jobs / "ctl").write_text(f"cancel {json.loads((jobs / 'peek').read_bytes())['id']}\n")
        elif end == "bury":
            assert held is not None
            (jobs / "nack,dead").write_text(held["id"] + "\n")
        output, _ = reader.communicate(timeout=30)

    assert b'{"pending":0,"processing":0}\n' == output


def test_wait_gives_up_after_its_timeout(jobs: Path) -> None:
    put(jobs, b"x")

    with pytest.raises(OSError, match="timed out") as caught:
        (jobs / "wait,timeout=0.2").read_bytes()

    assert errno.ETIMEDOUT == caught.value.errno


@pytest.mark.parametrize("name", ["dequeue,wait", "wait", "events"])
def test_who_does_not_want_to_block_is_told(jobs: Path, name: str) -> None:
    if name == "wait":
        put(jobs, b"x")
    file = os.open(jobs / name, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(BlockingIOError):
            os.read(file, 100)
    finally:
        os.close(file)


def test_a_writer_waits_for_room_and_can_be_killed(jobs: Path) -> None:
    (jobs / "config").write_text("max_messages = 1\non_full = block\n")
    put(jobs, b"first")
    with blocked("bash", "-c", "echo killed > jobs/enqueue", cwd=jobs.parent) as writer:
        writer.terminate()
        assert -signal.SIGTERM == writer.wait(SOON)
    with blocked("bash", "-c", "echo second > jobs/enqueue", cwd=jobs.parent) as writer:
        assert "1\n" == (jobs / "size").read_text()
        assert b"first" == take(jobs)
        assert 0 == writer.wait(30)

    eventually(lambda: status(jobs) == (1, 0))
    assert b"second\n" == take(jobs)


@pytest.mark.parametrize("change", ["max_messages = 2", "on_full = error"])
def test_a_change_of_the_config_frees_a_blocked_writer(jobs: Path, change: str) -> None:
    (jobs / "config").write_text("max_messages = 1\non_full = block\n")
    put(jobs, b"first")
    with blocked("bash", "-c", "echo second > jobs/enqueue", cwd=jobs.parent) as writer:
        (jobs / "config").write_text(change + "\n")
        assert ("max" in change) == (writer.wait(30) == 0)

    eventually(lambda: status(jobs) == (2 if "max" in change else 1, 0))


def test_events_come_as_they_happen(jobs: Path) -> None:
    with blocked("cat", jobs / "events") as reader:
        put(jobs, b"x")
        message = claim(jobs)
        assert message is not None
        (jobs / "nack").write_text(message["id"] + "\n")
        taken = take_all(jobs)
        assert [b"x"] == taken
        assert reader.stdout is not None
        events = [json.loads(reader.stdout.readline()) for _ in range(5)]

    assert ["publish", "dequeue", "nack", "dequeue", "ack"] == [event["event"] for event in events]
    assert {message["id"]} == {event["id"] for event in events}


def test_events_can_be_read_by_a_shell_loop(jobs: Path) -> None:
    script = "while read -r line; do echo got $line; done < jobs/events"
    with blocked("bash", "-c", script, cwd=jobs.parent) as reader:
        assert reader.stdout is not None
        for number in range(3):
            put(jobs, b"%d" % number)
            assert reader.stdout.readline().startswith(b'got {"event":"publish"')


def test_replay_gives_what_is_there_first(jobs: Path) -> None:
    put(jobs, b"x", b"y")
    claim(jobs)
    with blocked("cat", jobs / "events,replay") as reader:
        assert reader.stdout is not None
        events = [json.loads(reader.stdout.readline()) for _ in range(2)]
        put(jobs, b"z")
        events.append(json.loads(reader.stdout.readline()))

    assert ["retained processing", "retained pending", "publish"] == [event["event"] for event in events]


def test_a_slow_reader_of_events_is_told_how_many_it_lost(jobs: Path) -> None:
    with (jobs / "events").open("rb", buffering=0) as file:
        for number in range(700):
            put(jobs, b"%d" % number)
            assert claim(jobs) is not None
        first = file.read(1 << 20).splitlines()[0]

    assert {"dropped": 1400 - 1024} == json.loads(first)


def test_a_stop_ends_all_waits() -> None:
    with mounted("memory:") as mount, ExitStack() as stack:
        queue = mount.path / "jobs"
        queue.mkdir()
        put(queue, b"x")
        held = claim(queue)
        assert held is not None
        readers = [
            stack.enter_context(blocked("cat", queue / name))
            for name in ["dequeue,wait", "wait", "events", "dequeue,wait=100"]
        ]
        began = time.monotonic()
        assert 0 == mount.stop()
        assert time.monotonic() - began < 10
        for reader in readers:
            _, errors = reader.communicate(timeout=30)
            assert 1 == reader.returncode
            assert b"shutdown" in errors or b"abort" in errors or b"not connected" in errors


def test_blocked_readers_that_splice_hold_up_nobody(jobs: Path) -> None:
    """Each is one of the kernel's background requests, and so is the RELEASE that publishes what wakes them."""
    with ExitStack() as stack:
        readers = [stack.enter_context(blocked("busybox", "cat", jobs / "dequeue,wait")) for _ in range(30)]
        for number in range(30):
            put(jobs, b"%d" % number)
        lines = [reader.communicate(timeout=60)[0] for reader in readers]

    assert sorted(map(str, range(30))) == sorted(json.loads(line)["data"] for line in lines)


def test_a_thousand_blocked_readers() -> None:
    """Many threads of a few programs wait; the rest of the mount goes on, each message goes to one, a stop is quick."""
    program = (
        "import os, sys, threading\n"
        "lock = threading.Lock()\n"
        "def read():\n"
        "    file = os.open(sys.argv[1], os.O_RDONLY)\n"
        "    text = os.read(file, 1000)\n"
        "    os.read(file, 1000)\n"
        "    os.close(file)\n"
        "    with lock: os.write(1, text + b'\\n')\n"
        "threading.stack_size(131072)\n"
        "threads = [threading.Thread(target=read, daemon=True) for _ in range(250)]\n"
        "for thread in threads: thread.start()\n"
        "for thread in threads: thread.join()\n"
    )
    with mounted("memory:") as mount:
        queue = mount.path / "jobs"
        queue.mkdir()
        readers = [
            subprocess.Popen(
                [sys.executable, "-c", program, queue / "dequeue,wait,raw"],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            for _ in range(4)
        ]
        try:
            eventually(lambda: sum(threads_blocked(reader.pid) for reader in readers) == 1000)
            for number in range(500):
                put(queue, b"%d" % number)
            eventually(lambda: status(queue) == (0, 500))
            eventually(lambda: sum(threads_blocked(reader.pid) for reader in readers) == 500)
            assert 0 == mount.stop()
            got = b"".join(reader.communicate(timeout=60)[0] for reader in readers).split()
        finally:
            for reader in readers:
                reader.kill()
                reader.communicate()
    assert sorted(b"%d" % number for number in range(500)) == sorted(got)


def threads_blocked(pid: int) -> int:
    """Return how many threads of a process wait for the daemon's answer."""
    return sum(is_blocked(int(tid)) for tid in os.listdir(f"/proc/{pid}/task"))
