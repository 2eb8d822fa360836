"""The tree of queues on a real mount: names, places, and every errno."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

import pytest

from queuefs.names import ABOUT, RESERVED, STATE_DIRECTORIES, VERBS
from tests.support.programs import sh
from tests.support.queue import claim, put, status, take_all

if TYPE_CHECKING:
    from pathlib import Path

#: The control files that a queue's directory shows.
FILES = [
    *("enqueue", "dequeue", "ack", "nack", "extend", "peek", "size", "status", "stats", "messages"),
    *("clear", "wait", "events", "config", "ctl"),
]

#: All that it shows.
SHOWN = [*FILES, *STATE_DIRECTORIES]


def error_of(call: object, *arguments: object) -> int:
    """Return the errno that a call of the os module fails with; 0 if it succeeds."""
    try:
        call(*arguments)  # type: ignore[operator]  # a function of os
    except OSError as error:
        return error.errno or -1
    return 0


def test_a_queue_shows_its_verbs(jobs: Path, place: Path) -> None:
    (jobs / "email").mkdir()

    assert [*SHOWN, "email"] == [entry.name for entry in os.scandir(jobs)]
    assert {*SHOWN, "jobs"} == set(os.listdir(place))


def test_the_root_has_no_verbs(place: Path) -> None:
    root = place.parent

    assert set(SHOWN).isdisjoint(os.listdir(root))
    for name in RESERVED - {ABOUT}:
        assert not (root / name).exists()


def test_stat_lookup_and_readdir_agree(jobs: Path) -> None:
    (jobs / "child").mkdir()
    put(jobs, b"x")
    with os.scandir(jobs) as entries:
        for entry in entries:
            status_ = os.stat(entry.path)
            assert entry.is_dir() == stat.S_ISDIR(status_.st_mode) == (entry.name in {"child", *STATE_DIRECTORIES})
            if entry.name != "stats":  # it tells an age
                assert entry.stat(follow_symlinks=False).st_size == status_.st_size
            assert status_.st_ino == os.stat(entry.path).st_ino


@pytest.mark.parametrize(
    "name",
    [
        "a b",
        "grün☃",
        "-x",
        "x" * 255,
        "a\nb",
        "'\"",
        "*",
        "%",
        "A_B",
        "Enqueue",
        "enqueued",
        ".x",
        ",",
        "x,enqueue",
        "[{}]",
        "\\",
    ],
)
def test_odd_names_are_names(place: Path, name: str) -> None:
    queue = place / name
    queue.mkdir()
    put(queue, b"x")

    assert name in os.listdir(place)
    assert [b"x"] == take_all(queue)
    queue.rename(place / "renamed")
    (place / "renamed").rename(queue)
    queue.rmdir()
    assert name not in os.listdir(place)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *((name.encode(), errno.EINVAL) for name in sorted(RESERVED - set(SHOWN))),
        *((name.encode(), errno.EEXIST) for name in SHOWN),
        *((f"{verb},x=1".encode(), errno.EEXIST) for verb in VERBS),
        (b"\xff\xfe", errno.EILSEQ),
        (b"x" * 256, errno.ENAMETOOLONG),
        ("ü".encode() * 128, errno.ENAMETOOLONG),
    ],
)
def test_names_that_are_refused(jobs: Path, name: bytes, expected: int) -> None:
    path = os.fsencode(jobs) + b"/" + name

    assert expected == error_of(os.mkdir, path)
    (jobs / "other").mkdir()
    if expected != errno.EEXIST:
        assert expected == error_of(os.rename, jobs / "other", path)
    assert {*SHOWN, "other"} == set(os.listdir(jobs))


def test_reserved_names_are_reserved_below_the_root_too(place: Path) -> None:
    for name in RESERVED - {ABOUT}:
        assert errno.EINVAL == error_of(os.mkdir, place.parent / name)
    assert errno.EEXIST == error_of(os.mkdir, place.parent / ABOUT)


def test_a_queue_exists_once(jobs: Path) -> None:
    assert errno.EEXIST == error_of(os.mkdir, jobs)


def test_removing_one_name_does_not_touch_its_neighbours(place: Path) -> None:
    names = ["a_b", "aXb", "a_bc", "A_B", "a%", "ab"]
    for name in names:
        (place / name).mkdir()
        put(place / name, name.encode())
    assert [b"a_b"] == take_all(place / "a_b")
    assert [b"a%"] == take_all(place / "a%")
    (place / "a_b").rmdir()
    (place / "a%").rmdir()

    for name in ["aXb", "a_bc", "A_B", "ab"]:
        assert [name.encode()] == take_all(place / name)


def test_rmdir_refuses_a_queue_with_something_in_it(jobs: Path) -> None:
    (jobs / "child").mkdir()
    assert errno.ENOTEMPTY == error_of(os.rmdir, jobs)
    (jobs / "child").rmdir()
    put(jobs, b"x")
    assert errno.ENOTEMPTY == error_of(os.rmdir, jobs)
    message = claim(jobs)
    assert message is not None
    assert errno.ENOTEMPTY == error_of(os.rmdir, jobs)
    (jobs / "ack").write_text(message["id"])
    jobs.rmdir()
    assert not jobs.exists()
    assert errno.ENOENT == error_of(os.rmdir, jobs)


def test_rmdir_refuses_while_a_message_is_being_written(jobs: Path) -> None:
    with (jobs / "enqueue").open("wb", buffering=0) as file:
        file.write(b"x")

        assert errno.EBUSY == error_of(os.rmdir, jobs)


def test_a_new_queue_of_an_old_name_is_new(jobs: Path) -> None:
    put(jobs, b"x")
    old = claim(jobs)
    assert old is not None
    (jobs / "ack").write_text(old["id"])
    jobs.rmdir()
    jobs.mkdir()
    put(jobs, b"y")

    new = claim(jobs)
    assert new is not None
    assert int(new["id"]) > int(old["id"])


def test_rename_takes_everything_along(jobs: Path, place: Path) -> None:
    (jobs / "child" / "grandchild").mkdir(parents=True)
    put(jobs, b"one", b"two")
    put(jobs / "child" / "grandchild", b"below")
    held = claim(jobs)
    assert held is not None
    jobs.rename(place / "work")

    assert not jobs.exists()
    assert (1, 1) == status(place / "work")
    (place / "work" / "ack").write_text(held["receipt"])
    assert [b"two"] == take_all(place / "work")
    assert [b"below"] == take_all(place / "work" / "child" / "grandchild")


def test_rename_into_another_queue(jobs: Path, place: Path) -> None:
    (place / "other").mkdir()
    put(jobs, b"x")
    jobs.rename(place / "other" / "jobs")

    assert [b"x"] == take_all(place / "other" / "jobs")


def test_a_message_being_written_goes_along_with_a_rename(jobs: Path, place: Path) -> None:
    with (jobs / "enqueue").open("wb", buffering=0) as file:
        file.write(b"x")
        jobs.rename(place / "work")

    assert [b"x"] == take_all(place / "work")


def test_rename_replaces_nothing(jobs: Path, place: Path) -> None:
    (place / "other").mkdir()

    assert errno.EEXIST == error_of(os.rename, jobs, place / "other")
    assert errno.EINVAL == error_of(os.rename, jobs, jobs / "below")
    assert errno.EPERM == error_of(os.rename, jobs / "enqueue", jobs / "enqueue2")
    assert errno.EPERM == error_of(os.rename, jobs / "enqueue", place / "other" / "enqueue")
    assert errno.ENOTDIR == error_of(os.rename, jobs, place / "other" / "enqueue")


def test_mv_moves_into_an_existing_queue(jobs: Path) -> None:
    place = jobs.parent
    (place / "other").mkdir()

    assert 0 == sh("mv jobs other", place).returncode
    assert (place / "other" / "jobs").is_dir()


def test_names_with_options_resolve_and_are_refused_at_open(jobs: Path) -> None:
    for name in ["dequeue,colour=red", "enqueue,", "status,x"]:
        assert (jobs / name).exists()
        assert errno.EINVAL == error_of(os.open, jobs / name, os.O_WRONLY if "enqueue" in name else os.O_RDONLY)
        assert name not in os.listdir(jobs)


@pytest.mark.parametrize("name", FILES)
def test_a_verb_can_not_be_removed_or_made_a_directory(jobs: Path, name: str) -> None:
    assert errno.EPERM == error_of(os.unlink, jobs / name)
    assert errno.ENOTDIR == error_of(os.rmdir, jobs / name)


@pytest.mark.parametrize(
    ("name", "flags"), [("status", os.O_WRONLY), ("dequeue", os.O_RDWR), ("ack", os.O_RDONLY), ("enqueue", os.O_RDONLY)]
)
def test_the_wrong_direction_is_refused_for_root_too(jobs: Path, name: str, flags: int) -> None:
    assert errno.EACCES == error_of(os.open, jobs / name, flags)


def test_chmod_and_chown_of_a_queue_are_kept(jobs: Path) -> None:
    jobs.chmod(0o730)
    os.chown(jobs, 12, 34)

    status_ = jobs.stat()
    assert (0o730, 12, 34) == (stat.S_IMODE(status_.st_mode), status_.st_uid, status_.st_gid)
    # enqueue may be written, and read back, by whom the queue may be; dequeue changes the queue and shows as r
    assert 0o660 == stat.S_IMODE((jobs / "enqueue").stat().st_mode)
    assert 0o440 == stat.S_IMODE((jobs / "dequeue").stat().st_mode)
    assert 0o220 == stat.S_IMODE((jobs / "ack").stat().st_mode)
    assert 0o400 == stat.S_IMODE((jobs / "status").stat().st_mode)


def test_mkdir_follows_the_umask(place: Path) -> None:
    assert 0 == sh("umask 027; mkdir masked", place).returncode
    assert 0o750 == stat.S_IMODE((place / "masked").stat().st_mode)


def test_statfs_answers(place: Path) -> None:
    assert 255 == os.statvfs(place).f_namemax
    assert 0 == sh("df .", place).returncode


def test_many_queues_are_listed_once_each(place: Path) -> None:
    names = {f"q{number}" for number in range(1000)}
    for name in names:
        (place / name).mkdir()

    found = [name for name in os.listdir(place) if name.startswith("q")]
    assert sorted(names) == sorted(found)
    for name in names:
        (place / name).rmdir()


def test_a_change_of_the_mode_reaches_every_verb_at_once(jobs: Path) -> None:
    (jobs / "enqueue").stat()
    jobs.chmod(0o700)

    assert 0o600 == stat.S_IMODE((jobs / "enqueue").stat().st_mode)
    os.chown(jobs, 12, 34)
    assert 12 == (jobs / "enqueue").stat().st_uid


def test_a_verbs_mode_is_changed_by_name_and_not_by_who_has_it_open(jobs: Path) -> None:
    with (jobs / "enqueue").open("wb") as file:
        assert 0 == sh("chmod 600 jobs/enqueue", jobs.parent).returncode
        os.fchmod(file.fileno(), 0o777)

    assert 0o600 == stat.S_IMODE((jobs / "enqueue").stat().st_mode)
    jobs.chmod(0o777)
    assert 0o600 == stat.S_IMODE((jobs / "enqueue").stat().st_mode)


@pytest.mark.parametrize("name", STATE_DIRECTORIES)
def test_a_state_directory_stays(jobs: Path, name: str) -> None:
    (jobs / "other").mkdir()

    assert errno.EPERM == error_of(os.rmdir, jobs / name)
    assert errno.EPERM == error_of(os.rename, jobs / name, jobs / "elsewhere")
    assert errno.EPERM == error_of(os.mkdir, jobs / name / "below")
    assert errno.EPERM == error_of(os.rename, jobs / "other", jobs / name / "other")
    assert errno.EINVAL == error_of(os.rename, jobs / "other", jobs / name)
