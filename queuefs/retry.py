"""What becomes of a message that comes back: another attempt, after a while, or the dead."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from queuefs.message import Ref, Verdict
from queuefs.values import MAX_SECONDS

if TYPE_CHECKING:
    from queuefs.backend import Overdue
    from queuefs.config import Config
    from queuefs.options import NackOptions

#: A pause is up to so much longer than asked for, by chance: messages that failed together do not come back together.
JITTER = 0.25


def pause_after(config: Config, attempt: int) -> float:
    """Return the seconds before a message that has had *attempt* attempts is handed out again."""
    if not config.retry_delay:
        return 0.0
    try:
        pause = config.retry_delay * config.retry_backoff ** max(0, attempt - 1)
    except OverflowError:
        pause = MAX_SECONDS
    return min(pause, MAX_SECONDS) * (1 + JITTER * random.random())  # noqa: S311 - no secret hangs on it


def is_last(config: Config, attempt: int) -> bool:
    """Return whether a message that has had *attempt* attempts gets no more."""
    return 0 < config.max_attempts <= attempt


def needs_attempt(config: Config, options: NackOptions) -> bool:
    """Return whether a nack has to know how often a message was handed out."""
    return not options.dead and (config.max_attempts > 0 or (config.retry_delay > 0 and options.delay is None))


def returned(config: Config, ref: Ref, attempt: int, options: NackOptions) -> Verdict:
    """Return what becomes of a message that its holder gives back."""
    last = is_last(config, attempt)
    return Verdict(
        ref=ref,
        delay=pause_after(config, attempt) if options.delay is None else options.delay,
        dead=options.dead or last,
        reason=options.reason or (f"given back at attempt {attempt}, the last" if last else None),
    )


def overdue(config: Config, message: Overdue) -> Verdict:
    """Return what becomes of a message whose lease has ended."""
    last = is_last(config, message.attempt)
    return Verdict(
        ref=message.receipt,
        delay=pause_after(config, message.attempt),
        dead=last,
        reason=f"the lease ended at attempt {message.attempt}, the last" if last else None,
    )
