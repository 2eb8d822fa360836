"""What holds for every test: a dirty log fails it, and what it leaves open is its own failure."""

from __future__ import annotations

import gc
import logging
import re
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
import structlog

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping
    from typing import Any

pytest.register_assert_rewrite("queuefs.testing")


@dataclass
class Logs:
    """What a test logged at warning and above, and which of it was announced."""

    dirty: list[str] = field(default_factory=list)
    _expected: list[tuple[re.Pattern[str], int]] = field(default_factory=list)

    def expect(self, pattern: str, *, count: int = 1) -> None:
        """Announce *count* records which contain the regular expression *pattern*."""
        self._expected.append((re.compile(pattern), count))

    def complaints(self) -> list[str]:
        """Return what was logged without notice, and what was announced and did not come."""
        found = []
        left = list(self.dirty)
        for pattern, count in self._expected:
            hits = [record for record in left if pattern.search(record)]
            left = [record for record in left if not pattern.search(record)]
            if len(hits) != count:
                found.append(f"expected {count} records like {pattern.pattern!r}, got {len(hits)}")
        return found + [f"logged without notice: {record}" for record in left]


class _Handler(logging.Handler):
    def __init__(self, logs: Logs) -> None:
        super().__init__(logging.WARNING)
        self._logs = logs

    def emit(self, record: logging.LogRecord) -> None:
        self._logs.dirty.append(f"{record.levelname.lower()} {record.getMessage()}")


@pytest.fixture(autouse=True)
def logs() -> Iterator[Logs]:
    """Fail the test for every warning or error it logs, unless it announced it by `logs.expect`."""
    logs = Logs()

    def keep(_logger: object, method: str, fields: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        if method in {"warning", "warn", "error", "exception", "critical"}:
            event = fields.pop("event", "")
            logs.dirty.append(" ".join([method, str(event), *(f"{key}={value}" for key, value in fields.items())]))
        raise structlog.DropEvent

    structlog.configure(processors=[keep])
    handler = _Handler(logs)
    logging.getLogger().addHandler(handler)
    yield logs
    logging.getLogger().removeHandler(handler)
    structlog.reset_defaults()
    assert logs.complaints() == []


def pytest_collection_finish() -> None:
    """Keep what imports have made out of every later collection, which takes a twentieth of the time then."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def no_garbage(logs: Logs) -> Iterator[None]:  # noqa: ARG001 - has to be set up first, to be torn down last
    """Collect what the test left, so that a ResourceWarning names the test whose fault it is."""
    yield
    gc.collect()


def pytest_configure() -> None:
    """Let the programs that tests start meet signals as a user's do, also if nohup or ``&`` began this run."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
