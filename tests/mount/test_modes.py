"""Owners, groups and modes: how they come about, how they change, and from when on a change counts."""

from __future__ import annotations

import errno
import os
import stat
import threading
from typing import TYPE_CHECKING

import pytest

from tests.support.mount import mounted
from tests.support.programs import sh
from tests.support.queue import put, status, take_all
from tests.support.users import ROOT, User, acting_as, refusal
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.mount import Mount
    from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be others")

TEAM, OTHER_TEAM = 12101, 12102
ANN = User(12001, 12001, (TEAM,))
BEN = User(12002, 12002, (TEAM, OTHER_TEAM))
EVE = User(12003, 12003)


@pytest.fixture
def corner(shared_mount: Mount, place: Path) -> Path:
    """A corner of a mount that everybody can reach, and in which everybody may make queues."""
    shared_mount.path.parent.chmod(0o711)
    place.chmod(0o777)
    return place


def owned(file: Path) -> tuple[int, int, int]:
    """Return owner, group and permissions."""
    found = file.stat()
    return found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)


def made(user: User, queue: Path, mode: int) -> Path:
    """Return a queue that *user* makes."""
    with acting_as(user):
        queue.mkdir()
        queue.chmod(mode)
    return queue


def opened(user: User, file: Path, flags: int) -> int:
    """Return the errno that *user* is told when it opens *file*; 0 if it may."""
    return refusal(user, lambda: os.close(os.open(file, flags)))


# How they come about -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("umask", "mode"), [("022", 0o755), ("027", 0o750), ("077", 0o700), ("000", 0o777)])
def test_a_queue_is_its_makers_with_a_mode_by_the_umask(corner: Path, umask: str, mode: int) -> None:
    assert 0 == ANN.sh(f"umask {umask}; mkdir jobs", corner).returncode

    assert (ANN.uid, ANN.gid, mode) == owned(corner / "jobs") == owned(corner / "jobs" / "pending")
    assert (ANN.uid, ANN.gid) == owned(corner / "jobs" / "enqueue")[:2]


def test_a_set_group_id_directory_gives_its_group_on(corner: Path) -> None:
    team = made(ROOT, corner / "team", 0o770)
    os.chown(team, -1, TEAM)
    team.chmod(0o2770)

    assert 0 == ANN.sh("umask 007; mkdir -p jobs/urgent", team).returncode
    assert (ANN.uid, TEAM, 0o2770) == owned(team / "jobs") == owned(team / "jobs" / "urgent")
    assert (ANN.uid, TEAM, 0o660) == owned(team / "jobs" / "enqueue")
    assert 0 == opened(BEN, team / "jobs" / "urgent" / "enqueue", os.O_WRONLY)
    assert errno.EACCES == opened(EVE, team / "jobs" / "urgent" / "enqueue", os.O_WRONLY)


@pytest.mark.parametrize(("mode", "flags"), [(0o620, os.O_WRONLY), (0o660, os.O_WRONLY), (0o660, os.O_RDWR)])
def test_who_may_write_enqueue_may_enqueue_and_needs_r_too_to_read_the_id_back(
    corner: Path, mode: int, flags: int
) -> None:
    jobs = made(ANN, corner / "jobs", 0o711)
    with acting_as(ANN):
        os.chown(jobs / "enqueue", -1, TEAM)
        (jobs / "enqueue").chmod(mode)

    assert 0 == opened(BEN, jobs / "enqueue", flags)
    assert (0 if mode == 0o660 else errno.EACCES) == opened(BEN, jobs / "enqueue", os.O_RDWR)
    assert errno.EACCES == opened(EVE, jobs / "enqueue", flags)
    assert "" == BEN.sh("echo x > jobs/enqueue", corner).stderr
    assert "Permission denied" in EVE.sh("echo x > jobs/enqueue", corner).stderr
    assert (1, 0) == status(jobs)


