"""`queuefs ls` on a real mount."""

from __future__ import annotations

import json
import os
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from queuefs.cli.exits import Exit
from tests.cli.commands import QUEUEFS, answer, objects, refusal, run
from tests.support.mount import mounted
from tests.support.queue import claim, put, stats
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.mount import Mount


@pytest.fixture
def tree() -> Iterator[Path]:
    """A mount with a few queues and nothing else."""
    with mounted() as mount:
        for name in ("jobs", "jobs/email", "jobs/email/later", "work"):
            (mount.path / name).mkdir()
        yield mount.path


def rows(text: bytes) -> dict[str, list[str]]:
    """Return a table's cells by what is first in each line."""
    head, *lines = text.decode().splitlines()
    assert head
    return {line.split()[0]: line.split()[1:] for line in lines}


# Queues -------------------------------------------------------------------------------------------------------------


def test_the_queues_of_a_mount_are_listed_a_line_each(tree: Path) -> None:
    put(tree / "jobs", b"1", b"2")
    claim(tree / "jobs")

    text = answer("ls", tree)

    assert b"QUEUE  PENDING  PROCESSING  DELAYED  PAUSED  DEAD  DONE  OLDEST" == text.splitlines()[0]
    assert {"jobs": ["1", "1", "0", "0", "0", "0", "0s"], "work": ["0", "0", "0", "0", "0", "0", "-"]} == rows(text)


def test_every_count_is_in_its_column(tree: Path) -> None:
    queue = tree / "jobs"
    put(queue, *(b"%d" % number for number in range(12)))
    (queue / "dequeue,raw,ack,count=2").read_bytes()
    (queue / "dequeue,count=3").read_bytes()
    (queue / "nack,dead").write_bytes((queue / "dequeue,id,count=1").read_bytes())
    (queue / "enqueue,delay=60").write_text("x")
    for message in os.listdir(queue / "pending")[:2]:
        (queue / "ctl").write_text(f"pause {message}\n")

    assert ["7", "3", "1", "2", "1", "2", "0s"] == rows(answer("ls", queue))["jobs"]


def test_a_paused_queue_is_marked(tree: Path) -> None:
    (tree / "work" / "ctl").write_text("pause\n")

    assert "all" == rows(answer("ls", tree))["work"][3]
    assert [False, True] == [one["queue_paused"] for one in objects(answer("ls", "--json", tree))]


def test_the_oldest_ones_age_grows(tree: Path) -> None:
    put(tree / "jobs", b"x")

    eventually(lambda: rows(answer("ls", tree))["jobs"][-1] in {"1s", "2s"})


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["."], ["jobs", "work"]),
        (["-r", "."], ["jobs", "jobs/email", "jobs/email/later", "work"]),
        (["jobs"], ["jobs"]),
        (["-r", "jobs"], ["jobs", "jobs/email", "jobs/email/later"]),
        (["work", "jobs/email"], ["work", "jobs/email"]),
        (["-r", "jobs/email", "jobs"], ["jobs/email", "jobs/email/later", "jobs"]),
    ],
)
def test_which_queues_are_listed(tree: Path, arguments: list[str], names: list[str]) -> None:
    named = [word if word.startswith("-") else tree / word for word in arguments]

    assert names == list(rows(answer("ls", *named)))
    assert names == [one["queue"] for one in objects(answer("ls", "--json", *named))]


def test_without_a_path_it_is_the_mount_of_the_working_directory(tree: Path, tmp_path: Path) -> None:
    assert ["jobs", "work"] == list(rows(answer("ls", cwd=tree / "jobs" / "email")))
    line = refusal("ls", cwd=tmp_path, code=Exit.NO_MOUNT_POINT)
    assert "the working directory is in no mount of QueueFS; name a PATH (mounts: " in line
    assert str(tree) in line


def test_queues_of_two_mounts_are_listed_by_their_paths(tree: Path, shared_mount: Mount, jobs: Path) -> None:
    assert {str(tree / "jobs"), str(tree / "work"), str(jobs)} <= set(rows(answer("ls", tree, shared_mount.path)))


def test_a_mount_can_be_named_by_a_symbolic_link_and_be_bound_elsewhere(tree: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tree / "jobs")
    assert ["jobs", "jobs/email", "jobs/email/later"] == list(rows(answer("ls", "-r", link)))

    bound = tmp_path / "bound"
    bound.mkdir()
    if subprocess.run(["mount", "--bind", tree / "jobs", bound], check=False, stderr=subprocess.DEVNULL).returncode:
        pytest.skip("this user may not bind directories")
    try:
        assert ["jobs/email", "jobs/email/later"] == list(rows(answer("ls", "-r", bound)))[1:]
        assert b"1" != answer("put", bound / "email", stdin=b"x")
    finally:
        subprocess.run(["umount", bound], check=True)
    assert 1 == stats(tree / "jobs" / "email")["pending"]


