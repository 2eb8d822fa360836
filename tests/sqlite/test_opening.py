"""What can be opened, and the one sentence that is said of what can't."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from typing import TYPE_CHECKING

import pytest

from queuefs.errors import StoreInUse, StoreUnusable
from queuefs.message import ROOT, Owner
from queuefs.registry import open_backend
from tests.sqlite.steps import put

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OWNER = Owner(uid=0, gid=0, mode=0o700)


async def refusal(url: str) -> str:
    with pytest.raises(StoreUnusable) as caught:
        async with open_backend(url):
            pass
    return str(caught.value)


async def make(url: str) -> None:
    async with open_backend(url) as backend:
        queue = await backend.create_queue(ROOT, "jobs", owner=OWNER, now=1.0)
        for _ in range(20):
            await put(backend, queue.id, bytes(5000))


# URLs ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url", ["sqlite:", "sqlite:q.db", "sqlite://q.db", "sqlite://host/q.db", "sqlite:///", "sqlite:/tmp/q.db"]
)
async def test_a_url_without_an_absolute_path_is_refused(url: str) -> None:
    assert "expected sqlite:///absolute/path.db" in await refusal(url)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("timeout=3", "the SQLite back end has no option 'timeout' (it knows: durability)"),
        ("durability=full&cache", "the SQLite back end has no option 'cache' (it knows: durability)"),
        ("durability=off", "durability can't be 'off' (it is full or normal)"),
        ("durability", "durability can't be '' (it is full or normal)"),
    ],
)
async def test_an_option_that_is_not_known_is_refused_by_name(url: str, options: str, sentence: str) -> None:
    assert await refusal(f"{url}?{options}") == sentence


@pytest.mark.parametrize(("options", "level"), [("", 2), ("?durability=full", 2), ("?durability=normal", 1)])
async def test_durability_is_sqlites_synchronous(url: str, options: str, level: int) -> None:
    async with open_backend(url + options) as backend:
        db = backend._engine.store.db  # type: ignore[attr-defined]
        assert db.execute("PRAGMA synchronous").fetchall() == [(level,)]
        assert db.execute("PRAGMA journal_mode").fetchall() == [("wal",)]


async def test_a_path_is_percent_decoded(tmp_path: Path) -> None:
    await make(f"sqlite://{tmp_path}/with%20space%3F%23%E4.db")
    assert os.path.exists(os.fsencode(tmp_path) + b"/with space?#\xe4.db")


async def test_a_nul_byte_is_refused(tmp_path: Path) -> None:
    assert "NUL" in await refusal(f"sqlite://{tmp_path}/a%00b.db")


# Files --------------------------------------------------------------------------------------------------------------


async def test_a_missing_file_is_made_with_its_directories_for_the_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "queue.db"
    async with open_backend(f"sqlite://{path}"):
        assert {file.name for file in path.parent.iterdir()} >= {"queue.db", "queue.db.lock"}
        assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}
    assert [directory.stat().st_mode & 0o777 for directory in (path.parent, path.parent.parent)] == [0o700] * 2


async def test_closing_leaves_no_log_behind(url: str, path: Path) -> None:
    await make(url)
    assert sorted(file.name for file in path.parent.iterdir()) == ["queue.db", "queue.db.lock", "queue.db.reserve"]


async def test_an_empty_file_from_mktemp_is_new(url: str, path: Path) -> None:
    path.touch(0o640)
    await make(url)
    assert path.stat().st_mode & 0o777 == 0o640


async def test_an_opening_that_was_cut_short_is_done_anew(url: str, path: Path) -> None:
    """The lock file is signed only once the tables are there."""
    path.touch()
    path.with_name("queue.db.lock").touch()
    await make(url)


async def test_a_symbolic_link_leads_to_the_real_files_lock(url: str, path: Path) -> None:
    link = path.with_name("link.db")
    link.symlink_to(path)
    async with open_backend(url):
        assert "in use" in await refusal(f"sqlite://{link}")


async def test_a_file_with_another_name_is_refused(url: str, path: Path) -> None:
    """By a hard link a second daemon would lock another file, and both would write into one database."""
    async with open_backend(url):
        pass
    path.with_name("other.db").hardlink_to(path)

    with pytest.raises(StoreUnusable, match="another name"):
        async with open_backend(url):
            pass


async def test_a_second_daemon_is_told_who_has_the_file(url: str, path: Path) -> None:
    async with open_backend(url):
        with pytest.raises(StoreInUse, match=rf"^{path} is in use by another daemon \(process {os.getpid()}\)$"):
            async with open_backend(url):
                pass
    await make(url)


async def test_a_directory_is_refused(tmp_path: Path) -> None:
    assert await refusal(f"sqlite://{tmp_path}") == f"{tmp_path} is a directory, not a database file"
    assert await refusal(f"sqlite://{tmp_path}/") == f"{tmp_path}/ names a directory, not a database file"


async def test_a_fifo_is_refused(url: str, path: Path) -> None:
    os.mkfifo(path)
    assert await refusal(url) == f"{path} is not a regular file"


async def test_a_path_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "Not a directory" in await refusal(f"sqlite://{tmp_path}/file/queue.db")
    assert "Not a directory" in await refusal(f"sqlite://{tmp_path}/file/sub/queue.db")


async def test_what_is_no_database_is_refused_and_left_alone(url: str, path: Path) -> None:
    text = b"Dear diary,\n" * 1000
    path.write_bytes(text)
    assert await refusal(url) == f"{path} is not an SQLite database"
    assert path.read_bytes() == text


@pytest.mark.parametrize("script", ["CREATE TABLE bookmarks (url)", "PRAGMA application_id = 252006674"])
async def test_another_applications_database_is_refused_and_left_alone(url: str, path: Path, script: str) -> None:
    db = sqlite3.connect(path)
    db.executescript(script)
    db.close()
    before = path.read_bytes()
    assert await refusal(url) == f"{path} is another application's SQLite database"
    assert path.read_bytes() == before


async def test_a_newer_version_is_refused(url: str, path: Path) -> None:
    await make(url)
    change(path, "PRAGMA user_version = 7")
    assert "was made by a newer QueueFS (its version is 7, the newest known here 3)" in await refusal(url)


@pytest.mark.parametrize(
    ("script", "name"), [("DROP TABLE body", "body"), ("DROP INDEX messages_lease", "messages_lease")]
)
async def test_what_lacks_a_table_is_refused_and_not_mended(url: str, path: Path, script: str, name: str) -> None:
    await make(url)
    change(path, script)
    for _ in range(2):
        assert await refusal(url) == f"{path} lacks {name}; restore it from a copy"


def change(path: Path, script: str) -> None:
    db = sqlite3.connect(path)
    db.executescript(script)
    db.close()


async def test_a_file_that_was_emptied_is_refused(url: str, path: Path) -> None:
    await make(url)
    os.truncate(path, 0)
    sentence = await refusal(url)
    assert sentence == f"{path} is empty, but was in use before; restore it from a copy, or remove it to start anew"
    path.unlink()
    await make(url)


@pytest.mark.parametrize("state", ["empty", "missing"])
async def test_a_log_without_its_database_is_kept(url: str, path: Path, state: str) -> None:
    """SQLite would delete it."""
    wal = path.with_name("queue.db-wal")
    wal.write_bytes(b"messages")
    if state == "empty":
        path.touch()
    assert f"{path} is {state}, but {wal} holds messages of it" in await refusal(url)
    assert wal.read_bytes() == b"messages"


async def test_a_file_that_was_cut_is_refused(url: str, path: Path) -> None:
    await make(url)
    os.truncate(path, 8 * 4096)
    assert f"{path} is damaged" in await refusal(url)


async def test_a_disk_that_is_read_only_is_refused(mount_disk: Callable[[int], Path]) -> None:
    disk = mount_disk(32 << 20)
    await make(f"sqlite://{disk}/queue.db")
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    assert "Read-only file system" in await refusal(f"sqlite://{disk}/queue.db")


async def test_a_disk_that_is_full_is_refused(mount_disk: Callable[[int], Path]) -> None:
    disk = mount_disk(1 << 20)
    (disk / "fill").write_bytes(bytes((1 << 20) - 8192))
    sentence = await refusal(f"sqlite://{disk}/queue.db")
    assert sentence == f"there is no space left on the disk of {disk}/queue.db"