# What the kernel makes of them ---------------------------------------------------------------------------------------


def test_in_a_shared_directory_with_the_sticky_bit_a_queue_is_removed_by_its_owner(corner: Path) -> None:
    corner.chmod(0o1777)
    jobs = made(ANN, corner / "jobs", 0o777)

    assert errno.EPERM == refusal(BEN, os.rmdir, jobs)
    assert errno.EPERM == refusal(BEN, os.rename, jobs, corner / "work")
    assert 0 == refusal(ANN, os.rename, jobs, corner / "work")
    assert 0 == refusal(ANN, os.rmdir, corner / "work")


def test_without_it_whoever_may_write_the_directory_may(corner: Path) -> None:
    jobs = made(ANN, corner / "jobs", 0o700)
    parent = made(ANN, corner / "parent", 0o777)

    assert errno.EACCES == refusal(BEN, os.rename, jobs, parent / "jobs")  # that changes the queue itself
    assert 0 == refusal(BEN, os.rename, jobs, corner / "work")
    assert 0 == refusal(BEN, os.rmdir, corner / "work")


def test_in_a_state_directory_with_the_sticky_bit_messages_are_its_owners(corner: Path) -> None:
    jobs = made(ANN, corner / "jobs", 0o777)
    put(jobs, b"one", b"two")
    one, two = (jobs / "pending" / name for name in os.listdir(jobs / "pending"))
    assert 0 == refusal(ANN, os.chmod, jobs / "pending", 0o1777)

    assert errno.EPERM == refusal(BEN, os.unlink, one)
    assert errno.EPERM == refusal(BEN, os.rename, one, jobs / "dead" / one.name)
    assert 0 == refusal(ANN, os.unlink, one)
    assert 0 == refusal(BEN, (jobs / "dequeue,ack").read_bytes)
    assert not two.exists()


def test_who_may_move_a_message_out_can_read_it_elsewhere(corner: Path) -> None:
    jobs = made(ANN, corner / "jobs", 0o711)
    mine = made(EVE, corner / "mine", 0o700)
    put(jobs, b"x")
    (name,) = os.listdir(jobs / "pending")
    (jobs / "pending").chmod(0o733)

    assert errno.EACCES == opened(EVE, jobs / "pending" / name, os.O_RDONLY)
    assert 0 == refusal(EVE, os.rename, jobs / "pending" / name, mine / "pending" / name)
    assert 0 == opened(EVE, mine / "pending" / name, os.O_RDONLY)


# How they change -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "enqueue", "config", "pending", "done"])
def test_an_owner_gives_to_groups_of_his_own_and_to_nobody_else(corner: Path, name: str) -> None:
    file = made(ANN, corner / "jobs", 0o755) / name

    assert 0 == refusal(ANN, os.chown, file, -1, TEAM)
    assert TEAM == owned(file)[1]
    assert errno.EPERM == refusal(ANN, os.chown, file, -1, OTHER_TEAM)
    assert errno.EPERM == refusal(ANN, os.chown, file, BEN.uid, -1)
    assert errno.EPERM == refusal(BEN, os.chown, file, -1, OTHER_TEAM)
    assert errno.EPERM == refusal(BEN, os.chmod, file, 0o777)
    assert TEAM == owned(file)[1]
    assert 0 == refusal(ROOT, os.chown, file, BEN.uid, OTHER_TEAM)
    assert 0 == refusal(BEN, os.chmod, file, 0o700)
    assert errno.EPERM == refusal(ANN, os.chmod, file, 0o700)


def test_messages_have_no_modes_of_their_own(corner: Path) -> None:
    jobs = made(ANN, corner / "jobs", 0o751)
    put(jobs, b"x")
    (name,) = os.listdir(jobs / "pending")
    file = jobs / "pending" / name

    assert (ANN.uid, ANN.gid, 0o440) == owned(file)
    for user in (ROOT, ANN):
        assert errno.EPERM == refusal(user, os.chmod, file, 0o644)
        assert errno.EPERM == refusal(user, os.chown, file, user.uid, user.gid)
    with acting_as(ANN):
        (jobs / "pending").chmod(0o711)
    assert (ANN.uid, ANN.gid, 0o400) == owned(file)


