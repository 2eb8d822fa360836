"""`queuefs top` in a real terminal, on a real mount."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from queuefs.cli.exits import Exit
from tests.cli.commands import QUEUEFS, answer, environment, refusal
from tests.cli.terminal import Terminal, terminal
from tests.support.mount import mounted
from tests.support.queue import config, dead, put, status, take
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.mount import Mount

UP, DOWN, ENTER, ESCAPE = "\x1b[A", "\x1b[B", "\r", "\x1b"

#: A colour, or another colour behind something else.
COLOUR = re.compile(rb"\x1b\[(?:[0-9;]*;)?(?:3[0-7]|9[0-7]|38;)[0-9;]*m")


_numbers = itertools.count(1)


def make_queues(directory: Path) -> None:
    """Make a few queues."""
    for name in ("jobs", "jobs/email", "work"):
        (directory / name).mkdir()


@pytest.fixture
def place(shared_mount: Mount) -> Path:
    """A corner of a mount with a few queues, and nothing else."""
    path = shared_mount.path / f"t{next(_numbers)}"
    path.mkdir()
    make_queues(path)
    return path


@pytest.fixture
def mount() -> Iterator[Mount]:
    """A mount of its own with a few queues, and nothing else."""
    with mounted() as mount:
        make_queues(mount.path)
        yield mount


@contextmanager
def top(
    path: Path, *, columns: int = 80, lines: int = 24, interval: str = "0.2", **changes: str | None
) -> Iterator[Terminal]:
    """Run `queuefs top` and wait for its first table."""
    changed = environment(**{"TERM": "xterm-256color", "NO_COLOR": None, "LC_ALL": "C.UTF-8", **changes})
    command: list[str | Path] = [*QUEUEFS, "top", path, "--interval", interval]
    with terminal(command, environment=changed, columns=columns, lines=lines) as shown:
        shown.wait_for("all seen")
        yield shown


def row(text: str, name: str) -> list[str]:
    """Return the cells of a queue's row behind its name; the mark before it if it is selected."""
    for line in text.splitlines():
        found = re.match(rf"([> ][P ]) (?:t\d+/)?{re.escape(name)} +(.*)", line)
        if found:
            return [found[1].strip(), *found[2].split()]
    return []


def numbers(text: str, name: str) -> list[str]:
    """Return how many are pending, in processing and dead."""
    return row(text, name)[1:4]


# The table ----------------------------------------------------------------------------------------------------------


def test_the_queues_and_their_counts_are_shown_and_follow_what_happens(place: Path) -> None:
    jobs = place / "jobs"
    put(jobs, b"1", b"2", b"3")
    (jobs / "dequeue").read_bytes()
    with top(place) as shown:
        shown.wait_for(lambda text: numbers(text, "jobs") == ["2", "1", "0"])
        assert "3 queues, 2 pending, 1 processing, 0 dead in" in shown.lines[0]
        assert ["QUEUE", "PEND", "PROC", "DEAD", "OLD", "IN/S", "OUT/S", "DEPTH", "RATE"] == shown.lines[1].split()
        assert ["0", "0", "0"] == numbers(shown.text, "jobs/email")
        assert all(len(line) <= 80 for line in shown.lines)

        put(jobs, b"4")
        (jobs / "nack,dead").write_bytes((jobs / "dequeue,id").read_bytes())
        shown.wait_for(lambda text: numbers(text, "jobs") == ["2", "1", "1"])
        (place / "new").mkdir()
        shown.wait_for(lambda text: numbers(text, "new") == ["0", "0", "0"])
        (place / "new").rename(place / "newer")
        shown.wait_for(lambda text: not row(text, "new") and row(text, "newer") != [])
        (place / "newer").rmdir()
        shown.wait_for(lambda text: "newer" not in text)


def test_rates_and_sparklines_follow_what_happens(place: Path) -> None:
    work = place / "work"
    with top(place) as shown:

        def is_busy(text: str) -> bool:
            put(work, b"x", b"y")
            take(work)
            cells = row(text, "work")
            rates = [cell not in {"0", "-"} for cell in cells[5:7]]
            return rates == [True, True] and any(step in "".join(cells[7:]) for step in "▄▅▆▇█")

        shown.wait_for(is_busy)


