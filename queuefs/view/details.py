"""What is known of one queue, and what can be done to it with a key."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from queuefs.view.messages import first_messages
from queuefs.view.queues import config, is_paused, look, tell

if TYPE_CHECKING:
    from queuefs.view.messages import Facts
    from queuefs.view.queues import Look


class Details(NamedTuple):
    """A queue, looked at closely."""

    path: str
    config: dict[str, str]
    look: Look | None
    messages: list[Facts]
    #: Why it can't be looked at.
    problem: str | None = None


class Said(NamedTuple):
    """What came of what was to be done, as a sentence."""

    text: str


def details(path: str, messages: int) -> Details:
    """Look at the queue *path*, and at the first of its *messages*."""
    try:
        return Details(path, config(path), look(path), list(first_messages(path, messages)))
    except OSError as error:
        return Details(path, {}, None, [], os.strerror(error.errno or 0))


def pause_or_resume(path: str, name: str) -> Said:
    """Let the queue hand out nothing, or hand out again."""
    try:
        paused = not is_paused(path)
        tell(path, "config", f"paused = {str(paused).lower()}")
    except OSError as error:
        return _refused(name, error)
    return Said(f"{name} is paused" if paused else f"{name} goes on")


def retry_dead(path: str, name: str) -> Said:
    """Make the dead messages of the queue pending again."""
    try:
        dead = look(path).dead
        if dead:
            tell(path, "ctl", "retry all\n")
    except OSError as error:
        return _refused(name, error)
    return Said(f"{name}: {dead} dead retried" if dead else f"{name} has no dead messages")


def clear(path: str, name: str) -> Said:
    """Drop the pending messages of the queue and those in processing."""
    try:
        tell(path, "clear", "\n")
    except OSError as error:
        return _refused(name, error)
    return Said(f"{name} is cleared")


def _refused(name: str, error: OSError) -> Said:
    return Said(f"{name}: {os.strerror(error.errno or 0)}")