def test_a_change_of_the_queue_reaches_what_follows_it(corner: Path) -> None:
    jobs = made(ANN, corner / "jobs", 0o755)
    (jobs / "ack").chmod(0o222)
    (jobs / "dead").chmod(0o700)
    before = {name: owned(jobs / name) for name in ("ack", "dead", "nack", "pending", "enqueue")}
    os.chown(jobs, BEN.uid, TEAM)
    jobs.chmod(0o770)

    assert before["ack"] == owned(jobs / "ack") == (ANN.uid, ANN.gid, 0o222)
    assert before["dead"] == owned(jobs / "dead") == (ANN.uid, ANN.gid, 0o700)
    assert (BEN.uid, TEAM, 0o220) == owned(jobs / "nack")
    assert (BEN.uid, TEAM, 0o770) == owned(jobs / "pending")
    assert (BEN.uid, TEAM, 0o660) == owned(jobs / "enqueue")


def test_a_verb_has_one_mode_whatever_its_options(corner: Path) -> None:
    jobs = made(ANN, corner / "jobs", 0o777)
    (jobs / "enqueue,priority=9").chmod(0o600)

    for name in ("enqueue", "enqueue,lines", "enqueue,priority=9"):
        assert 0o600 == owned(jobs / name)[2]
        assert errno.EACCES == opened(EVE, jobs / name, os.O_WRONLY)


def test_copying_with_attributes_changes_none(corner: Path) -> None:
    jobs = made(ANN, corner / "jobs", 0o777)
    before = owned(jobs / "enqueue")

    done = sh("echo x > source && chmod 4701 source && chown 7:8 source && cp -p source jobs/enqueue", corner.parent)
    assert done.returncode != 0  # no file but messages on a mount
    done = sh(
        f"cd $(mktemp -d) && echo x > source && chown 7:8 source && chmod 4701 source && cp -p source {jobs}/enqueue"
        " && rm source && rmdir $PWD",
        corner,
    )
    assert (0, "") == (done.returncode, done.stderr)
    assert before == owned(jobs / "enqueue")
    assert [b"x\n"] == take_all(jobs)


# From when on they count ---------------------------------------------------------------------------------------------


def test_a_change_counts_at_once_whatever_the_kernel_had_kept(corner: Path) -> None:
    jobs = made(ANN, corner / "jobs", 0o777)
    put(jobs, b"x")
    (name,) = os.listdir(jobs / "pending")
    files = {"enqueue": os.O_WRONLY, "status": os.O_RDONLY, "pending": os.O_RDONLY, f"pending/{name}": os.O_RDONLY}
    for file, flags in files.items():
        assert 0 == opened(EVE, jobs / file, flags)
    for mode, expected in ((0o711, errno.EACCES), (0o777, 0), (0o700, errno.EACCES)):
        with acting_as(ANN):
            jobs.chmod(mode)
        for file, flags in files.items():
            assert expected == opened(EVE, jobs / file, flags), file


def test_what_is_open_stays_open(corner: Path) -> None:
    jobs = made(ANN, corner / "jobs", 0o777)
    put(jobs, b"there already")
    with acting_as(EVE):
        writer = os.open(jobs / "enqueue", os.O_WRONLY)
        reader = os.open(jobs / "dequeue,raw", os.O_RDONLY)
        directory = os.open(jobs, os.O_RDONLY)
    jobs.chmod(0o700)
    with acting_as(EVE):
        assert 1 == os.write(writer, b"x")
        assert b"there already" == os.read(reader, 100)
    assert errno.EACCES == refusal(EVE, lambda: os.open("enqueue", os.O_WRONLY, dir_fd=directory))
    for fd in (writer, reader, directory):
        os.close(fd)
    assert (1, 1) == status(jobs)


