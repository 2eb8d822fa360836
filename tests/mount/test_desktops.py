"""Editors and desktops: what they make beside a file makes no queue and no message."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.support.programs import sh
from tests.support.queue import config, put, stats, status, take_all

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.filled import Filled
    from tests.support.mount import Mount


def names(queue: Path) -> set[str]:
    """Return all names in a queue, the hidden ones too."""
    return set(os.listdir(queue))


# Editors --------------------------------------------------------------------------------------------------------------

#: It has no functions, but `:substitute`.
VIM = "vim.tiny -es -u NONE -i NONE"


@pytest.mark.parametrize(
    "settings", ["", "set backup backupcopy=no", "set backupcopy=yes", "set directory=. backupdir=."]
)
def test_an_editor_edits_the_config(queue: Filled, settings: str) -> None:
    names_before = names(queue.path)
    done = queue.run(f"{VIM} -c '%s/^lease = .*/lease = 77/' -c '{settings}' -c 'w!' -c 'q!' config")

    assert done.returncode == 0
    assert config(queue.path)["lease"] == "77"
    assert config(queue.path)["retry_delay"] == "0"
    assert names(queue.path) == names_before
    assert queue.now() == queue.before


def test_an_editor_is_told_of_a_bad_value(queue: Filled) -> None:
    done = queue.run(f"{VIM} -c '%s/^lease = .*/lease = much/' -c 'wq' config")

    assert done.returncode != 0
    assert config(queue.path)["lease"] == "300"


@pytest.mark.parametrize(
    "script",
    [
        f"{VIM} -c 's/^/hi/' -c 'w!' -c 'q!' pending/$P",
        f"{VIM} -c 's/^/hi/' -c 'w' -c 'q!' pending/new",
        f"{VIM} -c 's/^/hi/' -c 'w' -c 'q!' new",
        f"{VIM} -c 's/^/hi/' -c 'q!' enqueue",
        "sed -i s/needle/x/ pending/$P",
        "sed -i s/lease/x/ config",
        "sed -i s/a/b/ enqueue",
        "perl -i -pe s/needle/x/ pending/$P",
        "perl -i -pe s/lease/x/ config",
        "perl -i.bak -pe s/lease/x/ config",
    ],
)
def test_an_editor_makes_nothing_else(queue: Filled, script: str) -> None:
    names_before = names(queue.path)
    queue.run(script)

    assert names(queue.path) == names_before
    assert config(queue.path)["lease"] == "300"
    assert queue.now() == queue.before
    assert "needle" in (queue.path / "pending" / queue.before["pending"][0]).read_text()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("sed -i s/lease/x/ config", "Operation not permitted"),
        ("sed -i s/a/b/ enqueue", "Permission denied"),
        ("perl -i -pe s/a/b/ config", "Operation not permitted"),
        ("perl -i -pe s/a/b/ pending/$P", "Operation not permitted"),
    ],
)
def test_an_editor_says_why(queue: Filled, script: str, said: str) -> None:
    assert said in queue.run(script).stderr


def test_an_editor_enqueues_what_it_is_told_to_write(jobs: Path) -> None:
    sh(f"{VIM} -c 's/^/hi/' -c 'w!' -c 'q!' enqueue", jobs)

    assert stats(jobs)["totals"]["enqueued"] == 1
    assert take_all(jobs) == [b"hi\n"]


def test_an_editor_reads_a_message(queue: Filled) -> None:
    done = queue.run(f"{VIM} -c '%print' -c 'q!' pending/$P")

    assert (0, "needle 3") == (done.returncode, done.stdout.strip())
    assert queue.now() == queue.before


# Desktops -------------------------------------------------------------------------------------------------------------

PROBES = [".git", ".hidden", ".directory", "autorun.inf", "desktop.ini", ".DS_Store", ".Trash", ".Trash-1000", ".svn"]


@pytest.mark.parametrize("name", PROBES)
def test_what_desktops_look_for_is_not_there(shared_mount: Mount, jobs: Path, name: str) -> None:
    for directory in (shared_mount.path, jobs, jobs / "pending", shared_mount.path / ".queuefs"):
        with pytest.raises(FileNotFoundError):
            (directory / name).lstat()


@pytest.mark.parametrize("name", [".Trash", ".Trash-0", ".Trash-1000", ".Trash-"])
def test_no_queue_is_a_trash_can(shared_mount: Mount, jobs: Path, name: str) -> None:
    for directory in (shared_mount.path, jobs):
        with pytest.raises(OSError, match="Invalid argument"):
            (directory / name).mkdir()
        with pytest.raises(OSError, match="Invalid argument"):
            jobs.rename(directory / name)
    assert jobs.is_dir()


@pytest.mark.parametrize("name", [".Trashes", ".trash", "Trash", ".Trash1"])
def test_other_names_are_queues(jobs: Path, name: str) -> None:
    (jobs / name).mkdir()
    put(jobs / name, b"x")
    assert status(jobs / name) == (1, 0)


@pytest.mark.parametrize("program", ["gio trash", "trash-put"])
@pytest.mark.parametrize("what", ["pending/$P", "config", "pending", "$PWD"])
def test_there_is_no_trash_on_a_mount(queue: Filled, shared_mount: Mount, program: str, what: str) -> None:
    done = queue.run(f"XDG_DATA_HOME=$O timeout 60 {program} {what}")

    assert done.returncode not in {0, 124}
    assert done.stderr
    assert queue.now() == queue.before
    assert not [name for name in os.listdir(shared_mount.path) if "rash" in name]
