"""A queue with messages in every state, for programs that may or may not leave them where they are."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.support.files import STATES
from tests.support.programs import sh
from tests.support.queue import put

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path


@dataclass(frozen=True)
class Filled:
    """Three messages are pending, one is in each of the other states; beside it is a directory outside of the mount."""

    path: Path
    #: What is not in the mount; it holds a file `f`.
    outside: Path
    #: The ids by state, as they were at first.
    before: dict[str, list[str]]

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        """Run *script* in bash, in the queue's directory.

        There `$P` and `$P2` are pending, `$R` is in processing, `$D` is dead, `$N` is done, and `$O` is outside.
        """
        before, words = self.before, ("P", "P2", "R", "D", "N")
        ids = (*before["pending"][:2], before["processing"][0], before["dead"][0], before["done"][0])
        variables = "".join(f"{word}={number} " for word, number in zip(words, ids, strict=True))
        done = sh(f"{variables} O={self.outside}\n{script}", self.path)
        assert done.returncode != 127, f"a program of this test is not installed: {done.stderr}"
        return done

    def now(self) -> dict[str, list[str]]:
        """Return the ids by state."""
        return {state: sorted(os.listdir(self.path / state), key=int) for state in STATES}

    def after(self, moves: str) -> dict[str, list[str]]:
        """Return what `now` gives once *moves* were made: a state and where its first message went, `pending>dead`."""
        ids = {state: list(some) for state, some in self.before.items()}
        for move in moves.split():
            source, _, target = move.partition(">")
            moved = ids[source].pop(0)
            if target != "gone":
                ids[target] = sorted([*ids[target], moved], key=int)
        return ids

    def remove(self) -> None:
        """Remove all messages, and the queue; something that is staged would be in the way."""
        (self.path / "clear").write_text("\n")
        (self.path / "ctl").write_text("drop all\n")
        self.path.rmdir()


def fill(queue: Path, outside: Path) -> Filled:
    """Put messages into *queue*, and a file into *outside*."""
    put(queue, *(b"needle %d\n" % number for number in range(6)))
    held, dead, done, *_ = sorted(os.listdir(queue / "pending"), key=int)
    (queue / "pending" / held).rename(queue / "processing" / held)
    (queue / "pending" / dead).rename(queue / "dead" / dead)
    (queue / "pending" / done).unlink()
    outside.mkdir()
    (outside / "f").write_text("from outside\n")
    filled = Filled(queue, outside, {})
    return Filled(queue, outside, filled.now())