@pytest.mark.parametrize(("columns", "heads"), [(80, 9), (72, 7), (60, 7), (40, 5), (36, 4), (20, 1)])
def test_it_fits_terminals_of_any_width(place: Path, columns: int, heads: int) -> None:
    (place / ("long" * 20)).mkdir()
    put(place / "jobs", b"x")
    with top(place, columns=max(40, columns)) as shown:
        shown.resize(columns, 24)
        shown.wait_for(lambda text: heads == len(text.splitlines()[1].split()))
        assert any(re.match(r"... *t\d+/", line) for line in shown.lines)
        assert all(len(line) <= columns for line in shown.lines)
        if columns >= 40:
            shown.wait_for(lambda text: numbers(text, "jobs") == ["1", "0", "0"])


def test_it_fits_a_terminal_of_few_lines(place: Path) -> None:
    with top(place, lines=4) as shown:
        assert "jobs" in shown.lines[2]
        shown.type("jj")
        shown.wait_for(lambda text: "work" in text.splitlines()[2])
        assert "? help" in shown.lines[3]
        shown.resize(80, 2)
        shown.type("k")
        shown.resize(80, 24)
        shown.wait_for(lambda text: row(text, "jobs/email")[:1] == [">"])


def test_no_name_breaks_the_screen(place: Path) -> None:
    for name in ("\x1b[2Jwiped", "new\nline", "[red]markup", "日本語日本語", ":smile:"):
        (place / "jobs" / "email" / name).mkdir()
    with top(place) as shown:
        for name in ("\\x1b[2J", "new\\nline", "[red]"):
            assert f"jobs/email/{name}" in shown.text
        assert row(shown.text, "jobs/email/:smile:")
        assert row(shown.text, "work")


# Without colours, without anything ----------------------------------------------------------------------------------


def test_it_has_colours_only_where_they_are_wanted(place: Path) -> None:
    put(place / "jobs", b"x")
    (place / "jobs" / "nack,dead").write_bytes((place / "jobs" / "dequeue,id").read_bytes())
    with top(place) as shown:
        shown.wait_for(lambda text: numbers(text, "jobs") == ["0", "0", "1"])
        assert COLOUR.search(shown.written)
    with top(place, NO_COLOR="1") as shown:
        shown.wait_for(lambda text: numbers(text, "jobs") == ["0", "0", "1"])
        assert not COLOUR.search(shown.written)
        assert ">" in shown.text


def test_a_dumb_terminal_gets_lines_and_nothing_else(place: Path) -> None:
    with top(place, TERM="dumb") as shown:
        shown.type("j")
        shown.wait_for(lambda text: row(text, "jobs/email")[:1] == [">"])
        shown.type("q")
        assert 0 == shown.wait_for_end()
        assert b"\x1b" not in shown.written


