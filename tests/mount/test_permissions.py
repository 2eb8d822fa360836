"""Who may do what: real users, each of whom tries everything."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from tests.support.queue import claim, put
from tests.support.users import ROOT, User, acting_as, refusal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.mount import Mount

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be others")

PRODUCERS, CONSUMERS, OPERATORS = 12101, 12102, 12103

ROLES = {
    "root": ROOT,
    "operator": User(12003, OPERATORS, (PRODUCERS, CONSUMERS)),
    "producer": User(12001, PRODUCERS),
    "consumer": User(12002, 12002, (4, CONSUMERS)),
    "stranger": User(12004, 12004),
}
OPERATOR = ROLES["operator"]

#: What is in each queue that is tried: by these ids, which `queue_for` has learnt.
Ids = dict[str, str]

#: What does not follow the queue: its group, and its mode.
OWN = [
    ("enqueue", PRODUCERS, 0o660),
    ("dequeue", CONSUMERS, 0o640),
    *((name, CONSUMERS, 0o620) for name in ("ack", "nack", "extend")),
    ("processing", CONSUMERS, 0o750),
]


@pytest.fixture
def open_place(shared_mount: Mount, place: Path) -> Path:
    """A corner of a mount that everybody can reach, and in which everybody may make queues."""
    shared_mount.path.parent.chmod(0o711)
    place.chmod(0o777)
    return place


def queue_for(place: Path, role: str) -> tuple[Path, Ids]:
    """Make a queue as docs/howto/who-may-do-what.md does, with a message of each state, and one child queue."""
    queue = place / f"for-{role}"
    queue.mkdir()
    (queue / "child").mkdir()
    put(queue, b"processing", b"dead", b"done", b"pending")
    held = [claim(queue) for _ in range(3)]
    ids = {state: message["id"] for state, message in zip(("processing", "dead", "done"), held, strict=True) if message}
    (queue / "nack,dead").write_text(ids["dead"] + "\n")
    (queue / "ack").write_text(ids["done"] + "\n")
    ids["pending"] = os.listdir(queue / "pending")[0]
    os.chown(queue, OPERATOR.uid, OPERATORS)
    queue.chmod(0o771)
    with acting_as(OPERATOR):
        for name, group, mode in OWN:
            os.chown(queue / name, -1, group)
            (queue / name).chmod(mode)
    return queue, ids


def opening(name: str, flags: int) -> Callable[[Path, Ids], object]:
    """Return what opens *name*, in which {pending} and the like stand for ids."""
    return lambda queue, ids: os.close(os.open(queue / name.format(**ids), flags))


def moving(name: str, target: str) -> Callable[[Path, Ids], object]:
    """Return what moves *name* to *target*."""
    return lambda queue, ids: os.rename(queue / name.format(**ids), queue / target.format(**ids))


def calling(call: Callable[[Path], object], name: str) -> Callable[[Path, Ids], object]:
    """Return what makes *call* for *name*."""
    return lambda queue, ids: call(queue / name.format(**ids))


R, W, RW = os.O_RDONLY, os.O_WRONLY, os.O_RDWR
OPERATING = frozenset({"root", "operator"})
PRODUCING = OPERATING | {"producer"}
CONSUMING = OPERATING | {"consumer"}
ALL = frozenset(ROLES)

ACTS: dict[str, tuple[Callable[[Path, Ids], object], frozenset[str]]] = {
    "> enqueue": (opening("enqueue", W), PRODUCING),
    "<> enqueue": (opening("enqueue", RW), PRODUCING),
    "> enqueue,priority=9": (opening("enqueue,priority=9", W), PRODUCING),
    "> enqueue,lines": (opening("enqueue,lines", W), PRODUCING),
    "write enqueue": (calling(lambda file: file.write_bytes(b"x"), "enqueue"), PRODUCING),
    "< dequeue": (opening("dequeue", R), CONSUMING),
    "cat dequeue": (calling(lambda file: file.read_bytes(), "dequeue"), CONSUMING),
    "< dequeue,ack,raw": (opening("dequeue,ack,raw", R), CONSUMING),
    "> ack": (opening("ack", W), CONSUMING),
    "> nack,delay=1": (opening("nack,delay=1", W), CONSUMING),
    "> extend": (opening("extend", W), CONSUMING),
    **{f"< {name}": (opening(name, R), OPERATING) for name in ("peek", "peek,raw", "messages", "messages,dead")},
    **{f"< {name}": (opening(name, R), OPERATING) for name in ("size", "status", "stats", "wait", "events", "config")},
    **{f"> {name}": (opening(name, W), OPERATING) for name in ("config", "ctl", "clear")},
    "<> config": (opening("config", RW), OPERATING),
    "> ctl, truncated": (opening("ctl", W | os.O_TRUNC), OPERATING),
    "> clear, truncated": (opening("clear", W | os.O_TRUNC), OPERATING),
    "ls": (calling(os.listdir, ""), OPERATING),
    "ls pending": (calling(os.listdir, "pending"), OPERATING),
    "ls processing": (calling(os.listdir, "processing"), CONSUMING),
    "ls dead": (calling(os.listdir, "dead"), OPERATING),
    "ls done": (calling(os.listdir, "done"), OPERATING),
    "stat pending/ID": (calling(os.stat, "pending/{pending}"), ALL),
    "stat processing/ID": (calling(os.stat, "processing/{processing}"), CONSUMING),
    "< pending/ID": (opening("pending/{pending}", R), OPERATING),
    "< processing/ID": (opening("processing/{processing}", R), CONSUMING),
    "< dead/ID": (opening("dead/{dead}", R), OPERATING),
    "< done/ID": (opening("done/{done}", R), OPERATING),
    "> pending/ID": (opening("pending/{pending}", W), frozenset()),
    "getfattr pending/ID": (
        calling(lambda file: os.getxattr(file, "user.queuefs.attempt"), "pending/{pending}"),
        OPERATING,
    ),
    "getfattr processing/ID": (
        calling(lambda file: os.getxattr(file, "user.queuefs.receipt"), "processing/{processing}"),
        CONSUMING,
    ),
    "rm pending/ID": (calling(os.unlink, "pending/{pending}"), OPERATING),
    "rm processing/ID": (calling(os.unlink, "processing/{processing}"), OPERATING),
    "rm dead/ID": (calling(os.unlink, "dead/{dead}"), OPERATING),
    "rm done/ID": (calling(os.unlink, "done/{done}"), OPERATING),
    "mv pending/ID processing": (moving("pending/{pending}", "processing/{pending}"), OPERATING),
    "mv processing/ID pending": (moving("processing/{processing}", "pending/{processing}"), OPERATING),
    "mv pending/ID dead": (moving("pending/{pending}", "dead/{pending}"), OPERATING),
    "mv dead/ID pending": (moving("dead/{dead}", "pending/{dead}"), OPERATING),
    "mv pending/ID child/pending": (moving("pending/{pending}", "child/pending/{pending}"), frozenset({"root"})),
    "mkdir": (calling(os.mkdir, "new"), OPERATING),
    "mv child": (moving("child", "renamed"), OPERATING),
    "rmdir child": (calling(os.rmdir, "child"), OPERATING),
    **{f"chmod {name}": (calling(lambda file: os.chmod(file, 0o700), name), OPERATING) for name in ("", "ack", "dead")},
    **{
        f"chgrp {name}": (calling(lambda file: os.chown(file, -1, PRODUCERS), name), OPERATING)
        for name in ("", "ack", "dead")
    },
    **{
        f"chown {name}": (calling(lambda file: os.chown(file, 12003, -1), name), OPERATING)
        for name in ("", "ack", "dead")
    },
    "give away": (calling(lambda file: os.chown(file, 12004, -1), ""), frozenset({"root"})),
    "chgrp to a group of others": (calling(lambda file: os.chown(file, -1, 12004), "ack"), frozenset({"root"})),
}


@pytest.mark.parametrize("act", ACTS)
def test_each_may_do_what_the_modes_say_and_no_more(open_place: Path, act: str) -> None:
    call, allowed = ACTS[act]
    refused = errno.EPERM if act.startswith(("chmod", "chgrp", "chown", "give")) else errno.EACCES
    outcomes = {}
    common = queue_for(open_place, "all who may not")
    for role, user in ROLES.items():
        outcomes[role] = refusal(user, call, *(queue_for(open_place, role) if role in allowed else common))

    assert {role: 0 if role in allowed else refused for role in ROLES} == outcomes
