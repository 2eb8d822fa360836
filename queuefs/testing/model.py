"""Any sequence of calls leads a back end where it leads the memory back end: hypothesis thinks them up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import hypothesis
import trio
from hypothesis import strategies as st

from queuefs.lifecycle import State
from queuefs.message import Draft, Message, MessageId, Outcome, Record, Ref, Room, Status, Verdict
from queuefs.registry import open_backend
from queuefs.testing.base import Contract
from queuefs.testing.comparison import NAMES, SPANS
from queuefs.testing.play import Play

if TYPE_CHECKING:
    from queuefs.backend import Backend

#: The same examples each time: a failure that can't be repeated is worth little. Override it for a longer run.
PROFILE = hypothesis.settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=40,
    phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
    suppress_health_check=list(hypothesis.HealthCheck),
)

_PICK, _NAME, _SPAN = st.integers(0, 31), st.integers(0, len(NAMES) - 1), st.integers(0, len(SPANS) - 1)
_SELDOM = st.sampled_from([0, 0, 0, 0, *range(len(SPANS))])
_DATA, _PICKS = st.binary(max_size=5), st.lists(_PICK, min_size=1, max_size=3)
_ROOM = st.sampled_from([Room(), Room(), Room(messages=3), Room(bytes=6)])
_CONFIG = st.sampled_from([b"", b"", b"a", b"\0\xff"])
_DRAFT = st.builds(
    Draft,
    priority=st.sampled_from([0, 0, 0, 1, -1]),
    delay=_SELDOM,
    ttl=_SELDOM,
    key=st.sampled_from([None, None, None, "a", "b"]),
    extra=_CONFIG,
)
_MOSTLY = st.sampled_from([True, True, True, False])
_REFS = st.lists(st.tuples(_PICK, st.sampled_from([None, None, 1, 1, 2])), min_size=1, max_size=3)
_TERMS = st.builds(
    Verdict,
    ref=st.just(Ref(MessageId(1))),
    delay=_SELDOM,
    dead=st.sampled_from([False, False, True]),
    reason=st.sampled_from([None, "", "é\n"]),
)
_INLINE = st.sampled_from([None, None, 0, 2])
_OUTCOME = st.builds(Outcome, status=st.sampled_from(Status), detail=_CONFIG)
_NUMBER = st.just(MessageId(1))
_TEXT = st.sampled_from([None, None, "a", "é\n"])
_FILE = st.sampled_from(["ack", "dead", "é"])
#: What a message was elsewhere; its number and its moments are the step's.
_MESSAGE = st.builds(
    Message,
    id=_NUMBER,
    state=st.just(State.PENDING),
    data=st.none(),
    size=st.just(0),
    priority=st.sampled_from([0, 0, 1, -1]),
    enqueued_at=st.just(0.0),
    attempt=st.integers(0, 3),
    claims=st.integers(0, 3),
    lease_until=st.none(),
    due=_SELDOM,
    expires_at=_SELDOM,
    paused=st.booleans(),
    cancelled=st.booleans(),
    key=st.sampled_from([None, "a", "b"]),
    reason=_TEXT,
    extra=_CONFIG,
)
_RECORD = st.builds(
    Record,
    id=_NUMBER,
    status=st.sampled_from(Status),
    size=st.integers(0, 9),
    priority=st.integers(-1, 1),
    attempt=st.integers(0, 3),
    enqueued_at=st.just(0.0),
    claimed_at=st.sampled_from([None, 0.0]),
    finished_at=st.just(0.0),
    key=_TEXT,
    reason=_TEXT,
    extra=_CONFIG,
    detail=_CONFIG,
)


def _step(weight: int, verb: str, /, **arguments: st.SearchStrategy[Any]) -> list[st.SearchStrategy[Any]]:
    # each a strategy of its own, for `one_of` counts the same one only once
    return [st.tuples(st.just(verb), st.fixed_dictionaries(arguments)) for _ in range(weight)]


STEPS = st.one_of(
    *_step(1, "create_queue", parent=_PICK, name=_NAME),
    *_step(1, "remove_queue", queue=_PICK),
    *_step(1, "rename_queue", queue=_PICK, parent=_PICK, name=_NAME),
    *_step(1, "set_owner", queue=_PICK, uid=st.integers(0, 3)),
    *_step(1, "set_file_owner", queue=_PICK, file=_FILE, uid=st.integers(0, 3)),
    *_step(1, "set_config", queue=_PICK, config=_CONFIG, expected=_CONFIG),
    *_step(2, "stage", queue=_PICK, data=_DATA, draft=_DRAFT, room=_ROOM, partial=st.booleans()),
    *_step(8, "put", queue=_PICK, data=_DATA, draft=_DRAFT),
    *_step(
        3,
        "append",
        message=_PICK,
        data=_DATA,
        off=st.sampled_from([0, 0, 0, 1, -1]),
        partial=st.booleans(),
        room=_ROOM,
    ),
    *_step(2, "finish", message=_PICK, queue=_PICK, at_home=_MOSTLY, discard=st.booleans()),
    *_step(1, "stage_as", message=_PICK, ahead=st.integers(0, 2), queue=_PICK, data=_DATA, draft=_DRAFT),
    *_step(
        2,
        "restore",
        message=_PICK,
        state=st.sampled_from([State.PENDING, State.PROCESSING, State.DEAD]),
        like=_MESSAGE,
        lease=_SPAN,
    ),
    *_step(1, "restore_record", queue=_PICK, message=_PICK, like=_RECORD),
    *_step(1, "find_key", queue=_PICK, key=st.sampled_from(["a", "b", "A"])),
    *_step(10, "claim", queue=_PICK, count=st.integers(1, 3), lease=_SPAN, lifo=st.booleans(), inline=_INLINE),
    *_step(2, "take", messages=_PICKS, lease=_SPAN, queue=_PICK, at_home=_MOSTLY),
    *_step(
        4,
        "work",
        queue=_PICK,
        data=_DATA,
        draft=_DRAFT,
        cancelled=st.booleans(),
        how=st.sampled_from(["ack", "undo", "nack", "bury"]),
        outcome=_OUTCOME,
    ),
    *_step(4, "move", message=_PICK, queue=_PICK, target=_PICK, at_home=_MOSTLY, room=_ROOM),
    *_step(
        5,
        "settle",
        verb=st.sampled_from(["undo", "ack", "extend", "check"]),
        refs=_REFS,
        queue=_PICK,
        at_home=_MOSTLY,
        lease=_SPAN,
        outcome=_OUTCOME,
    ),
    *_step(5, "judge", expire=st.booleans(), refs=_REFS, terms=_TERMS, queue=_PICK, at_home=_MOSTLY),
    *_step(
        6,
        "name",
        verb=st.sampled_from(["pause", "resume", "cancel", "bury", "retry", "drop", "prune"]),
        messages=_PICKS,
        queue=_PICK,
        at_home=_MOSTLY,
    ),
    *_step(1, "finish_all", queue=_PICK, verb=st.sampled_from(["retry", "drop", "prune"])),
    *_step(1, "clear", queue=_PICK),
    *_step(1, "look", queue=_PICK, count=st.integers(1, 4), lifo=st.booleans(), inline=_INLINE),
    *_step(
        4,
        "page",
        queue=_PICK,
        state=st.sampled_from([State.PENDING, State.PENDING, State.PROCESSING, State.DEAD, State.DONE]),
        limit=st.integers(1, 3),
        lifo=st.booleans(),
    ),
    *_step(
        1,
        "read",
        message=_PICK,
        queue=_PICK,
        at_home=_MOSTLY,
        offset=st.integers(0, 3),
        size=st.integers(0, 3),
    ),
    *_step(4, "tick", seconds=st.sampled_from([0.0, 1.0, 4.0, 20.0])),
)


class ModelContract(Contract):
    """The memory back end is the model of all others."""

    #: How many examples are tried.
    model_settings = PROFILE

    async def test_it_does_what_the_memory_back_end_does(self, backend: Backend) -> None:
        """Whatever calls are made, the answers and all that can be seen are the same."""
        async with open_backend("memory:") as memory:
            examples = iter(range(10**6))

            def example(steps: list[tuple[str, dict[str, Any]]]) -> None:
                play = Play(backend, memory, name=f"example {next(examples)}")
                trio.from_thread.run(play.play, steps)

            # hypothesis is plain code, so it runs in a thread and comes back for each example
            given = hypothesis.given(st.lists(STEPS, min_size=40, max_size=80))
            await trio.to_thread.run_sync(self.model_settings(given(example)))
            assert await memory.audit() == []
