"""A daemon that works until it is killed, and says on stdout what it was told is done.

Each line is a verb and an id; it is written only after the back end has answered.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import trio

from queuefs.message import ROOT, Draft, Owner, Room, Verdict
from queuefs.registry import open_backend

if TYPE_CHECKING:
    from queuefs.backend import Backend
    from queuefs.message import QueueId

NOW = 1000.0


def say(verb: str, message: int) -> None:
    """Report in one write, so that a kill leaves whole lines."""
    os.write(1, f"{verb} {message}\n".encode("ascii"))


async def produce(backend: Backend, queue: QueueId, number: int) -> None:
    """Write messages in two parts, and publish them unless *number* is 3."""
    draft, room = Draft(priority=number % 3), Room()
    while True:
        say("staging", number)
        message = await backend.stage(queue, b"first", draft=draft, room=room, partial=True, now=NOW)
        say("partial", message)
        await backend.append(queue, message, b"second" * number, offset=5, partial=False, room=room)
        say("staged", message)
        if number != 3:
            await backend.publish(queue, message, now=NOW, window=0.0)
            say("published", message)


async def consume(backend: Backend, queue: QueueId) -> None:
    """Take messages, and acknowledge most of them; of the others, the even ones die."""
    while True:
        for message in await backend.claim(queue, count=3, lease=600.0, lifo=False, now=NOW):
            say("claimed", message.id)
            if message.id % 5:
                await backend.ack(queue, [message.receipt], now=NOW)
                say("acked", message.id)
            else:
                verdict = Verdict(ref=message.receipt, delay=9.0, dead=message.id % 2 == 0, reason="r" * 50)
                await backend.nack(queue, [verdict], now=NOW)
                say("nacked", message.id)
        await trio.lowlevel.checkpoint()


async def main(url: str) -> None:
    """Work for ever."""
    async with open_backend(url) as backend, trio.open_nursery() as nursery:
        found = await backend.find_queue(ROOT, "jobs")
        if found is None:
            found = await backend.create_queue(ROOT, "jobs", owner=Owner(uid=0, gid=0, mode=0o700), now=NOW)
        for number in range(6):
            nursery.start_soon(produce, backend, found.id, number)
        for _ in range(2):
            nursery.start_soon(consume, backend, found.id)


if __name__ == "__main__":
    trio.run(main, sys.argv[1])
