"""`queuefs export`, `import` and `check`, as a user would run them."""

from __future__ import annotations

import base64
import json
import os
import signal
import sqlite3
import subprocess
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
import trio

from queuefs.cli.exits import Exit
from queuefs.lifecycle import State
from queuefs.message import ROOT
from queuefs.registry import open_backend
from queuefs.transfer.fields import PIECE_BYTES
from tests.cli.commands import QUEUEFS, answer, refusal, run, start
from tests.support.mount import PATIENCE
from tests.support.waiting import eventually
from tests.transfer.stores import OWNER, START, Content, fill, lines_of, message, record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

CONTENTS = [
    Content(
        ("jobs",),
        files={"enqueue": OWNER},
        messages=[
            message(2, b"two"),
            message(3, b"\xff" * (2 * PIECE_BYTES + 5)),
            message(4, b"four", state=State.PROCESSING, claims=1, attempt=1, lease_until=START + 1e9),
            message(5, b"five", state=State.DEAD, reason="why"),
        ],
        records=[record(1)],
    ),
    Content(("jobs", "a ü"), messages=[message(6, b"six")]),
]


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store with something in it."""
    return make(tmp_path / "store.db", CONTENTS)


def make(file: Path, contents: Sequence[Content]) -> str:
    url = f"sqlite://{file}"

    async def work() -> None:
        async with open_backend(url) as backend:
            await fill(backend, contents)

    trio.run(work)
    return url


def plain(text: bytes) -> list[object]:
    """Return what an export says, without what differs from time to time: when it was made, and parts of a second."""
    lines = lines_of(text)[1:]
    return json.loads(  # type: ignore[no-any-return]
        json.dumps(lines), parse_float=lambda number: round(float(number))
    )


def test_what_is_exported_is_imported(url: str, tmp_path: Path) -> None:
    text = answer("export", "--backend", url)

    said = answer("import", "--backend", f"sqlite://{tmp_path}/other.db", stdin=text)

    assert said == b"imported 2 new queues, 5 messages, 1 record\n"
    assert plain(answer("export", "--backend", f"sqlite://{tmp_path}/other.db")) == plain(text)


def test_the_store_may_be_named_by_the_environment(url: str, tmp_path: Path) -> None:
    done = run("export", QUEUEFS_BACKEND=url)
    assert done.returncode == 0
    done = run("import", stdin=done.stdout, QUEUEFS_BACKEND=f"sqlite://{tmp_path}/other.db")
    assert done.stdout.startswith(b"imported 2 new queues")


def test_some_queues_are_exported(url: str) -> None:
    text = answer("export", "--backend", url, "/jobs/a ü/")

    assert [line["queue"] for line in lines_of(text) if "queue" in line] == [["jobs"], ["jobs", "a ü"]]
    assert [line["id"] for line in lines_of(text) if "state" in line] == ["6"]


def test_a_file_appears_when_it_is_whole(url: str, tmp_path: Path) -> None:
    file = tmp_path / "out" / "store.jsonl"
    file.parent.mkdir()

    assert answer("export", "--backend", url, "-o", file) == b""

    assert plain(file.read_bytes()) == plain(answer("export", "--backend", url))
    assert file.stat().st_mode & 0o777 == 0o600
    assert os.listdir(file.parent) == ["store.jsonl"]


def test_a_file_is_left_as_it_was_if_it_can_not_be_whole(url: str, tmp_path: Path) -> None:
    file = tmp_path / "out" / "store.jsonl"
    file.parent.mkdir()
    file.write_text("old")

    said = refusal("export", "--backend", url, "-o", file, "jobs/none", code=Exit.NO_MOUNT_POINT)

    assert said == "there is no queue jobs/none"
    assert (os.listdir(file.parent), file.read_text()) == (["store.jsonl"], "old")


def test_a_reader_that_goes_away_ends_it(url: str) -> None:
    done = subprocess.run(
        ["bash", "-c", 'set -o pipefail; "$@" | head -c 10', "-", *QUEUEFS, "export", "--backend", url],
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGPIPE, b'{"queuefs_', b"")


@pytest.mark.parametrize("command", ["export", "import", "check"])
def test_a_store_that_a_daemon_has_open_is_refused(command: str, url: str) -> None:
    async def work() -> str:
        async with open_backend(url):
            return await trio.to_thread.run_sync(lambda: refusal(command, "--backend", url, code=Exit.BUSY))

    said = trio.run(work)

    assert "is in use by another daemon" in said
    assert "; unmount it first, or " in said
    assert f".queuefs/{command}" in said


@pytest.mark.parametrize("command", ["export", "check"])
def test_a_store_that_is_not_there_is_not_made(command: str, tmp_path: Path) -> None:
    file = tmp_path / "none" / "store.db"

    said = refusal(command, "--backend", f"sqlite://{file}", code=Exit.NO_STORE)

    assert said == f"there is no store at {file}"
    assert not file.parent.exists()


@pytest.mark.parametrize("command", ["export", "import", "check"])
def test_memory_is_no_store_for_a_command(command: str) -> None:
    said = refusal(command, "--backend", "memory:", code=Exit.NO_STORE)

    assert said == "memory: lives in a daemon, and no other process has it"


@pytest.mark.parametrize("command", ["export", "import", "check"])
def test_no_password_is_shown(command: str) -> None:
    said = refusal(command, "--backend", "redis://me:secret@127.0.0.1:1/0", code=Exit.NO_STORE)

    assert "127.0.0.1" in said
    assert "secret" not in said


def test_a_bad_line_is_named_and_what_was_done_is_said(url: str, tmp_path: Path) -> None:
    lines = answer("export", "--backend", url).splitlines(keepends=True)
    other = f"sqlite://{tmp_path}/other.db"
    lines[3] = lines[3].replace(b'"id":"', b'"id":"0')

    said = refusal("import", "--backend", other, stdin=b"".join(lines), code=Exit.BAD_DATA)

    assert said.startswith("line 4: Expected `str` matching regex ")
    assert said.endswith("(imported before: 1 new queue, 1 message, 0 records)")


def test_ids_that_the_store_has_given_are_refused_with_the_ways_out(url: str, tmp_path: Path) -> None:
    text = answer("export", "--backend", url)
    other = make(tmp_path / "other.db", [Content(("jobs",), messages=[message(6, b"mine")])])

    said = refusal("import", "--backend", other, stdin=text, code=Exit.FAILED)
    assert "--renumber" in said
    assert "--resume" in said
    assert said.endswith("(nothing was imported)")

    said = refusal("import", "--backend", other, "--renumber", "--resume", code=Exit.USAGE)
    assert "exclude each other" in said

    said_last = answer("import", "--backend", other, "--renumber", stdin=text)
    assert said_last == b"imported 1 new queue, 5 messages, 1 record; ids are 6 higher\n"
    exported = lines_of(answer("export", "--backend", other))
    assert [line["id"] for line in exported if "state" in line] == ["6", "8", "9", "10", "11", "12"]


def test_a_dry_run_makes_no_store(url: str, tmp_path: Path) -> None:
    file = tmp_path / "store.jsonl"
    answer("export", "--backend", url, "-o", file)

    said = refusal("import", "--backend", f"sqlite://{tmp_path}/new.db", "--dry-run", file, code=Exit.NO_STORE)

    assert "there is no store" in said


def test_a_dry_run_says_what_would_be_done(url: str, tmp_path: Path) -> None:
    file = tmp_path / "store.jsonl"
    answer("export", "--backend", url, "-o", file)
    other = make(tmp_path / "other.db", [])

    assert answer("import", "--backend", other, "--dry-run", file) == (
        b"would import 2 new queues, 5 messages, 1 record\n"
    )
    assert len(lines_of(answer("export", "--backend", other))) == 2


def test_a_file_that_can_not_be_read_is_named(tmp_path: Path) -> None:
    said = refusal("import", "--backend", f"sqlite://{tmp_path}/x.db", tmp_path / "none", code=Exit.FAILED)
    assert said == f"{tmp_path}/none: No such file or directory"
    said = refusal("import", "--backend", f"sqlite://{tmp_path}/x.db", tmp_path, code=Exit.FAILED)
    assert said == "the export can't be read: Is a directory (nothing was imported)"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_an_import_in_order_and_it_can_be_gone_on_with(
    url: str, tmp_path: Path, number: signal.Signals
) -> None:
    text = answer("export", "--backend", url)
    other = tmp_path / "other.db"
    process = start("import", "--backend", f"sqlite://{other}", stdin=subprocess.PIPE)
    assert process.stdin is not None
    half = text.index(b'"at":1048576')
    process.stdin.write(text[:half])
    process.stdin.flush()
    eventually(lambda: last_id(f"sqlite://{other}") == 3)

    process.send_signal(number)
    process.wait(PATIENCE)  # with its stdin open

    out, said = process.communicate()
    assert (process.returncode, out) == (-number, b"")
    assert said == b"queuefs: ended before all was imported (imported before: 1 new queue, 1 message, 0 records)\n"
    assert last_id(f"sqlite://{other}") == 2
    said = answer("import", "--backend", f"sqlite://{other}", "--resume", stdin=text)
    assert said == b"imported 1 new queue, 4 messages, 1 record, 1 message that had been there\n"
    assert plain(answer("export", "--backend", f"sqlite://{other}")) == plain(text)


def test_an_import_that_is_killed_leaves_no_message_in_part(url: str, new_store: Callable[[], str]) -> None:
    text = answer("export", "--backend", url)
    other = new_store()
    process = start("import", "--backend", other, stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(text[: text.index(b'"at":1048576')])
    process.stdin.flush()
    eventually(lambda: last_id(other) == 3)
    process.kill()
    process.communicate()

    async def first_daemon() -> None:
        async with open_backend(other) as backend:
            adopted = (await backend.tick(now=START, limit=1000)).adopted
            (queue,) = await backend.children(ROOT)
            assert (len(adopted), (await backend.counts(queue.id)).pending) == (0, 1)
            assert await backend.audit() == []

    trio.run(first_daemon)
    said = answer("import", "--backend", other, "--resume", stdin=text)
    assert said == b"imported 1 new queue, 4 messages, 1 record, 1 message that had been there\n"
    assert answer("check", "--backend", other).endswith(b"\nok\n")


def last_id(url: str) -> int:
    """Return the highest id in a store that another process may have open; 0 if there is none."""
    if not url.startswith("sqlite:"):

        async def look() -> int:
            async with open_backend(url) as backend:
                return await backend.last_id() or 0

        return trio.run(look)
    file = url.removeprefix("sqlite://")
    if not os.path.exists(file):
        return 0
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db:
        try:
            return int(db.execute("SELECT ifnull(max(id), 0) FROM messages").fetchone()[0])
        except sqlite3.OperationalError:  # its tables are not made yet
            return 0


def test_a_signal_ends_an_export_that_nobody_reads(tmp_path: Path) -> None:
    url = make(tmp_path / "store.db", [Content(("jobs",), messages=[message(1, b"x" * 8 * PIECE_BYTES)])])
    process = start("export", "--backend", url)
    assert process.stdout is not None
    assert process.stdout.read(1) == b"{"

    process.send_signal(signal.SIGINT)
    process.wait(PATIENCE)

    assert process.returncode == -signal.SIGINT
    process.communicate()


# Damage ------------------------------------------------------------------------------------------------------------


def damage(url: str, *statements: str) -> None:
    with closing(sqlite3.connect(url.removeprefix("sqlite://"))) as db, db:
        for statement in statements:
            db.execute(statement)


@pytest.fixture
def damaged(url: str) -> str:
    """The store, in which two is not what was put in, and a part of three is missing."""
    damage(
        url,
        "UPDATE body SET data = CAST('Two' AS BLOB) WHERE id = 2",
        f"DELETE FROM chunk WHERE id = 3 AND position > {PIECE_BYTES}",
    )
    return url


def test_damage_is_exported_as_far_as_it_can_be_read_and_named(damaged: str, tmp_path: Path) -> None:
    done = run("export", "--backend", damaged)

    assert done.returncode == Exit.BAD_DATA
    assert done.stderr.decode().splitlines() == [
        "queuefs: message 2 is damaged",
        "queuefs: message 3 is damaged",
        "queuefs: all is exported, but 2 messages are damaged: an import makes them dead",
    ]
    lines = lines_of(done.stdout)
    two, three = (line for line in lines if line.get("damaged") is True)
    assert (two["id"], two["data"]) == ("2", "Two")
    assert (three["id"], three["size"] >= PIECE_BYTES) == ("3", True)
    assert b"\xff" * three["size"] == b"".join(base64.b64decode(each["data_base64"]) for each in lines if "at" in each)
    assert lines[-1]["damaged"] == ["2", "3"]
    said = answer("import", "--backend", f"sqlite://{tmp_path}/other.db", stdin=done.stdout)
    assert said == b"imported 2 new queues, 5 messages, 1 record; 2 of the messages are damaged, and dead\n"
    assert answer("check", "--backend", f"sqlite://{tmp_path}/other.db").endswith(b"\nok\n")


def test_a_good_store_is_ok(url: str) -> None:
    first, last = answer("check", "--backend", url).decode().splitlines()

    assert first.startswith("looked at 2 queues and 5 messages, ")
    assert last == "ok"


def test_what_is_wrong_is_named(damaged: str) -> None:
    done = run("check", "--backend", damaged)

    *problems, looked, last = done.stdout.decode().splitlines()
    assert (done.returncode, done.stderr) == (Exit.BAD_DATA, b"")
    assert looked.startswith("looked at ")
    assert last == f"{len(problems)} problems"
    assert any("message 2" in problem for problem in problems)
    assert any("message 3" in problem for problem in problems)


def test_it_is_told_as_json_too(damaged: str) -> None:
    done = run("check", "--backend", damaged, "--json")

    findings = json.loads(done.stdout)
    assert done.returncode == Exit.BAD_DATA
    assert (findings["ok"], findings["queues"], findings["messages"]) == (False, 2, 5)
    assert findings["problems"] == findings["left"] != []
    assert "repairs" not in findings


def test_repairs_are_told_and_looked_at_again(damaged: str) -> None:
    done = run("check", "--backend", damaged, "--repair")

    assert (done.returncode, done.stderr) == (Exit.OK, b"")
    assert done.stdout.endswith(b"\nok\n")
    assert answer("check", "--backend", damaged).endswith(b"\nok\n")
    dead = [line for line in lines_of(answer("export", "--backend", damaged)) if line.get("state") == "dead"]
    assert [line["id"] for line in dead] == ["2", "3", "5"]


def test_a_good_store_has_nothing_to_repair(url: str) -> None:
    findings = json.loads(answer("check", "--backend", url, "--repair", "--json"))

    assert (findings["ok"], findings["problems"], findings["repairs"], findings["left"]) == (True, [], [], [])
