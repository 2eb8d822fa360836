"""A daemon that works until it is killed, and says on stdout what it was told is done.

Each line is a verb and an id; it is written only after the back end has answered.
"""

from __future__ import annotations

import os
import sys

import trio

from queuefs.message import ROOT, Draft, Owner, QueueId, Room
from queuefs.registry import open_backend

NOW = 1000.0


def say(verb: str, message: int) -> None:
    """Report in one write, so that a kill leaves whole lines."""
    os.write(1, f"{verb} {message}\n".encode("ascii"))


async def main(url: str) -> None:
    """Work for ever."""
    async with open_backend(url) as backend, trio.open_nursery() as nursery:
        found = await backend.find_queue(ROOT, "jobs")
        if found is None:
            found = await backend.create_queue(ROOT, "jobs", owner=Owner(uid=0, gid=0, mode=0o700), now=NOW)
        queue = found.id

        async def produce(number: int) -> None:
            while True:
                say("staging", number)
                message = await backend.stage(
                    queue, b"first", draft=Draft(priority=number % 3), room=Room(), partial=True, now=NOW
                )
                say("partial", message)
                await backend.append(queue, message, b"second" * number, offset=5, partial=False, room=Room())
                say("staged", message)
                if number != 3:  # 3 leaves its messages staged
                    await backend.publish(queue, message, now=NOW, window=0.0)
                    say("published", message)

        async def consume(queue: QueueId) -> None:
            while True:
                for message in await backend.claim(queue, count=3, lease=600.0, lifo=False, now=NOW):
                    say("claimed", message.id)
                    await backend.ack(queue, [message.receipt])
                    say("acked", message.id)
                await trio.lowlevel.checkpoint()

        for number in range(6):
            nursery.start_soon(produce, number)
        for _ in range(2):
            nursery.start_soon(consume, queue)


if __name__ == "__main__":
    trio.run(main, sys.argv[1])