def test_a_descriptor_that_is_handed_on_hands_on_the_right(corner: Path) -> None:
    jobs = made(ANN, corner / "jobs", 0o700)
    fd = os.open(jobs / "enqueue", os.O_WRONLY)
    with acting_as(EVE):
        assert 1 == os.write(fd, b"x")
    os.close(fd)

    assert (1, 0) == status(jobs)


def test_only_the_thread_that_has_a_file_open_changes_nothing(corner: Path) -> None:
    jobs = made(ANN, corner / "jobs", 0o777)
    with (jobs / "enqueue").open("wb"):
        (jobs / "enqueue").chmod(0o600)
        assert 0o666 == owned(jobs / "enqueue")[2]
        (jobs / "ack").chmod(0o600)
        assert 0o600 == owned(jobs / "ack")[2]
        other = threading.Thread(target=lambda: (jobs / "enqueue").chmod(0o600))
        other.start()
        other.join()
        assert 0o600 == owned(jobs / "enqueue")[2]


def test_modes_move_with_the_queue(corner: Path) -> None:
    jobs = made(ANN, corner / "jobs", 0o2771)
    with acting_as(ANN):
        os.chown(jobs / "enqueue", -1, TEAM)
        (jobs / "enqueue").chmod(0o620)
        (jobs / "dead").chmod(0o700)
    parent = made(ANN, corner / "parent", 0o711)
    jobs.rename(parent / "work")

    assert (ANN.uid, ANN.gid, 0o2771) == owned(parent / "work")
    assert (ANN.uid, TEAM, 0o620) == owned(parent / "work" / "enqueue")
    assert (ANN.uid, ANN.gid, 0o700) == owned(parent / "work" / "dead")
    assert 0 == opened(BEN, parent / "work" / "enqueue", os.O_WRONLY)
    assert errno.EACCES == opened(EVE, parent / "work" / "enqueue", os.O_WRONLY)
    assert (0, 0, 0o755) == owned(made(ROOT, corner / "jobs", 0o755))
    assert (0, 0, 0o600) == owned(corner / "jobs" / "enqueue")


# The mount itself ----------------------------------------------------------------------------------------------------


def test_modes_outlive_the_daemon_but_for_the_roots(backend_url: str) -> None:
    with mounted(backend_url) as mount:
        mount.path.parent.chmod(0o711)
        mount.path.chmod(0o1777)
        jobs = made(ANN, mount.path / "jobs", 0o2751)
        with acting_as(ANN):
            os.chown(jobs / "enqueue", -1, TEAM)
            (jobs / "enqueue").chmod(0o660)
            (jobs / "done").chmod(0o500)
        before = {name: owned(jobs / name) for name in ("", "enqueue", "done", "ack", "pending")}
        mount.stop()
        mount.remount()

        assert (0, 0, 0o755) == owned(mount.path)
        assert errno.EACCES == refusal(ANN, os.mkdir, mount.path / "more")
        if backend_url == "memory:":
            assert not jobs.exists()
            return
        assert before == {name: owned(jobs / name) for name in before}
        assert 0 == opened(BEN, jobs / "enqueue", os.O_RDWR)
        assert errno.EACCES == opened(EVE, jobs / "enqueue", os.O_WRONLY)


