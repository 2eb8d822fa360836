"""The life of a message as a table: which verb leads from which state to which.

Rule 1: every state and every step between states stands in this file; nothing else decides what may follow.
Rule 2: this file knows no clock, no storage and no file system.

A back end stores states and may make steps in whatever way is atomic for it; the contract tests drive every pair of
state and verb through it and compare with this table.
"""

from __future__ import annotations

from enum import StrEnum

from queuefs.errors import IllegalStep


class State(StrEnum):
    """Where a message stands."""

    #: Being written; in no count and seen by nobody but its writer.
    STAGED = "staged"
    #: Waiting to be handed out.
    PENDING = "pending"
    #: Handed out under a lease and not settled yet.
    PROCESSING = "processing"
    #: Set aside: its attempts are used up, or somebody said so. In no count of what is unacknowledged.
    DEAD = "dead"
    #: Settled for good: the payload is gone, a record of it may be kept for a while. In no count.
    DONE = "done"
    #: Left the queue for good; no back end keeps anything of it.
    GONE = "gone"


class Verb(StrEnum):
    """What can happen to a message."""

    #: Its writer closed the file: consumers may see it.
    PUBLISH = "publish"
    #: Its writer was killed or failed: it never was.
    DISCARD = "discard"
    #: A message of the same key is there: it gives way to that one when it would be published.
    REPEAT = "repeat"
    #: A consumer takes it, under a lease.
    DEQUEUE = "dequeue"
    #: The consumer closed before it had read all of it: the claim never was.
    UNDO = "undo"
    #: The lease ended before the message was settled.
    EXPIRE = "expire"
    ACK = "ack"
    NACK = "nack"
    EXTEND = "extend"
    #: Set aside as dead: by somebody who says so, or because a nack or the end of a lease used its last attempt up.
    BURY = "bury"
    #: It goes to another queue, and keeps its id, its priority and what is due.
    MOVE = "move"
    #: A dead message gets another life.
    RETRY = "retry"
    #: A dead message is dropped.
    DROP = "drop"
    #: It shall not be done; a message in processing keeps its holder, who is told by `extend`.
    CANCEL = "cancel"
    #: It is not handed out until it is resumed.
    PAUSE = "pause"
    RESUME = "resume"
    #: Its time to live ended while it was pending.
    LAPSE = "lapse"
    CLEAR = "clear"
    #: A record is dropped by name.
    PRUNE = "prune"
    #: A record is dropped because its time is over, or later ones take its place.
    TERMINATE = "terminate"


TRANSITIONS: dict[State, dict[Verb, State]] = {
    State.STAGED: {
        Verb.PUBLISH: State.PENDING,
        Verb.REPEAT: State.GONE,
        Verb.DISCARD: State.GONE,
    },
    State.PENDING: {
        Verb.DEQUEUE: State.PROCESSING,
        Verb.PAUSE: State.PENDING,
        Verb.RESUME: State.PENDING,
        Verb.MOVE: State.PENDING,
        Verb.BURY: State.DEAD,
        Verb.CANCEL: State.DONE,
        Verb.LAPSE: State.GONE,
        Verb.CLEAR: State.GONE,
    },
    State.PROCESSING: {
        Verb.UNDO: State.PENDING,
        Verb.EXPIRE: State.PENDING,
        Verb.ACK: State.DONE,
        Verb.NACK: State.PENDING,
        Verb.BURY: State.DEAD,
        Verb.EXTEND: State.PROCESSING,
        Verb.CANCEL: State.PROCESSING,
        Verb.CLEAR: State.GONE,
    },
    State.DEAD: {
        Verb.RETRY: State.PENDING,
        Verb.DROP: State.GONE,
    },
    State.DONE: {
        Verb.PRUNE: State.GONE,
        Verb.TERMINATE: State.GONE,
    },
    State.GONE: {},
}


def step(state: State, verb: Verb) -> State:
    """Return the state that *verb* leads to from *state*.

    Raises:
        IllegalStep: the table has no such step.
    """
    try:
        return TRANSITIONS[state][verb]
    except KeyError:
        raise IllegalStep(f"a {state} message can't take {verb}") from None


def mermaid() -> str:
    """Return the table as a Mermaid state diagram (the documentation contains this text, and a test compares)."""
    lines = ["stateDiagram-v2", f"    [*] --> {State.STAGED}: first write"]
    for state, steps in TRANSITIONS.items():
        for verb, target in steps.items():
            end = "[*]" if target is State.GONE else target
            lines.append(f"    {state} --> {end}: {verb}")
    return "\n".join(lines) + "\n"
