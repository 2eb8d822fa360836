"""Completion, in real shells in real terminals."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from queuefs.cli.candidates import MOUNT_OPTIONS
from queuefs.cli.exits import Exit
from queuefs.errors import BadValue
from queuefs.settings import parse_options
from tests.cli.commands import QUEUEFS, answer, environment, refusal
from tests.cli.terminal import Terminal, terminal
from tests.support.mount import mounted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SHELLS = {"bash": ["bash", "--norc"], "zsh": ["zsh", "-f"], "fish": ["fish", "--no-config"]}

LOAD = {
    "bash": 'eval "$(queuefs completion bash)"',
    "zsh": 'eval "$(queuefs completion zsh)"',
    # without what fish shows of its history behind the line
    "fish": "set -g fish_autosuggestion_enabled 0; queuefs completion fish | source",
}

#: Says that what was typed before it is done; it is not in what was typed.
READY = "echo rea''dy"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory with a mount in it, named `mnt`, and a program `queuefs` in `bin`."""
    path = tmp_path_factory.mktemp("base")
    (path / "bin").mkdir()
    program = path / "bin" / "queuefs"
    program.write_text(f'#!/bin/sh\nexec {" ".join(QUEUEFS)} "$@"\n')
    program.chmod(0o755)
    with mounted() as mount:
        (path / "mnt").symlink_to(mount.path)
        for name in ("jobs", "jobs/email", "two words", "jumps", "col:on", "eq=ual", ".hidden", "new\nline"):
            (mount.path / name).mkdir()
        (path / "file.txt").touch()
        (path / "directory").mkdir()
        yield path


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, base: Path) -> Iterator[Terminal]:
    """A shell that has read its script, in the directory with the mount."""
    name = request.param
    if shutil.which(name) is None:
        pytest.skip(f"there is no {name} here")
    changed = environment(
        PATH=f"{base / 'bin'}:/usr/bin:/bin",
        HOME=str(base),
        PS1="$ ",
        TERM="xterm",
        LC_ALL="C.UTF-8",
        ZDOTDIR=str(base),
    )
    with terminal(SHELLS[name], environment=changed, cwd=base, columns=160) as shown:
        shown.type(f"{LOAD[name]}\r{READY}\r")
        shown.wait_for("\nready")
        yield shown
    shutil.rmtree(base / ".local", ignore_errors=True)


#: What is typed before the tab, and what the line is then; one way to escape a name is as good as another.
WORDS = [
    ("queuefs umo", "queuefs umount"),
    ("queuefs comp", "queuefs completion"),
    ("queuefs completion fi", "queuefs completion fish"),
    ("queuefs put mn", "queuefs put mnt/"),
    ("queuefs put mnt/jum", "queuefs put mnt/jumps/"),
    ("queuefs get mnt/jobs/", "queuefs get mnt/jobs/email/"),
    ("queuefs ls mnt/tw", "queuefs ls mnt/two\\ words/"),
    ("queuefs ls ~/mnt/jum", "queuefs ls ~/mnt/jumps/"),
    ("queuefs rm mnt/jobs mnt/jum", "queuefs rm mnt/jobs mnt/jumps/"),
    ("queuefs rm -r mnt/jum", "queuefs rm -r mnt/jumps/"),
    ("queuefs put mnt/jobs fil", "queuefs put mnt/jobs file.txt"),
    ("queuefs put --prio", "queuefs put --priority"),
    ("queuefs umount mn", "queuefs umount mnt/"),
    ("queuefs mount dire", "queuefs mount directory/"),
    ("queuefs mount --backend mem", "queuefs mount --backend memory:"),
    ("queuefs mount --backend redis+c", "queuefs mount --backend redis+cluster://"),
    ("queuefs mount --backend=sq", "queuefs mount --backend=sqlite:///"),
    ("queuefs mount -o allow_other,le", "queuefs mount -o allow_other,lease="),
    ("queuefs mount -o noat", "queuefs mount -o noatime"),
    ("queuefs put mnt/col", "queuefs put mnt/col:on/"),
    ("queuefs put mnt/eq", "queuefs put mnt/eq=ual/"),
]

#: Forgets the line that was begun, and wipes the screen.
ANEW = "\x15\x0c"


def test_words_are_completed(shell: Terminal) -> None:
    for typed, completed in WORDS:
        # bash leaves the slash behind a symbolic link to the next tab
        fitting = (completed, "queuefs put mnt", "queuefs umount mnt") if typed.endswith(" mn") else (completed,)

        def is_completed(text: str, fitting: tuple[str, ...] = fitting) -> bool:
            return text.rstrip().replace("\\:", ":").replace("\\=", "=").endswith(fitting)

        shell.type(f"{typed}\t")
        shell.wait_for(is_completed)
        shell.type(ANEW)
        shell.wait_for(lambda text: "queuefs" not in text)


def test_what_can_not_be_told_apart_is_shown(shell: Terminal) -> None:
    shell.type("queuefs put mnt/j\t\t\t")

    shell.wait_for(lambda text: "jobs" in text and "jumps" in text)


def test_neither_messages_nor_verbs_nor_broken_names_are_queues(base: Path) -> None:
    script = f'cd {base}; _QUEUEFS_COMPLETE=bash_complete QUEUEFS_LINE="queuefs put $1" {base}/bin/queuefs'

    def offered(word: str) -> list[str]:
        done = subprocess.run(["bash", "-c", script, "bash", word], capture_output=True, text=True, check=True)
        return [line.split("\t")[1] for line in done.stdout.splitlines() if line]

    names = ["col:on", "eq=ual", "jobs", "jumps", "two words"]
    assert [f"mnt/{name}" for name in names] == offered("mnt/")
    assert ["mnt/jobs/email"] == offered("mnt/jobs/")
    assert ["mnt/.hidden"] == offered("mnt/.h")
    assert [] == offered("mnt/nosuch/")
    mountpoint = (base / "mnt").readlink()
    assert f"{mountpoint}" in offered(f"{mountpoint.parent}/")
    assert f"{mountpoint.parent}" in offered(f"{mountpoint.parent.parent}/")


def test_the_known_mount_options_are_offered() -> None:
    try:
        parse_options(["nosuch"], allow_other=False)
    except BadValue as error:
        known = str(error).partition("known: ")[2].rstrip(")").replace("…", "")
    assert known.split(", ") == sorted(MOUNT_OPTIONS)


def test_an_unknown_shell_is_refused() -> None:
    assert "tcsh" in refusal("completion", "tcsh", code=Exit.USAGE)


@pytest.mark.parametrize("name", SHELLS)
def test_a_script_is_sound(name: str, tmp_path: Path) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"there is no {name} here")
    script = tmp_path / "script"
    script.write_bytes(answer("completion", name))

    done = subprocess.run([name, "-n", script], capture_output=True, check=False)

    assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)