def test_an_empty_mount_prints_nothing() -> None:
    with mounted() as mount:
        assert b"" == answer("ls", mount.path)


def test_json_has_all_that_stats_has(tree: Path) -> None:
    put(tree / "jobs", b"x")
    found = objects(answer("ls", "--json", tree))[0]

    expected = stats(tree / "jobs")
    assert {"queue": "jobs", "path": str(tree / "jobs"), "queue_paused": False} == {
        name: value for name, value in found.items() if name not in expected
    }
    assert {**expected, "oldest_pending_seconds": 0} == {
        **{name: value for name, value in found.items() if name in expected},
        "oldest_pending_seconds": 0,
    }


NAMES = ["new\nline", "\x1b[31mred", "tab\t", "back\\slash", "\u202eright", "bell\x07", "日本語", "é", "a b", "\x9b1m"]


def test_no_name_breaks_the_terminal(tree: Path) -> None:
    for name in NAMES:
        (tree / "work" / name).mkdir()

    text = answer("ls", "-r", tree / "work").decode()

    lines = text.splitlines()
    assert 2 + len(NAMES) == len(lines)
    assert text.replace("\n", "").isprintable()
    for shown in ("new\\nline", "\\x1b[31mred", "tab\\t", "back\\\\slash", "\\u202eright", "日本語", "a b"):
        assert any(line.startswith(f"work/{shown} ") for line in lines), shown
    assert {f"work/{name}" for name in NAMES} | {"work"} == {
        one["queue"] for one in objects(answer("ls", "-r", "--json", tree / "work"))
    }


def test_wide_characters_keep_columns_aligned(tree: Path) -> None:
    (tree / "work" / "日本語").mkdir()
    (tree / "work" / "abcdef").mkdir()

    wide, narrow = (line for line in answer("ls", "-r", tree / "work").decode().splitlines() if "/" in line)

    assert narrow.index("0") - len("日本語") == wide.index("0") or wide.index("0") - narrow.index("0") in {3, -3}


def test_a_queue_that_may_not_be_read_hides_no_other(tree: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("root's own mounts let other users in")
    (tree / "jobs").chmod(0o700)
    script = 'cd /; exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"'
    os.chmod(tree.parent, 0o755)

    done = subprocess.run(["sh", "-c", script, "sh", *QUEUEFS, "ls", tree], capture_output=True, check=False)

    assert Exit.NOT_PERMITTED == done.returncode, done
    assert ["work"] == list(rows(done.stdout))
    assert f"queuefs: {tree}/jobs: permission denied\n".encode() == done.stderr


def test_a_reader_that_has_seen_enough_ends_it_quietly(tree: Path) -> None:
    command = " ".join([*QUEUEFS, "ls", "-r", str(tree), "| true; echo ${PIPESTATUS[0]}"])
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)

    assert done.stderr == b""
    assert done.stdout in {b"141\n", b"0\n"}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["nosuch"], Exit.NO_MOUNT_POINT),
        (["/"], Exit.NO_MOUNT_POINT),
        (["jobs/pending"], Exit.NO_MOUNT_POINT),
        (["-n", "-1"], Exit.USAGE),
        (["-n", "x"], Exit.USAGE),
        (["--nosuch"], Exit.USAGE),
    ],
)
def test_bad_input_is_one_line(tree: Path, arguments: list[str], code: Exit) -> None:
    refusal("ls", *arguments, cwd=tree, code=code)


def test_a_daemon_that_is_gone_is_said() -> None:
    with mounted() as mount:
        (mount.path / "jobs").mkdir()
        mount.kill()

        assert "daemon of this mount is gone" in refusal("ls", mount.path, code=Exit.NO_STORE)


# Messages -----------------------------------------------------------------------------------------------------------


def states(text: bytes) -> list[tuple[str, str]]:
    """Return id and state of each message."""
    return [(one["id"], one["state"]) for one in objects(text)]


@pytest.fixture
def mixed(tree: Path) -> tuple[Path, list[tuple[str, str]]]:
    """A queue with messages of every state, and what is expected of a list of them."""
    queue = tree / "jobs"
    for number in range(1, 5):
        put(queue, b"%d" % number)
        (queue / "dequeue,raw,ack").read_bytes()
    put(queue, b"5", b"6")
    (queue / "nack,dead,reason=bad").write_bytes((queue / "dequeue,id,count=2").read_bytes())
    put(queue, b"7", b"8")
    (queue / "dequeue,id,count=2,lease=100").read_bytes()
    put(queue, b"9", b"10")
    (queue / "enqueue,priority=5,key=k").write_text("11")
    expected = [("7", "processing"), ("8", "processing")]
    expected += [("11", "pending"), ("10", "pending"), ("9", "pending")]
    expected += [("6", "dead"), ("5", "dead")]
    return queue, [*expected, ("4", "done"), ("3", "done"), ("2", "done"), ("1", "done")]


