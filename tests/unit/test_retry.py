"""What becomes of a message that comes back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queuefs import retry
from queuefs.backend import Overdue
from queuefs.config import Config
from queuefs.message import MessageId, QueueId, Ref
from queuefs.options import NackOptions
from queuefs.values import MAX_SECONDS

REF = Ref(MessageId(7), 3)


@given(
    st.floats(0.001, MAX_SECONDS, allow_nan=False),
    st.floats(1, 1000, allow_nan=False),
    st.integers(1, 10**9),
)
def test_a_pause_is_never_shorter_than_asked_for_nor_much_longer(delay: float, factor: float, attempt: int) -> None:
    config = Config(retry_delay=delay, retry_backoff=factor)
    try:
        asked = min(delay * factor ** (attempt - 1), MAX_SECONDS)
    except OverflowError:
        asked = MAX_SECONDS

    assert asked <= retry.pause_after(config, attempt) <= asked * (1 + retry.JITTER)


def test_pauses_differ_so_that_messages_do_not_come_back_together() -> None:
    config = Config(retry_delay=10)

    assert len({retry.pause_after(config, 1) for _ in range(20)}) > 10


@pytest.mark.parametrize("attempt", [0, 1, 5, 10**9])
def test_without_a_delay_there_is_no_pause(attempt: int) -> None:
    assert 0 == retry.pause_after(Config(retry_backoff=1000), attempt)


@pytest.mark.parametrize(
    ("most", "attempt", "last"),
    [(0, 0, False), (0, 10**9, False), (3, 2, False), (3, 3, True), (3, 4, True), (1, 1, True)],
)
def test_the_last_attempt_is_the_one_that_reaches_the_limit(most: int, attempt: int, last: bool) -> None:  # noqa: FBT001
    config = Config(max_attempts=most)
    overdue = Overdue(queue=QueueId(1), receipt=REF, attempt=attempt, cancelled=False)

    assert last == retry.is_last(config, attempt)
    assert last == retry.returned(config, REF, attempt, NackOptions()).dead == retry.overdue(config, overdue).dead


def test_a_nack_says_more_than_the_queue() -> None:
    config = Config(retry_delay=100, max_attempts=9)

    verdict = retry.returned(config, REF, 1, NackOptions(delay=0.5, reason="no paper"))
    assert (REF, 0.5, False, "no paper") == (verdict.ref, verdict.delay, verdict.dead, verdict.reason)
    assert retry.returned(config, REF, 1, NackOptions(dead=True)).dead
    assert "no paper" == retry.returned(config, REF, 9, NackOptions(reason="no paper")).reason
    assert "given back at attempt 9, the last" == retry.returned(config, REF, 9, NackOptions()).reason
    assert retry.returned(config, REF, 1, NackOptions()).reason is None


@pytest.mark.parametrize(
    ("config", "options", "needed"),
    [
        (Config(), NackOptions(), False),
        (Config(max_attempts=1), NackOptions(), True),
        (Config(max_attempts=1), NackOptions(delay=1), True),
        (Config(max_attempts=1), NackOptions(dead=True), False),
        (Config(retry_delay=1), NackOptions(), True),
        (Config(retry_delay=1), NackOptions(delay=1), False),
    ],
)
def test_the_attempt_is_looked_up_only_where_it_matters(config: Config, options: NackOptions, needed: bool) -> None:  # noqa: FBT001
    assert needed == retry.needs_attempt(config, options)
