"""The table of states and verbs."""

from __future__ import annotations

import itertools

import pytest

from queuefs.errors import IllegalStep
from queuefs.lifecycle import TRANSITIONS, State, Verb, mermaid, step

PAIRS = list(itertools.product(State, Verb))
LEGAL = [(state, verb) for state, verb in PAIRS if verb in TRANSITIONS[state]]


@pytest.mark.parametrize(("state", "verb"), LEGAL)
def test_a_legal_step_leads_where_the_table_says(state: State, verb: Verb) -> None:
    assert step(state, verb) is TRANSITIONS[state][verb]


@pytest.mark.parametrize(("state", "verb"), [pair for pair in PAIRS if pair not in LEGAL])
def test_any_other_step_is_refused_by_name(state: State, verb: Verb) -> None:
    with pytest.raises(IllegalStep, match=f"{state} message.*{verb}"):
        step(state, verb)


def test_every_state_has_its_row() -> None:
    assert set(TRANSITIONS) == set(State)


def test_every_verb_leads_somewhere() -> None:
    assert {verb for steps in TRANSITIONS.values() for verb in steps} == set(Verb)


def test_every_state_is_reached_from_the_first() -> None:
    reached = {State.STAGED}
    while more := {target for state in reached for target in TRANSITIONS[state].values()} - reached:
        reached |= more
    assert reached == set(State)


def test_nothing_comes_back() -> None:
    assert TRANSITIONS[State.GONE] == {}


def test_a_message_leaves_by_these_verbs_alone() -> None:
    """A failed handler, a dead worker or a lost ack leaves it unacknowledged."""
    leaving = {verb for steps in TRANSITIONS.values() for verb, target in steps.items() if target is State.GONE}
    assert leaving == {
        Verb.DISCARD,
        Verb.REPEAT,
        Verb.LAPSE,
        Verb.CLEAR,
        Verb.DROP,
        Verb.PRUNE,
        Verb.TERMINATE,
    }


def test_a_message_is_done_by_these_verbs_alone() -> None:
    """What lapses or is cleared leaves no record."""
    done = {(state, verb) for state, verb in LEGAL if TRANSITIONS[state][verb] is State.DONE}
    assert done == {(State.PROCESSING, Verb.ACK), (State.PENDING, Verb.CANCEL)}


def test_what_is_done_can_only_be_forgotten() -> None:
    assert set(TRANSITIONS[State.DONE].values()) == {State.GONE}


def test_nothing_but_a_retry_or_a_drop_ends_being_dead() -> None:
    assert TRANSITIONS[State.DEAD] == {Verb.RETRY: State.PENDING, Verb.DROP: State.GONE}


def test_what_is_in_processing_is_neither_paused_nor_moved_nor_lapses() -> None:
    """Its holder decides, or the end of its lease; nor does it go to another queue."""
    assert not {Verb.PAUSE, Verb.RESUME, Verb.LAPSE, Verb.MOVE} & set(TRANSITIONS[State.PROCESSING])


def test_what_is_staged_can_only_be_finished_by_its_writer() -> None:
    """To give way to another of its key is what its publication may come to."""
    assert set(TRANSITIONS[State.STAGED]) == {Verb.PUBLISH, Verb.REPEAT, Verb.DISCARD}


def test_only_burials_lead_to_the_dead() -> None:
    to_dead = {(state, verb) for state, verb in LEGAL if TRANSITIONS[state][verb] is State.DEAD}
    assert to_dead == {(State.PENDING, Verb.BURY), (State.PROCESSING, Verb.BURY)}


def test_the_drawing_has_every_step() -> None:
    lines = mermaid().splitlines()
    assert lines[:2] == ["stateDiagram-v2", "    [*] --> staged: first write"]
    assert "    processing --> pending: nack" in lines
    assert "    processing --> done: ack" in lines
    assert "    done --> [*]: prune" in lines
    assert len(lines) == 2 + len(LEGAL)
