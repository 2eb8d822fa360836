"""What a close leaves to be done holds up the calls behind it only where they have to wait for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import trio
import trio.testing

from queuefs.errors import BackendError, BackendUnavailable, StoreFull
from queuefs.handover import Handover
from queuefs.message import QueueId

if TYPE_CHECKING:
    from trio.testing import MockClock

    from tests.conftest import Logs

QUEUE = QueueId(1)


async def start(handover: Handover, error: type[BackendError]) -> None:
    """Hand over what fails by *error* for good, and let it fail once."""

    async def fail() -> None:
        raise error

    await handover.until_done(QUEUE, fail, lambda _done: None)
    await trio.testing.wait_all_tasks_blocked()


async def test_an_outage_holds_up_what_follows(autojump_clock: MockClock, logs: Logs) -> None:
    del autojump_clock
    logs.expect("not done after close")
    async with trio.open_nursery() as nursery:
        handover = Handover(nursery, instant=False)
        await start(handover, BackendUnavailable)
        with pytest.raises(BackendUnavailable):
            await handover.barrier(QUEUE)
        await handover.barrier(QueueId(2))
        nursery.cancel_scope.cancel()


async def test_a_full_disk_holds_up_nobody(logs: Logs) -> None:
    """Those who read and settle make the room that it waits for."""
    logs.expect("not done after close")
    async with trio.open_nursery() as nursery:
        handover = Handover(nursery, instant=False)
        await start(handover, StoreFull)
        with trio.fail_after(1):
            await handover.barrier(QUEUE)
        nursery.cancel_scope.cancel()
