"""A bug in a handler is an EIO for its caller and a traceback in the log; everybody else's mount lives on."""

from __future__ import annotations

import errno
import inspect
import os
from typing import TYPE_CHECKING

import pyfuse3
import pytest

from queuefs.errors import QueueNotFound
from queuefs.fs.background import MAX_BACKGROUND
from queuefs.fs.operations import Operations
from queuefs.fs.seam import NOT_REQUESTS, answered
from tests.support import faulty_daemon
from tests.support.mount import mounted
from tests.support.queue import claim, put, status
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path


def test_every_handler_is_behind_the_seam() -> None:
    handlers = {
        name for name, member in inspect.getmembers(pyfuse3.Operations, inspect.isfunction) if not name.startswith("_")
    } - NOT_REQUESTS
    ours = {name for name in handlers if name in vars(Operations)}

    assert {"lookup", "read", "write", "flush", "release", "forget", "readdir", "setattr"} <= ours
    assert [] == [name for name in ours if not getattr(vars(Operations)[name], "is_answered", False)]


async def test_the_seam_gives_every_error_an_errno() -> None:
    async def failing(error: Exception) -> None:
        raise error

    for error, expected in [
        (QueueNotFound(), errno.ENOENT),
        (pyfuse3.FUSEError(errno.EXDEV), errno.EXDEV),
    ]:
        with pytest.raises(pyfuse3.FUSEError) as caught:
            await answered(failing)(error)
        assert expected == caught.value.errno


def test_the_mount_outlives_bugs() -> None:
    with mounted("memory:", module=faulty_daemon.__name__) as mount:
        queue = mount.path / "jobs"
        queue.mkdir()
        for name in ["peek", "messages"]:
            for _ in range(3):
                with pytest.raises(OSError, match="Input/output") as caught:
                    (queue / name).read_bytes()
                assert errno.EIO == caught.value.errno
        with pytest.raises(OSError, match="Input/output"):
            (queue / "clear").write_bytes(b"\n")
        with (queue / "enqueue").open("wb") as file:  # its publication fails, where no caller can be told
            file.write(b"x")
        assert {".queuefs", "jobs"} == set(os.listdir(mount.path))

        assert (0, 0) == status(queue)
        assert claim(queue) is None
        mount.expect_in_log("a bug, made for a test")
        mount.expect_in_log("a bug in QueueFS")
        mount.expect_in_log("Traceback")
        mount.expect_in_log("RuntimeError|ValueError|ExceptionGroup|TypeError")


def test_the_mount_outlives_bugs_beside_the_handlers(tmp_path: Path) -> None:
    """What a close leaves to be done, and the ending of leases, have no caller who could be told."""
    with mounted(f"sqlite://{tmp_path}/queue.db", module=faulty_daemon.__name__) as mount:
        queue = mount.path / "jobs"
        queue.mkdir()
        put(queue, b"its publication fails")

        assert (0, 0) == status(queue)
        eventually(lambda: "queuefs.handover" in mount.read_log())
        assert "queuefs.upkeep" in mount.read_log()
        mount.expect_in_log("a bug in QueueFS.*a bug, made for a test")


def test_the_kernel_may_have_many_background_requests_under_way() -> None:
    """With its own limit of 12, as many readers that splice and wait would keep every RELEASE from the daemon."""
    with mounted("memory:") as mount:
        knob = f"/sys/fs/fuse/connections/{os.minor(mount.path.stat().st_dev)}/max_background"
        with open(knob, encoding="ascii") as file:
            assert MAX_BACKGROUND == int(file.read())
