"""One mount from its beginning to its end."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pyfuse3
import structlog
import trio

from queuefs.clock import Clock
from queuefs.errors import BackendError
from queuefs.fs.background import raise_limit
from queuefs.fs.operations import Operations
from queuefs.fs.shortwait import short_wait
from queuefs.handover import Handover
from queuefs.message import Owner
from queuefs.service import Service
from queuefs.tree import Tree
from queuefs.upkeep import Upkeep

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from queuefs.backend import Backend
    from queuefs.settings import MountOptions

log = structlog.get_logger(__name__)

#: Idle workers that pyfuse3 keeps, and the most there may be: each request that waits holds one, and when all are held
#: the mount stands still.
MIN_WORKERS = 32
MAX_WORKERS = 100_000

#: When the daemon stops: so long may writers take to finish, then so long the back end, then so long other requests,
#: seconds.
FINISH_WRITING_SECONDS = 1.0
FINISH_STORING_SECONDS = 4.0
FINISH_REQUESTS_SECONDS = 1.0


async def serve(
    backend: Backend,
    mountpoint: str,
    options: MountOptions,
    stop: trio.Event,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Mount *backend* at *mountpoint* and answer until *stop* is set or the mount is taken away.

    Args:
        backend: An open store.
        mountpoint: An existing directory.
        options: How to mount.
        stop: Ends the mount in order: nothing new is begun, writers may finish, what closes left to do is done.
        task_status: Told once the mount answers.
    """
    clock = Clock(await backend.load_clock())
    await backend.save_clock(clock.mark())
    root = Owner(uid=os.getuid(), gid=os.getgid(), mode=0o755)
    tree = Tree(backend, clock, root)
    upkeep = Upkeep(backend, clock)
    async with trio.open_nursery() as nursery:
        handover = Handover(nursery, instant=backend.traits.instant)
        service = Service(
            backend, clock, handover, upkeep, lease=options.lease, max_message_bytes=options.max_message_bytes
        )
        operations = Operations(service, tree, shared=backend.traits.shared)
        with ExitStack() as mounted:
            pyfuse3.init(operations, mountpoint, _fuse_options(options))
            mounted.callback(pyfuse3.close)
            mounted.enter_context(short_wait())
            ended = trio.Event()
            answering = trio.CancelScope()
            nursery.start_soon(_answer, answering, ended)
            nursery.start_soon(upkeep.run)
            try:
                await _until_it_answers(mountpoint)
                task_status.started()
                await _first_of(stop.wait(), ended.wait())
                service.stop()
                await _drain(operations, handover, ended)
            finally:
                pyfuse3.terminate()
                with trio.move_on_after(FINISH_REQUESTS_SECONDS):
                    await ended.wait()
                answering.cancel()
                with trio.CancelScope(shield=True):
                    # A request that waits for the back end can't be cancelled, and its answer goes through the session:
                    # to end that before would be a segmentation fault. The back end's time limit bounds this.
                    await ended.wait()
        nursery.cancel_scope.cancel()
    await _keep_clock(backend, clock)


def _fuse_options(options: MountOptions) -> set[str]:
    chosen = {"fsname=queuefs", "subtype=queuefs", "default_permissions", *options.fuse_options}
    if options.allow_other:
        chosen.add("allow_other")
    return chosen


async def _answer(scope: trio.CancelScope, ended: trio.Event) -> None:
    try:
        with scope:
            await pyfuse3.main(min_tasks=MIN_WORKERS, max_tasks=MAX_WORKERS)
    finally:
        ended.set()


async def _until_it_answers(mountpoint: str) -> None:
    """Look at the mount, from a thread: the loop must be free to answer."""
    await trio.to_thread.run_sync(raise_limit, mountpoint, abandon_on_cancel=True)


async def _first_of(*waits: Coroutine[object, object, None]) -> None:
    """Return when the first of *waits* has ended."""
    async with trio.open_nursery() as nursery:

        async def first(wait: Coroutine[object, object, None]) -> None:
            await wait
            nursery.cancel_scope.cancel()

        for wait in waits:
            nursery.start_soon(first, wait)


async def _drain(operations: Operations, handover: Handover, ended: trio.Event) -> None:
    """Let open files be closed, and what closes left to do be done; within bounds."""
    with trio.move_on_after(FINISH_WRITING_SECONDS):
        await _first_of(operations.all_closed(), ended.wait())
    if operations.open_files:
        log.info("stopping with open files", files=operations.open_files)
    with trio.move_on_after(FINISH_STORING_SECONDS) as scope:
        await handover.drained()
    if scope.cancelled_caught:
        log.warning("stopping while the back end is away; the next daemon finishes what it holds")


async def _keep_clock(backend: Backend, clock: Clock) -> None:
    try:
        await backend.save_clock(clock.mark())
    except BackendError as error:
        log.warning("the clock's mark is not saved", reason=str(error))
