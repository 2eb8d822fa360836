"""Runs commands that work on a mount, as a user would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from tests.support.mount import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

#: The command, as a list of words.
QUEUEFS = [sys.executable, "-m", "queuefs"]

Done = subprocess.CompletedProcess[bytes]


def run(*arguments: str | Path, stdin: bytes = b"", cwd: Path | None = None, **environment: str) -> Done:
    """Run `queuefs` with *arguments* to its end."""
    return subprocess.run(
        [*QUEUEFS, *arguments],
        input=stdin,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
        cwd=cwd,
        env={**os.environ, **environment},
    )


def start(
    *arguments: str | Path, stdin: int = subprocess.DEVNULL, stdout: int = subprocess.PIPE
) -> subprocess.Popen[bytes]:
    """Start `queuefs` with *arguments*."""
    return subprocess.Popen([*QUEUEFS, *arguments], stdin=stdin, stdout=stdout, stderr=subprocess.PIPE)


def answer(*arguments: str | Path, stdin: bytes = b"", cwd: Path | None = None) -> bytes:
    """Run `queuefs` with *arguments*, which has to succeed without a word on stderr, and return what it printed."""
    done = run(*arguments, stdin=stdin, cwd=cwd)
    assert (0, b"") == (done.returncode, done.stderr), done
    return done.stdout


def refusal(*arguments: str | Path, code: int, stdin: bytes = b"", cwd: Path | None = None) -> str:
    """Run `queuefs` with *arguments*, which has to end with *code* and print nothing, and return its one line."""
    done = run(*arguments, stdin=stdin, cwd=cwd)
    assert (code, b"") == (done.returncode, done.stdout), done
    line = done.stderr.decode()
    assert line.startswith("queuefs: "), line
    assert 1 == line.count("\n"), line
    return line.removeprefix("queuefs: ").rstrip("\n")


def objects(text: bytes) -> list[dict[str, Any]]:
    """Return the JSON objects of *text*, one a line."""
    return [json.loads(line) for line in text.splitlines()]


def environment(**changes: str | None) -> Mapping[str, str]:
    """Return the environment with *changes*; None takes a variable away."""
    merged = {**os.environ, **{name: text for name, text in changes.items() if text is not None}}
    return {name: text for name, text in merged.items() if changes.get(name, "") is not None}