def test_what_runs_comes_first_and_what_is_over_last(mixed: tuple[Path, list[tuple[str, str]]]) -> None:
    queue, expected = mixed

    assert expected == states(answer("ls", "-m", "--json", queue))
    lines = answer("ls", "-m", queue).decode().splitlines()
    assert expected == [tuple(line.split()[:2]) for line in lines[1:]]


@pytest.mark.parametrize("count", [1, 2, 3, 6, 8, 11, 12, 1000])
def test_a_limit_cuts_the_history_first(mixed: tuple[Path, list[tuple[str, str]]], count: int) -> None:
    queue, expected = mixed

    assert expected[:count] == states(answer("ls", "-m", "-n", str(count), "--json", queue))


def test_without_a_limit_all_are_listed(tree: Path) -> None:
    (tree / "jobs" / "enqueue,lines").write_text("x\n" * 200)

    assert 64 == len(states(answer("ls", "-m", "--json", tree / "jobs")))
    found = states(answer("ls", "-m", "-n", "0", "--json", tree / "jobs"))
    assert [(str(number), "pending") for number in range(200, 0, -1)] == found


def test_each_message_says_what_is_known_of_it(mixed: tuple[Path, list[tuple[str, str]]]) -> None:
    queue, _ = mixed
    found = {one["id"]: one for one in objects(answer("ls", "-m", "--json", queue))}

    assert ("7.1", 1, 1) == (found["7"]["receipt"], found["7"]["attempt"], found["7"]["size"])
    assert 90 < found["7"]["lease_until"] - time.time() < 110
    assert (5, "k", 2) == (found["11"]["priority"], found["11"]["key"], found["11"]["size"])
    assert "bad" == found["6"]["reason"]
    assert ("succeeded", 1) == (found["4"]["status"], found["4"]["attempt"])
    assert abs(found["4"]["finished_at"] - time.time()) < 60
    assert {"jobs"} == {one["queue"] for one in found.values()}
    lines = answer("ls", "-m", queue).decode().splitlines()
    assert lines[0].split() == ["ID", "STATE", "SIZE", "PRIORITY", "ATTEMPT", "AGE", "REMARKS"]
    assert lines[1].endswith("lease 1m")
    assert lines[3].endswith("key k")
    assert lines[6].endswith("reason bad")
    assert lines[8].endswith("succeeded")


def test_no_reason_breaks_the_terminal(tree: Path) -> None:
    queue = tree / "jobs"
    put(queue, b"x")
    (queue / "nack,dead,reason=\x1b[31m\nred").write_bytes((queue / "dequeue,id").read_bytes())

    text = answer("ls", "-m", queue).decode()

    assert "reason \\x1b[31m\\nred" in text
    assert 2 == len(text.splitlines())


def test_messages_of_several_queues_have_headings(mixed: tuple[Path, list[tuple[str, str]]], tree: Path) -> None:
    lines = answer("ls", "-m", "-n", "1", mixed[0], tree / "work").decode().splitlines()

    assert ["jobs:", "work:"] == [line for line in lines if line.endswith(":")]


def test_delays_and_pauses_are_remarks(tree: Path) -> None:
    (tree / "jobs" / "enqueue,delay=3600").write_text("x")
    put(tree / "jobs", b"y")
    (tree / "jobs" / "ctl").write_text("pause 2\n")

    paused, delayed = answer("ls", "-m", tree / "jobs").decode().splitlines()[1:]

    assert paused.endswith("paused")
    assert delayed.endswith("due in 59m")


def test_a_long_queue_is_listed_in_little_memory(tree: Path) -> None:
    """All names pass by, since the newest come last; none but those that are shown are kept."""
    (tree / "jobs" / "enqueue,lines").write_text("x\n" * 100_000)
    script = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
"""
    command: list[str | Path] = [QUEUEFS[0], "-c", script, *QUEUEFS, "ls", "-m", tree / "jobs"]
    done = subprocess.run(command, capture_output=True, check=True)

    assert int(done.stdout) < 40 * 1024 * 1024
    assert ("100000", "pending") == states(answer("ls", "-m", "-n", "1", "--json", tree / "jobs"))[0]


def test_queues_that_go_away_meanwhile_are_left_out(tree: Path) -> None:
    script = f"""
import os
from queuefs.view import queues
below = queues.children
def racing(directory):
    found = below(directory)
    if os.path.isdir({str(tree / "work")!r}):
        os.rmdir({str(tree / "work")!r})
    return found
queues.children = racing
from queuefs.cli import main
main(["ls", "-r", {str(tree)!r}])
"""
    done = subprocess.run([QUEUEFS[0], "-c", script], capture_output=True, check=False)

    assert (0, b"") == (done.returncode, done.stderr)
    assert ["jobs", "jobs/email", "jobs/email/later"] == list(rows(done.stdout))
    assert json.dumps(["jobs"]) == json.dumps([one["queue"] for one in objects(run("ls", "--json", tree).stdout)])
