"""Waiting for what has to come, without a guess at how long it takes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

#: Seconds after which what has to come counts as missing; far more than it should take on a loaded machine.
PATIENCE = 30.0

#: Seconds between two looks.
LOOK = 0.01


def eventually(is_so: Callable[[], bool]) -> None:
    """Return once *is_so* says yes; fail if it doesn't within `PATIENCE`."""
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(LOOK)