def test_what_is_about_the_mount_follows_the_owner_of_the_root() -> None:
    with mounted() as mount:
        mount.path.parent.chmod(0o711)
        about = mount.path / ".queuefs"
        assert (0, 0, 0o555) == owned(about)
        assert 0 == opened(EVE, about / "metrics", os.O_RDONLY)
        assert errno.EACCES == opened(EVE, about / "export", os.O_RDONLY)
        assert errno.EACCES == opened(EVE, about / "import", os.O_WRONLY)
        assert errno.EACCES == opened(EVE, about / "check", os.O_RDWR)
        for file in (about, about / "version", about / "export"):
            assert errno.EPERM == refusal(ROOT, os.chmod, file, 0o777)
            assert errno.EPERM == refusal(ROOT, os.chown, file, EVE.uid, -1)
        os.chown(mount.path, ANN.uid, ANN.gid)
        mount.path.chmod(0o700)

        assert (ANN.uid, ANN.gid, 0o555) == owned(about)
        assert errno.EACCES == opened(EVE, about / "metrics", os.O_RDONLY)
        assert 0 == opened(ANN, about / "export", os.O_RDONLY)


def test_a_change_on_another_host_counts_however_much_the_kernel_keeps(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    url = f"{redis_server.url}?prefix={tmp_path.name}"
    with mounted(url) as here, mounted(url) as there:
        for mount in (here, there):
            mount.path.parent.chmod(0o711)
        jobs, same = here.path / "jobs", there.path / "jobs"
        made(ROOT, jobs, 0o777)
        (jobs / "child").mkdir()
        eventually((same / "child").exists)
        put(jobs, b"x")
        (name,) = os.listdir(jobs / "pending")
        for _ in range(3):
            eventually(lambda: opened(EVE, same / "status", os.O_RDONLY) == 0)
            eventually(lambda: refusal(EVE, os.listdir, same / "pending") == 0)
            assert 0 == refusal(EVE, os.listdir, same)
            jobs.chmod(0o711)
            eventually(lambda: opened(EVE, same / "status", os.O_RDONLY) == errno.EACCES)
            # the daemon there knows; the kernel still has what it was told of the directories
            assert errno.EACCES == refusal(EVE, os.listdir, same / "pending")
            assert errno.EACCES == refusal(EVE, os.listdir, same)
            assert errno.EACCES == refusal(EVE, os.mkdir, same / "another")
            assert errno.EACCES == refusal(EVE, os.rmdir, same / "child")
            assert errno.EACCES == refusal(EVE, os.unlink, same / "pending" / name)
            assert errno.EACCES == refusal(EVE, os.rename, same / "pending" / name, same / "dead" / name)
            jobs.chmod(0o777)
        assert [name] == os.listdir(jobs / "pending")


def test_a_change_on_another_host_is_not_undone_by_one_made_here(redis_server: RedisServer, tmp_path: Path) -> None:
    url = f"{redis_server.url}?prefix={tmp_path.name}"
    with mounted(url) as here, mounted(url) as there:
        jobs, same = here.path / "jobs", there.path / "jobs"
        made(ROOT, jobs, 0o777)
        eventually((same / "ack").exists)
        for group in range(1, 30):
            for name in ("", "ack"):
                (jobs / name).chmod(0o700 + group)
                os.chown(same / name, -1, group)

                seen = (0, group, 0o700 + group)
                eventually(lambda file=jobs / name, seen=seen: owned(file) == seen)  # type: ignore[misc]


def test_who_was_the_owner_until_a_moment_ago_on_another_host_changes_nothing(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    url = f"{redis_server.url}?prefix={tmp_path.name}"
    with mounted(url) as here, mounted(url) as there:
        for mount in (here, there):
            mount.path.parent.chmod(0o711)
        jobs, same = here.path / "jobs", there.path / "jobs"
        made(ROOT, jobs, 0o755)
        eventually(same.exists)
        for _ in range(5):
            os.chown(jobs, ANN.uid, ANN.gid)
            eventually(lambda: owned(same)[0] == ANN.uid)
            os.chown(jobs, BEN.uid, BEN.gid)
            assert errno.EPERM == refusal(ANN, os.chmod, same, 0o777)
            assert errno.EPERM == refusal(ANN, os.chown, same, -1, TEAM)
        assert (BEN.uid, BEN.gid, 0o755) == owned(jobs)
