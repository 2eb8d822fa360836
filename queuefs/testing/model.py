"""Any sequence of calls leads a back end where it leads the memory back end: hypothesis thinks them up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import hypothesis
import trio
from hypothesis import strategies as st

from queuefs.registry import open_backend
from queuefs.testing.base import Contract
from queuefs.testing.comparison import LEASES, NAMES, Comparison

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

_PICK, _NAME, _LEASE = st.integers(0, 31), st.integers(0, len(NAMES) - 1), st.integers(0, len(LEASES) - 1)
_DATA, _PRIORITY = st.binary(max_size=5), st.sampled_from([0, 0, 0, 1, -1])
_MOSTLY = st.sampled_from([True, True, True, False])
_REF = st.tuples(_PICK, st.sampled_from([None, None, 1, 1, 2]))


def _step(weight: int, verb: str, /, **arguments: st.SearchStrategy[Any]) -> list[st.SearchStrategy[Any]]:
    # each a strategy of its own, for `one_of` counts the same one only once
    return [st.tuples(st.just(verb), st.fixed_dictionaries(arguments)) for _ in range(weight)]


STEPS = st.one_of(
    *_step(1, "create_queue", parent=_PICK, name=_NAME),
    *_step(1, "remove_queue", queue=_PICK),
    *_step(1, "rename_queue", queue=_PICK, parent=_PICK, name=_NAME),
    *_step(1, "set_owner", queue=_PICK, uid=st.integers(0, 3)),
    *_step(2, "stage", queue=_PICK, data=_DATA, priority=_PRIORITY, partial=st.booleans()),
    *_step(6, "put", queue=_PICK, data=_DATA, priority=_PRIORITY),
    *_step(3, "append", message=_PICK, data=_DATA, off=st.sampled_from([0, 0, 0, 1, -1]), partial=st.booleans()),
    *_step(2, "finish", message=_PICK, queue=_PICK, at_home=_MOSTLY, discard=st.booleans()),
    *_step(6, "claim", queue=_PICK, count=st.integers(1, 3), lease=_LEASE),
    *_step(
        8,
        "settle",
        verb=st.sampled_from(["undo", "ack", "nack", "extend", "check"]),
        refs=st.lists(_REF, min_size=1, max_size=3),
        queue=_PICK,
        at_home=_MOSTLY,
        lease=_LEASE,
    ),
    *_step(1, "clear", queue=_PICK),
    *_step(1, "look", queue=_PICK, count=st.integers(1, 4)),
    *_step(3, "tick", seconds=st.sampled_from([0.0, 1.0, 4.0, 20.0])),
)


class ModelContract(Contract):
    """The memory back end is the model of all others."""

    #: How many examples are tried.
    model_settings = PROFILE

    async def test_it_does_what_the_memory_back_end_does(self, backend: Backend) -> None:
        """Whatever calls are made, the answers and all that can be seen are the same."""
        async with open_backend("memory:") as memory:
            examples = iter(range(10**6))

            def play(steps: list[tuple[str, dict[str, Any]]]) -> None:
                comparison = Comparison(backend, memory, name=f"example {next(examples)}")
                trio.from_thread.run(comparison.play, steps)

            # hypothesis is plain code, so it runs in a thread and comes back for each example
            given = hypothesis.given(st.lists(STEPS, min_size=20, max_size=60))
            await trio.to_thread.run_sync(self.model_settings(given(play)))
            assert await memory.audit() == []
