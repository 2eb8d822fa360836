"""The short wait is quick for the mount and fair to the rest of the daemon."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyfuse3
import trio
import trio.testing

from queuefs.fs import shortwait
from queuefs.fs.shortwait import ShortWait
from tests.support.mount import mounted
from tests.support.queue import claim, put, status
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Asks without end for what the daemon answers at once.
HAMMER = "import os, sys\nprint('going', flush=True)\nwhile True: os.stat(sys.argv[1])"


@contextmanager
def hammered(file: Path, programs: int = 4) -> Iterator[None]:
    """Keep *programs* asking for *file*, so that a request is always waiting."""
    hammers = [
        subprocess.Popen([sys.executable, "-c", HAMMER, str(file)], stdout=subprocess.PIPE) for _ in range(programs)
    ]
    try:
        for hammer in hammers:
            assert hammer.stdout is not None
            assert b"going\n" == hammer.stdout.readline()
        yield
    finally:
        for hammer in hammers:
            hammer.kill()
            hammer.wait()
            assert hammer.stdout is not None
            hammer.stdout.close()


def test_pyfuse3_waits_the_way_that_is_replaced() -> None:
    assert callable(getattr(pyfuse3, shortwait._HOOK))


def test_timers_go_on_under_load() -> None:
    with mounted("memory:", options=["lease=0.2"]) as mount:
        queue = mount.path / "jobs"
        queue.mkdir()
        put(queue, b"x")
        with hammered(queue / "size"):
            assert claim(queue) is not None
            eventually(lambda: status(queue) == (1, 0))


def test_answers_of_the_back_end_come_through_under_load(tmp_path: Path) -> None:
    with mounted(f"sqlite://{tmp_path}/queue.db") as mount:
        queue = mount.path / "jobs"
        queue.mkdir()
        with hammered(queue / "ack"):
            for _ in range(20):
                put(queue, b"x")
                message = claim(queue)
                assert message is not None
                (queue / "ack").write_text(message["id"] + "\n")
        assert (0, 0) == status(queue)


def test_a_signal_is_heard_under_load() -> None:
    with mounted("memory:") as mount:
        queue = mount.path / "jobs"
        queue.mkdir()
        hammer = subprocess.Popen(
            [sys.executable, "-c", HAMMER, str(queue / "size")], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        with hammer:
            assert hammer.stdout is not None
            hammer.stdout.readline()
            assert 0 == mount.stop(signal.SIGTERM)
            hammer.kill()


def test_killed_callers_freeze_nothing() -> None:
    """A request whose sender was killed vanishes; a read that waits for it would stop the whole process."""
    with mounted("memory:") as mount:
        queue = mount.path / "jobs"
        queue.mkdir()
        for _ in range(40):
            with hammered(queue / "size", programs=3):
                pass
            put(queue, b"x")
        assert (40, 0) == status(queue)


async def test_one_worker_always_stays_in_the_original_wait() -> None:
    """pyfuse3 starts another worker whenever it sees none waiting there."""
    readable, writer = os.pipe()
    try:
        os.write(writer, b"x")
        waiting = 0

        async def original() -> bool:
            nonlocal waiting
            waiting += 1
            try:
                await trio.lowlevel.wait_readable(readable)
            finally:
                waiting -= 1
            return True

        wait = ShortWait(readable, original)
        assert await wait()  # nobody is parked: by the original
        os.read(readable, 1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            await trio.testing.wait_all_tasks_blocked()
            assert 1 == waiting
            os.write(writer, b"x")
            with trio.testing.assert_no_checkpoints():
                assert await wait()  # one is parked: at once
            nursery.cancel_scope.cancel()
    finally:
        os.close(readable)
        os.close(writer)


async def test_after_a_slice_the_event_loop_has_its_turn() -> None:
    readable, writer = os.pipe()
    try:
        os.write(writer, b"x")
        turns = 0

        async def original() -> bool:
            nonlocal turns
            turns += 1
            await trio.lowlevel.checkpoint()
            return True

        wait = ShortWait(readable, original)
        wait._parked = 1
        began = trio.current_time()
        while trio.current_time() - began < 20 * shortwait.SLICE_SECONDS:
            assert await wait()

        assert 2 <= turns <= 25
    finally:
        os.close(readable)
        os.close(writer)


async def test_a_request_that_vanished_is_waited_for_again() -> None:
    readable, writer = os.pipe()
    try:
        rounds = 0

        async def original() -> bool:
            nonlocal rounds
            rounds += 1
            if rounds == 2:
                os.write(writer, b"x")
            await trio.lowlevel.checkpoint()
            return True

        assert await ShortWait(readable, original)()
        assert 2 == rounds
    finally:
        os.close(readable)
        os.close(writer)


async def test_the_end_of_the_session_ends_the_wait() -> None:
    readable, writer = os.pipe()
    try:

        async def original() -> bool:
            await trio.lowlevel.checkpoint()
            return False

        assert not await ShortWait(readable, original)()
    finally:
        os.close(readable)
        os.close(writer)


def test_the_original_can_be_had_back() -> None:
    with mounted("memory:", environment={"QUEUEFS_SHORT_WAIT": "0"}) as mount:
        queue = mount.path / "jobs"
        queue.mkdir()
        put(queue, b"x")
        assert (1, 0) == status(queue)
