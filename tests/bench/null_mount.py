"""A file system that does nothing, on pyfuse3: the floor for what a mount written in Python can cost.

Run as a program: `python null_mount.py DIRECTORY`; mounts until SIGTERM, and prints a line when it answers.
It has one directory `q` with the files `enqueue` (cached), `dequeue` and `ack` (looked up at each open), and answers
the requests that QueueFS answers, with the short wait that QueueFS has.
"""

from __future__ import annotations

import os
import signal
import stat
import sys

import pyfuse3
import trio

from queuefs.fs.shortwait import short_wait

QUEUE = 2
FILES = {b"enqueue": 3, b"dequeue": 4, b"ack": 5}
LINE = b'{"id":"1","data":"' + b"x" * 100 + b'","receipt":"1.1","attempt":1,"priority":0}\n'
CACHED = {1, QUEUE, FILES[b"enqueue"]}


class Null(pyfuse3.Operations):
    """Answers, and stores nothing."""

    def _attributes(self, inode: int) -> pyfuse3.EntryAttributes:
        entry = pyfuse3.EntryAttributes()
        entry.st_ino = inode
        entry.st_mode = stat.S_IFDIR | 0o755 if inode <= QUEUE else stat.S_IFREG | 0o666
        entry.st_size = 1_000_001 if inode == FILES[b"dequeue"] else 0
        entry.entry_timeout = entry.attr_timeout = 300 if inode in CACHED else 0
        return entry

    async def lookup(self, parent_inode: int, name: bytes, ctx: object) -> pyfuse3.EntryAttributes:
        del ctx
        if parent_inode == 1 and name == b"q":
            return self._attributes(QUEUE)
        if parent_inode == QUEUE and name in FILES:
            return self._attributes(FILES[name])
        raise pyfuse3.FUSEError(2)

    async def getattr(self, inode: int, ctx: object) -> pyfuse3.EntryAttributes:
        del ctx
        return self._attributes(inode)

    async def setattr(self, inode: int, *_rest: object) -> pyfuse3.EntryAttributes:
        return self._attributes(inode)

    async def open(self, inode: int, flags: int, ctx: object) -> pyfuse3.FileInfo:
        del flags, ctx
        return pyfuse3.FileInfo(fh=inode, direct_io=True, keep_cache=False)

    async def read(self, fh: int, off: int, size: int) -> bytes:
        del fh
        return LINE[off : off + size]

    async def write(self, fh: int, off: int, buf: bytes) -> int:
        del fh, off
        return len(buf)

    async def flush(self, fh: int) -> None:
        del fh

    async def release(self, fh: int) -> None:
        del fh


async def serve(directory: str) -> None:
    """Mount at *directory* until SIGTERM."""
    pyfuse3.init(Null(), directory, {"fsname=null", "default_permissions", "allow_other"})
    try:
        with short_wait(), trio.open_signal_receiver(signal.SIGTERM) as signals:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(pyfuse3.main, 32, 1000)
                await trio.to_thread.run_sync(os.stat, directory)
                print("ready", flush=True)
                async for _ in signals:
                    pyfuse3.terminate()
                    break
    finally:
        pyfuse3.close()


if __name__ == "__main__":
    trio.run(serve, sys.argv[1])