def test_a_terminal_without_unicode_gets_ascii(place: Path) -> None:
    (place / "é").mkdir()
    with top(place, LC_ALL="POSIX", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0") as shown:
        shown.type("q")
        assert 0 == shown.wait_for_end()
        assert shown.written.isascii()


# Keys ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("down", "up"), [("j", "k"), (DOWN, UP)])
def test_rows_are_selected(place: Path, down: str, up: str) -> None:
    with top(place) as shown:
        assert ">" == row(shown.text, "jobs")[0]
        shown.type(down + down + down)
        shown.wait_for(lambda text: row(text, "work")[0] == ">")
        shown.type(up)
        shown.wait_for(lambda text: row(text, "jobs/email")[0] == ">")


def test_p_pauses_and_resumes(place: Path) -> None:
    with top(place) as shown:
        shown.type("jjp")
        shown.wait_for(lambda text: row(text, "work")[0] == ">P")
        assert "work is paused" in shown.lines[-1]
        assert "true" == config(place / "work")["paused"]
        shown.type("p")
        shown.wait_for(lambda text: row(text, "work")[0] == ">")
        assert "false" == config(place / "work")["paused"]


def test_r_retries_all_dead(place: Path) -> None:
    jobs = place / "jobs"
    put(jobs, b"1", b"2")
    (jobs / "nack,dead").write_bytes((jobs / "dequeue,id,count=2").read_bytes())
    with top(place) as shown:
        shown.type("r")
        shown.wait_for("jobs: 2 dead retried")
        assert [] == dead(jobs)
        assert (2, 0) == status(jobs)
        shown.type("r")
        shown.wait_for("jobs has no dead messages")


def test_c_clears_if_that_is_confirmed(place: Path) -> None:
    jobs = place / "jobs"
    put(jobs, b"1", b"2")
    (jobs / "dequeue").read_bytes()
    with top(place) as shown:
        for no in ("n", "q", ENTER):
            shown.type("c")
            shown.wait_for("/jobs: drop 1 pending and 1 in processing? y/n")
            shown.type(no)
            shown.wait_for("nothing was cleared")
        assert (1, 1) == status(jobs)
        shown.type("c")
        shown.wait_for("y/n")
        shown.type("y")
        shown.wait_for("jobs is cleared")
        assert (0, 0) == status(jobs)


def test_enter_looks_into_a_queue(place: Path) -> None:
    jobs = place / "jobs"
    put(jobs, b"1", b"22", b"333")
    first, second = (jobs / "dequeue,id,count=2").read_text().split()
    (third,) = os.listdir(jobs / "pending")
    (jobs / "nack,dead,reason=bad luck").write_text(f"{second}\n")
    with top(place) as shown:
        shown.type(ENTER)
        shown.wait_for("FIRST MESSAGES")
        for word in ("order=fifo", "max_message_bytes=67108864", "pending=1", "enqueued=3", "bad luck"):
            assert word in shown.text
        states = [line.split()[:2] for line in shown.lines if re.match(r" *[0-9]+ ", line)]
        assert [[first, "processing"], [third, "pending"], [second, "dead"]] == states
        put(jobs, b"4444")
        shown.wait_for("pending=2")  # it goes on looking
        shown.type("p")
        shown.wait_for("paused=true")
        shown.type("q")
        shown.wait_for(lambda text: row(text, "jobs")[:1] == [">P"])
        shown.type(ENTER)
        shown.wait_for("FIRST MESSAGES")
        shown.type(ESCAPE)
        shown.wait_for("QUEUE")


def test_a_queue_that_goes_away_while_it_is_looked_into_is_said(place: Path) -> None:
    with top(place) as shown:
        shown.type("jj" + ENTER)
        shown.wait_for("FIRST MESSAGES")
        (place / "work").rmdir()
        shown.wait_for("No such file or directory")
        shown.type("pq")
        shown.wait_for("QUEUE")


def test_s_sorts_by_the_next_column(place: Path) -> None:
    put(place / "work", b"1", b"2")
    put(place / "jobs" / "email", b"3")
    with top(place) as shown:
        shown.type("js")
        shown.wait_for("s sort: pending")

        def order(text: str) -> list[str]:
            return [line[3:].split()[0].partition("/")[2] for line in text.splitlines()[2:5]]

        assert ["work", "jobs/email", "jobs"] == order(shown.text)
        assert ">" == row(shown.text, "jobs/email")[0]
        shown.type("ssssss")
        shown.wait_for("s sort: name")
        assert ["jobs", "jobs/email", "work"] == order(shown.text)


def test_a_question_mark_shows_the_keys(place: Path) -> None:
    with top(place) as shown:
        shown.type("?")
        shown.wait_for("retry all its dead messages")
        shown.type("q")
        shown.wait_for("QUEUE")
        shown.type("x\x1b[21~\xff")  # what means nothing does nothing
        shown.type("q")
        assert 0 == shown.wait_for_end()


def test_what_this_user_may_not_do_is_said(place: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("root's own mounts let other users in")
    (place / "work").chmod(0o755)
    (place / "jobs").chmod(0o700)
    os.chmod(place.parent.parent, 0o755)
    other = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    command: list[str | Path] = [*other, *QUEUEFS, "top", place, "--interval", "0.2"]
    with terminal(command, environment=environment(TERM="xterm", LC_ALL="C.UTF-8")) as shown:
        shown.wait_for(lambda text: numbers(text, "work") == ["0", "0", "0"])
        assert "?" == row(shown.text, "jobs")[1]
        shown.type("jjjp")
        shown.wait_for("work: Permission denied")


# The end, and the terminal afterwards -------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["q", ESCAPE, "\x03", signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_terminal_is_as_it_was(place: Path, way: str | signal.Signals) -> None:
    with shell() as shown:
        before = shown.modes
        shown.type(f"{' '.join(QUEUEFS)} top {place} --interval 0.2\r")
        shown.wait_for("all seen")
        assert before != shown.modes
        if isinstance(way, str):
            shown.type(way)
        else:
            (pid,) = children_of(shown.pid)
            os.kill(pid, way)
        shown.wait_for(lambda _text: b"$ " in shown.written.partition(b"\x1b[?1049l")[2])
        shown.type("echo rea''dy $?\r")
        shown.wait_for(lambda text: re.search(r"ready \d", text) is not None)
        number = signal.SIGINT if way == "\x03" else way
        assert f"ready {0 if isinstance(number, str) else 128 + number}" in shown.text
        assert before == shown.modes
        assert shown.written.rindex(b"\x1b[?1049l") > shown.written.rindex(b"\x1b[?1049h")
        assert shown.written.rindex(b"\x1b[?25h") > shown.written.rindex(b"\x1b[?25l")


@contextmanager
def shell() -> Iterator[Terminal]:
    """Run a shell that leaves the terminal's settings to the programs it starts."""
    with terminal(["dash", "-i"], environment=environment(TERM="xterm", LC_ALL="C.UTF-8", PS1="$ ")) as shown:
        shown.wait_for("$")
        yield shown


def children_of(pid: int) -> list[int]:
    """Return the children of a process."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def test_an_error_leaves_the_terminal_as_it_was(place: Path) -> None:
    script = f"""
from queuefs.view import watcher
def fails(self, shown):
    if shown:
        raise ZeroDivisionError("oops")
    return good(self, shown)
good, watcher.Watcher.round = watcher.Watcher.round, fails
from queuefs.cli import main
main(["top", {str(place)!r}])
"""
    with terminal([QUEUEFS[0], "-c", script], environment=environment(TERM="xterm")) as shown:
        before = shown.modes
        assert 1 == shown.wait_for_end()
        assert "ZeroDivisionError: oops" in shown.text
        assert before == shown.modes
        assert shown.written.rindex(b"\x1b[?1049l") > shown.written.rindex(b"\x1b[?1049h")


def test_it_stops_and_goes_on(place: Path) -> None:
    with shell() as shown:
        before = shown.modes
        shown.type(f"{' '.join(QUEUEFS)} top {place} --interval 0.2\r")
        shown.wait_for("all seen")
        shown.type("\x1a")
        shown.wait_for("Stopped")
        assert before == shown.modes
        shown.type("fg\r")
        shown.wait_for(lambda text: "all seen" in text.splitlines()[-1])
        assert before != shown.modes
        shown.type("jp")
        shown.wait_for("jobs/email is paused")
        shown.type("q")
        eventually(lambda: before == shown.modes)


# The mount goes away ------------------------------------------------------------------------------------------------


def test_a_mount_that_goes_away_and_comes_back_is_waited_for(mount: Mount) -> None:
    put(mount.path / "jobs", b"x")
    with top(mount.path) as shown:
        shown.wait_for(lambda text: numbers(text, "jobs") == ["1", "0", "0"])
        mount.kill()
        shown.wait_for("Away since ")
        shown.wait_for("its daemon is gone")
        assert row(shown.text, "jobs")  # as it was
        shown.type("p")
        shown.wait_for("jobs: ")
        mount.remount()  # on memory: everything is new
        shown.wait_for("the mount is back")
        shown.wait_for(lambda text: "0 queues" in text)
        (mount.path / "fresh").mkdir()
        shown.wait_for(lambda text: numbers(text, "fresh") == ["0", "0", "0"])

        assert 0 == mount.stop()
        shown.wait_for("nothing is mounted there")
        shown.type("q")
        assert 0 == shown.wait_for_end()
        mount.remount()


def test_a_daemon_that_does_not_answer_is_said_and_q_still_works(mount: Mount) -> None:
    with top(mount.path) as shown:
        os.kill(mount.pid, signal.SIGSTOP)
        try:
            shown.wait_for("The mount has not answered for ")
            shown.type("j")
            shown.wait_for(lambda text: row(text, "jobs/email")[:1] == [">"])
            shown.type("q")
            assert 0 == shown.wait_for_end()
        finally:
            os.kill(mount.pid, signal.SIGCONT)


# Once ---------------------------------------------------------------------------------------------------------------


def test_once_prints_plain_text_and_ends(place: Path) -> None:
    put(place / "jobs" / "email", b"x", b"y")
    (place / "jobs" / "email" / "dequeue").read_bytes()
    (place / "work" / "ctl").write_text("pause\n")

    title, head, *lines = answer("top", "--once", place).decode().splitlines()

    assert re.fullmatch(rf"3 queues in {place} at \d\d:\d\d:\d\d", title)
    assert ["QUEUE", "PENDING", "PROCESSING", "DEAD", "OLDEST"] == head.split()
    assert [
        ["jobs", "0", "0", "0", "-"],
        ["jobs/email", "1", "1", "0", "0s"],
        ["work", "(paused)", "0", "0", "0", "-"],
    ] == [line.partition("/")[2].split() for line in lines]


def test_a_mount_is_shown_whole(shared_mount: Mount, place: Path) -> None:
    names = [line.split()[0] for line in answer("top", "--once", shared_mount.path).decode().splitlines()[2:]]

    assert {place.name, f"{place.name}/jobs", f"{place.name}/jobs/email", f"{place.name}/work"} <= set(names)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["/"], Exit.NO_MOUNT_POINT, "is not in a mount"),
        ([], Exit.USAGE, "MOUNT"),
        (["MOUNT"], Exit.USAGE, "no terminal; --once"),
        (["MOUNT", "--interval", "0"], Exit.USAGE, "--interval"),
        (["MOUNT", "--interval", "x"], Exit.USAGE, "--interval"),
    ],
)
def test_bad_input_is_one_line(place: Path, arguments: list[str], code: Exit, words: str) -> None:
    named = [word.replace("MOUNT", str(place)) for word in arguments]

    assert words in refusal("top", *named, code=code)


# Many queues --------------------------------------------------------------------------------------------------------

MANY = 10_000


def test_ten_thousand_queues_cost_little(mount: Mount) -> None:
    """Its daemon answers it for about a tenth of the time, and what is on the screen is up to date all the same."""
    for number in range(MANY):
        (mount.path / f"q{number:05}").mkdir()
    command: list[str | Path] = [*QUEUEFS, "top", mount.path, "--interval", "0.5"]
    with terminal(command, environment=environment(TERM="xterm", LC_ALL="C.UTF-8")) as shown:
        shown.wait_for(f"{MANY + 3} queues, ")
        shown.type("\x1b[F")
        shown.wait_for(lambda text: row(text, "work")[:1] == [">"])
        put(mount.path / f"q{MANY - 1:05}", b"x")
        shown.wait_for(lambda text: numbers(text, f"q{MANY - 1:05}") == ["1", "0", "0"])
        before = _cpu_of(mount.pid), _cpu_of(shown.pid)
        begun = _looks(shown)
        shown.wait_for(lambda _text: _looks(shown) >= begun + 6)
        spent = [_cpu_of(pid) - used for pid, used in zip((mount.pid, shown.pid), before, strict=True)]
        assert spent[0] < 0.5 * 3
        shown.type("q")
        assert 0 == shown.wait_for_end()


def _cpu_of(pid: int) -> float:
    """Return the seconds of CPU that a process has used."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _looks(shown: Terminal) -> int:
    """Return how often the screen has been drawn."""
    return shown.written.count(b"\x1b[H")


def test_the_command_is_there() -> None:
    assert b"--once" in subprocess.run([*QUEUEFS, "top", "--help"], capture_output=True, check=True).stdout
