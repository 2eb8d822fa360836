"""One mount from its beginning to its end."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pyfuse3
import structlog
import trio

from queuefs.about import About
from queuefs.clock import Clock
from queuefs.config import Config
from queuefs.configs import Configs
from queuefs.errors import BackendError
from queuefs.events import Events
from queuefs.filing import Filing
from queuefs.fs.background import raise_limit
from queuefs.fs.caller import held_by_signalled
from queuefs.fs.operations import Operations
from queuefs.fs.shortwait import short_wait
from queuefs.handover import Handover
from queuefs.lobby import Lobby
from queuefs.measuring import Measurements, measured
from queuefs.message import Owner
from queuefs.metrics import Metrics
from queuefs.parts import Parts
from queuefs.service import Service
from queuefs.settling import Settling
from queuefs.tree import Tree
from queuefs.turns import Turns
from queuefs.upkeep import Upkeep
from queuefs.waiting import Waiting
from queuefs.wholestore import WholeStore

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from queuefs.backend import Backend, Transition
    from queuefs.settings import MountOptions

log = structlog.get_logger(__name__)

#: Idle workers that pyfuse3 keeps, and the most there may be: each request that waits holds one, and when all are held
#: the mount stands still.
MIN_WORKERS = 32
MAX_WORKERS = 100_000

#: How many may wait where the kernel's limit of background requests could not be raised: some of its 12 have to be left
#: for the RELEASE that wakes them.
WAITS_WITHOUT_BACKGROUND = 8

#: When the daemon stops: so long may writers take to finish, then so long the back end, then so long other requests,
#: seconds.
FINISH_WRITING_SECONDS = 1.0
FINISH_STORING_SECONDS = 4.0
FINISH_REQUESTS_SECONDS = 1.0


async def serve(
    store: Backend,
    url: str,
    mountpoint: str,
    options: MountOptions,
    stop: trio.Event,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Mount *store* at *mountpoint* and answer until *stop* is set or the mount is taken away.

    Args:
        store: Open, and what is to be mounted.
        url: Names it, for `.queuefs/backend`.
        mountpoint: An existing directory.
        options: How to mount.
        stop: Ends the mount in order: nothing new is begun, writers may finish, what closes left to do is done.
        task_status: Told once the mount answers.
    """
    measurements = Measurements()
    backend = measured(store, measurements)
    clock = Clock(await backend.load_clock())
    await backend.save_clock(clock.mark())
    tree = Tree(backend, clock, Owner(uid=os.getuid(), gid=os.getgid(), mode=0o755))
    async with trio.open_nursery() as nursery:
        parts = _parts(backend, clock, tree, options, nursery)
        settling = Settling(parts)
        about = About(url, backend, parts.upkeep, Metrics(backend, tree, clock, parts.waiting, measurements))
        service = Service(parts, settling, about, WholeStore(parts, tree))
        operations = Operations(service, tree, Filing(parts, settling), shared=backend.traits.shared)
        await parts.upkeep.round()  # what the last daemon had left is there when the mount is
        with ExitStack() as mounted:
            pyfuse3.init(operations, mountpoint, _fuse_options(options))
            mounted.callback(pyfuse3.close)
            mounted.enter_context(short_wait())
            ended = trio.Event()
            answering = trio.CancelScope()
            nursery.start_soon(_answer, answering, ended)
            nursery.start_soon(parts.upkeep.run)
            nursery.start_soon(parts.waiting.watch)
            try:
                if not await _until_it_answers(mountpoint):
                    parts.waiting.limit = WAITS_WITHOUT_BACKGROUND
                task_status.started()
                await _first_of(stop.wait(), ended.wait())
                service.stop()
                await _drain(operations, parts.handover, ended)
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


def _parts(backend: Backend, clock: Clock, tree: Tree, options: MountOptions, nursery: trio.Nursery) -> Parts:
    shared = backend.traits.shared
    defaults = Config(lease=options.lease, max_message_bytes=options.max_message_bytes)
    configs = Configs(backend, tree, defaults)
    waiting = Waiting(held_by_signalled)
    lobby = Lobby(
        claims=Turns(waiting, recheck=shared),
        room=Turns(waiting, recheck=shared),
        completion=Turns(waiting, recheck=shared),
    )
    events = Events(lobby, time.time)

    def hear(transitions: Sequence[Transition]) -> None:
        """Take note of what other daemons did; a change without a verb is one of a queue's record."""
        for one in transitions:
            if one.verb is None:
                tree.forget(one.queue)
        events.heard(transitions)

    backend.listen(hear)
    return Parts(
        backend=backend,
        clock=clock,
        configs=configs,
        handover=Handover(nursery, instant=backend.traits.instant),
        events=events,
        lobby=lobby,
        upkeep=Upkeep(backend, clock, configs, events),
        waiting=waiting,
    )


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


async def _until_it_answers(mountpoint: str) -> bool:
    """Look at the mount, from a thread: the loop must be free to answer. Return whether many may wait on it."""
    return await trio.to_thread.run_sync(raise_limit, mountpoint, abandon_on_cancel=True)


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
