"""What the README and the docs show in ```console blocks is what happens, on a real mount."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.mount import PATIENCE, mounted

ROOT = Path(__file__).parents[2]
PAGES = [
    page
    for page in sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
    if "```console\n" in page.read_text("utf-8")
]


@dataclass
class Step:
    """One command of a session and what a reader is told to expect."""

    command: str
    expected: str = ""


def steps_of(page: Path) -> list[Step]:
    """Return all commands of the page's console blocks: they are one session."""
    steps: list[Step] = []
    for block in re.findall(r"^```console\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                steps.append(Step(line[2:]))
            elif line.startswith("> "):
                steps[-1].command += "\n" + line[2:]
            else:
                steps[-1].expected += line + "\n"
    return steps


def perform(steps: list[Step], directory: Path) -> list[str]:
    """Run all steps in one bash and return what each of them printed."""
    script = "".join(f"{step.command}\n{{ _s=$?; echo '@@@'; (exit $_s); }}\n" for step in steps)
    done = subprocess.run(
        ["bash"],
        input=script,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
        cwd=directory,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    # What an interactive shell would leave out of its messages.
    return re.sub(r"^bash: line \d+: ", "bash: ", done.stdout, flags=re.MULTILINE).split("@@@\n")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_session_in_the_docs_happens_as_shown(page: Path, tmp_path: Path) -> None:
    steps = steps_of(page)
    with mounted() as mount:
        (tmp_path / "mnt").symlink_to(mount.path)
        for directory in (tmp_path, mount.path.parent):
            directory.chmod(0o711)  # for the other users in a session
        printed = perform(steps, tmp_path)

    assert len(printed) == len(steps) + 1
    for step, text in zip(steps, printed, strict=False):
        pattern = ".*".join(re.escape(part) for part in step.expected.split("..."))
        assert re.fullmatch(pattern, text, re.DOTALL), f"$ {step.command}\n{text}"


def test_there_are_sessions() -> None:
    assert PAGES
