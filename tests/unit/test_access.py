"""The daemon's own look at a mode agrees with the kernel's."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pytest

from queuefs.errors import AccessDenied
from queuefs.fs.access import directory_owner, owner_of, payload_owner, require
from queuefs.message import Owner, Queue, QueueId
from tests.support.users import ROOT, User, acting_as

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyfuse3 import RequestContext

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be others")

OWNER, GROUP = 12001, 12101
WAYS = [os.O_RDONLY, os.O_WRONLY, os.O_RDWR]
USERS = {
    "root": ROOT,
    "the owner": User(OWNER, 12001),
    "the owner, also in the group": User(OWNER, GROUP),
    "in the group": User(12002, GROUP),
    "in the group among others": User(12002, 12002, (4, GROUP, 7)),
    "neither": User(12003, 12003, (4, 7)),
}


@dataclass(frozen=True)
class Caller:
    """What a request says of who makes it."""

    uid: int
    gid: int
    pid: int


def may(mode: int, flags: int, caller: Caller) -> bool:
    """Return whether *caller* may open what is `OWNER`'s and `GROUP`'s."""
    try:
        require(Owner(uid=OWNER, gid=GROUP, mode=mode), flags, cast("RequestContext", caller))
    except AccessDenied:
        return False
    return True


@pytest.fixture(params=USERS)
def user(request: pytest.FixtureRequest) -> User:
    return USERS[request.param]


@pytest.fixture
def process(user: User) -> Iterator[int]:
    """A process of *user*'s."""
    command = ["sleep", "infinity"]
    with subprocess.Popen(command, user=user.uid, group=user.gid, extra_groups=user.groups) as running:
        yield running.pid
        running.kill()


@only_root
def test_it_agrees_with_the_kernel_on_every_mode(user: User, process: int, tmp_path: Path) -> None:
    directory = os.open(tmp_path, os.O_RDONLY)  # which others could not reach by its path
    tmp_path.chmod(0o711)
    caller = Caller(user.uid, user.gid, process)
    for mode in range(0o1000):
        file = tmp_path / f"{mode:o}"
        file.touch()
        os.chown(file, OWNER, GROUP)
        file.chmod(mode)
    with acting_as(user):
        for mode in range(0o1000):
            for flags in WAYS:
                assert opens(f"{mode:o}", flags, directory) == may(mode, flags, caller), f"{mode:o} {flags}"
    os.close(directory)


def opens(name: str, flags: int, directory: int) -> bool:
    """Return whether the kernel opens a file."""
    try:
        os.close(os.open(name, flags, dir_fd=directory))
    except PermissionError:
        return False
    return True


@pytest.mark.parametrize("pid", [0, 2**22 + 1])
def test_of_a_caller_that_can_not_be_seen_only_the_kernel_knows_the_groups(pid: int) -> None:
    """It is in another pid namespace, and the kernel has let it in; there is no such process as the second one."""
    unseen = Caller(12002, 12002, pid)

    assert may(0o640, os.O_RDONLY, unseen)
    assert not may(0o640, os.O_WRONLY, unseen)
    assert may(0o604, os.O_RDONLY, unseen)
    assert not may(0o600, os.O_RDONLY, unseen)
    assert not may(0o040, os.O_RDONLY, Caller(OWNER, 12002, pid))


def a_queue(mode: int, **files: Owner) -> Queue:
    """Return a queue of `OWNER`'s and `GROUP`'s."""
    owner = Owner(uid=OWNER, gid=GROUP, mode=mode)
    return Queue(id=QueueId(1), parent=QueueId(0), name="jobs", owner=owner, created_at=0, config=b"", files=files)


def test_what_was_never_changed_follows_its_queue() -> None:
    queue = a_queue(0o2750)

    assert Owner(uid=OWNER, gid=GROUP, mode=0o640) == owner_of(queue, "config", 0o640)
    assert queue.owner == directory_owner(queue, "dead")
    assert Owner(uid=OWNER, gid=GROUP, mode=0o440) == payload_owner(queue, "dead")


def test_what_was_changed_is_its_own() -> None:
    own = Owner(uid=1, gid=2, mode=0o1777)
    queue = a_queue(0o700, dead=own, config=own)

    assert own == owner_of(queue, "config", 0o600) == directory_owner(queue, "dead")
    assert Owner(uid=1, gid=2, mode=0o444) == payload_owner(queue, "dead")
    assert queue.owner == directory_owner(queue, "done")
