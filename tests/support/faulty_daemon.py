"""The command with bugs put into its handlers, to see what a bug does to a mount.

Run as a program: what follows `--` are the arguments of the command.
"""

from __future__ import annotations

from queuefs.cli import main
from queuefs_memory import MemoryBackend
from queuefs_sqlite import SQLiteBackend


def bug(*_arguments: object, **_options: object) -> object:
    raise RuntimeError("a bug, made for a test")


def bugs(*_arguments: object, **_options: object) -> object:
    raise ExceptionGroup("several", [RuntimeError("a bug, made for a test"), ValueError("another")])


async def late_bug(*_arguments: object, **_options: object) -> object:
    raise RuntimeError("a bug, made for a test")


class WrongType:
    """Awaited, it gives something no handler expects."""

    def __await__(self):  # type: ignore[no-untyped-def]  # noqa: ANN204 - it is wrong on purpose
        yield from ()
        return 42


if __name__ == "__main__":
    MemoryBackend.peek = bug  # type: ignore[method-assign,assignment]
    MemoryBackend.clear = bugs  # type: ignore[method-assign,assignment]
    MemoryBackend.snapshot = lambda *_: WrongType()  # type: ignore[method-assign]
    MemoryBackend.publish = bug  # type: ignore[method-assign,assignment]
    SQLiteBackend.publish = late_bug  # type: ignore[method-assign,assignment]
    SQLiteBackend.tick = late_bug  # type: ignore[method-assign,assignment]
    main()
