"""The daemon: its resources in the order in which they are opened, and the signals that end it."""

from __future__ import annotations

import resource
import signal
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import structlog
import trio

from queuefs.fs.mount import serve
from queuefs.notify import notify
from queuefs.registry import open_backend, redacted

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from queuefs.settings import MountOptions

log = structlog.get_logger(__name__)


async def run(url: str, mountpoint: str, options: MountOptions, *, when_ready: Callable[[], None]) -> None:
    """Serve the store at *url* at *mountpoint* until a signal or an unmount from outside ends it.

    Args:
        url: Names the back end.
        mountpoint: Absolute path of an empty directory.
        options: How the mount behaves.
        when_ready: Called once the mount answers; not called if a signal came first.

    Raises:
        QueueFSError: the store can't be opened, or the mount failed; with one sentence for the user.
    """
    _allow_open_files()
    stop, answering = trio.Event(), trio.Event()
    async with AsyncExitStack() as stack:
        signals = stack.enter_context(trio.open_signal_receiver(*_ending_signals()))
        attendants = await stack.enter_async_context(trio.open_nursery())
        stack.callback(attendants.cancel_scope.cancel)
        opening = stack.enter_context(trio.CancelScope())
        serving = trio.CancelScope()
        attendants.start_soon(_heed, signals, stop, answering, opening, serving)

        backend = await stack.enter_async_context(open_backend(url))
        stack.enter_context(serving)
        mount = await stack.enter_async_context(trio.open_nursery())
        await mount.start(serve, backend, url, mountpoint, options, stop)

        answering.set()
        log.info("mounted", mountpoint=mountpoint, backend=redacted(url))
        notify("READY=1")
        when_ready()
    log.info("ended", mountpoint=mountpoint)


async def _heed(
    signals: AsyncIterator[int],
    stop: trio.Event,
    answering: trio.Event,
    opening: trio.CancelScope,
    serving: trio.CancelScope,
) -> None:
    """End the daemon: at the first signal in good order, at the second at once, at the third without us."""
    async for number in signals:
        name = signal.Signals(number).name
        if stop.is_set():
            log.warning("stopping at once", signal=name)
            serving.cancel()
            signal.signal(number, signal.SIG_DFL)
            continue
        log.info("stopping", signal=name)
        notify("STOPPING=1")
        stop.set()
        if not answering.is_set():  # nothing is served yet: there is nothing to finish
            opening.cancel()


def _allow_open_files() -> None:
    """Raise the soft limit of open files: long listings and the looks at callers take one each."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _ending_signals() -> list[signal.Signals]:
    """Return the signals that end the daemon; SIGHUP is one of them unless `nohup` had it ignored."""
    numbers = [signal.SIGTERM, signal.SIGINT]  # SIGINT also where a script started us with `&`, which ignores it
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    return numbers
