"""Log lines: one a record, readable by programs, without passwords."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from queuefs.log import as_logfmt, open_private, redact

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import logging, sys, structlog
from queuefs.log import set_up
set_up(debug={debug}, file=None)
log = structlog.get_logger("queuefs.x")
{statement}
"""


def logged(statement: str, *, debug: bool = False, journal: bool = False) -> str:
    """Run *statement* in a process that logs to stderr, and return what it logged."""
    reading, writing = os.pipe()
    environment = dict(os.environ)
    if journal:
        there = os.fstat(writing)
        environment["JOURNAL_STREAM"] = f"{there.st_dev}:{there.st_ino}"
    program = PROGRAM.format(debug=debug, statement=statement)
    subprocess.run([sys.executable, "-c", program], stderr=writing, env=environment, check=True)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        return pipe.read()


def test_a_line_is_logfmt() -> None:
    line = logged('log.info("mounted", mountpoint="/mnt/q", files=3)')

    assert re.fullmatch(r"timestamp=\S+Z level=info logger=queuefs.x event=mounted mountpoint=/mnt/q files=3\n", line)


def test_records_of_libraries_look_the_same() -> None:
    line = logged('logging.getLogger("redis").warning("lost %s", "it", extra={"port": 1})')

    assert line.split(" ", 1)[1] == 'level=warning logger=redis event="lost it" port=1\n'


def test_warnings_are_log_lines_too() -> None:
    assert "logger=py.warnings" in logged('import warnings; warnings.warn("careful")')


def test_an_error_with_its_traceback_is_one_line() -> None:
    line = logged('try:\n    1 / 0\nexcept ZeroDivisionError:\n    log.exception("a bug")')

    assert line.count("\n") == 1
    assert "ZeroDivisionError: division by zero" in line
    assert r"\n" in line


@pytest.mark.parametrize(("debug", "lines"), [(False, 0), (True, 1)])
def test_debug_records_come_when_asked_for(*, debug: bool, lines: int) -> None:
    assert logged('log.debug("detail")', debug=debug).count("\n") == lines


@pytest.mark.parametrize(("method", "priority"), [("info", 6), ("warning", 4), ("error", 3), ("critical", 2)])
def test_the_journal_gets_a_priority_and_no_time(method: str, priority: int) -> None:
    line = logged(f'log.{method}("word")', journal=True)

    assert line == f"<{priority}>level={method} logger=queuefs.x event=word\n"


def test_a_value_can_not_forge_a_record() -> None:
    line = as_logfmt({"event": 'a\nlevel=error "b"\\', "x y": "", "n": None, "u": "ä\x1b\udcff"})

    assert line == 'event="a\\nlevel=error \\"b\\"\\\\" x y="" n=None u="ä\\x1b\\udcff"'


@pytest.mark.parametrize(
    "value",
    [
        "redis://user:hunter2@host/0",
        "connecting to redis://:hunter2@host:6379/0?prefix=x failed",
        "rediss://host/0?password=hunter2&db=1",
        ["redis://u:hunter2@h"],
        RuntimeError("redis+sentinel://u:hunter2@h1,h2/m/0"),
    ],
)
def test_passwords_are_taken_out_of_every_value(value: object) -> None:
    fields = redact(None, "info", {"event": "x", "url": value})

    assert "hunter2" not in as_logfmt(fields)
    assert "***" in as_logfmt(fields)


def test_passwords_are_taken_out_of_tracebacks() -> None:
    line = logged('try:\n    raise OSError("redis://u:hunter2@h")\nexcept OSError:\n    log.exception("x")')

    assert "://u:***@h" in line
    assert "hunter2" not in line


def test_a_log_file_is_its_owners_and_is_appended_to(tmp_path: Path) -> None:
    file = tmp_path / "log"
    for word in ("a", "b"):
        with open_private(file) as log:
            log.write(word)

    assert file.read_text() == "ab"
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_log_file_that_was_rotated_away_is_opened_anew(tmp_path: Path) -> None:
    file = tmp_path / "log"
    statement = f"set_up(debug=False, file=__import__('pathlib').Path({str(file)!r})); log.info('one')"
    statement += f"; __import__('os').rename({str(file)!r}, {str(file) + '.1'!r}); log.info('two')"

    assert logged(statement) == ""

    assert "event=one" in (tmp_path / "log.1").read_text()
    assert "event=two" in file.read_text()


def test_a_record_below_the_level_costs_no_formatting() -> None:
    assert logged("class C:\n    def __str__(self): raise AssertionError\nlog.debug('x', c=C())") == ""
