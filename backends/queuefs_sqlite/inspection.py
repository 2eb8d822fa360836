"""Audits and repairs, beside the work that goes on: looks are made on a connection and in a thread of their own."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

import trio

from queuefs.errors import BackendError
from queuefs_sqlite import checks, faults
from queuefs_sqlite.statements import Snapshot

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from queuefs_sqlite.checks import Finding
    from queuefs_sqlite.engine import Engine
    from queuefs_sqlite.store import Store

    #: Has the writer thread do something.
    Write = Callable[[Callable[[Store], Any]], Awaitable[Any]]

#: How many steps of a repair are handed over at once.
_STEPS = 16

#: How often a look that takes its time asks whether it is still wanted: about 100 times a second.
_INSTRUCTIONS = 200_000


async def audit(engine: Engine, memory: Awaitable[Sequence[Finding]]) -> list[str]:
    """See `Backend.audit`; *memory* is under way, and done when all that was called before it is."""
    found = [*await memory, *await _look(engine, checks.contents), *await _look(engine, checks.counters)]
    return [finding.sentence for finding in found]


async def repair(engine: Engine, memory: Awaitable[Sequence[Finding]], write: Write) -> list[str]:
    """See `Backend.repair`. Counters come last: they are changed by what is done about messages."""
    done = await _mend(write, await memory)
    done += await _mend(write, await _look(engine, checks.contents))
    done += await _mend(write, await _look(engine, checks.counters))
    return done


async def _look(engine: Engine, check: Callable[[Snapshot], Iterable[Finding]]) -> list[Finding]:
    return await trio.to_thread.run_sync(_look_in_thread, engine, check)


def _look_in_thread(engine: Engine, check: Callable[[Snapshot], Iterable[Finding]]) -> list[Finding]:
    try:
        with engine.lookers.one() as db:
            db.set_progress_handler(_is_cancelled, _INSTRUCTIONS)
            return list(check(Snapshot(db)))
    except sqlite3.Error as error:
        trio.from_thread.check_cancelled()
        raise faults.translated(error) from error


def _is_cancelled() -> bool:
    try:
        trio.from_thread.check_cancelled()
    except trio.Cancelled:
        return True
    return False


async def _mend(write: Write, findings: Sequence[Finding]) -> list[str]:
    """Take the steps of each finding, and return what was done."""
    said: list[str] = []
    steps = [(finding, step) for finding in findings for step in finding.steps]
    outcomes: dict[int, str] = {}
    for at in range(0, len(steps), _STEPS):
        answers = [(finding, write(step)) for finding, step in steps[at : at + _STEPS]]
        for finding, answer in answers:
            try:
                if await answer:
                    outcomes.setdefault(id(finding), finding.done)
            except BackendError as error:
                outcomes[id(finding)] = f"not repaired: {finding.sentence} ({error})"
    for finding in findings:
        if not finding.steps:
            said.append(f"not repaired: {finding.sentence}")
        elif id(finding) in outcomes:
            said.append(outcomes[id(finding)])
    return said
