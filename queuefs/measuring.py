"""How long the back end's calls take, and which fail: noted around each call, for the metrics."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from time import perf_counter
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from queuefs.errors import BackendError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from queuefs.backend import Backend

T = TypeVar("T")

#: Upper bounds of the histograms' buckets, seconds: from a call in memory to a command timeout.
BOUNDS = (0.00001, 0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 3.0, 10.0)

#: The calls on messages. Those on queues are answered from memory most of the time, and would only cost.
MEASURED = (
    *("stage", "append", "publish", "discard", "claim", "take", "undo", "ack", "nack", "expire", "extend", "clear"),
    *("cancel", "bury", "move", "retry", "peek", "page", "places", "read", "snapshot", "stats", "tick"),
)


class Latency:
    """The times that the calls of one method took."""

    __slots__ = ("counts", "sum")

    def __init__(self) -> None:
        """Begin with none."""
        #: How many ended within each of `BOUNDS` and not within the one before; the last: later.
        self.counts = [0] * (len(BOUNDS) + 1)
        #: Of all, seconds.
        self.sum = 0.0

    def note(self, seconds: float) -> None:
        """Count one call."""
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.sum += seconds


class Measurements:
    """What was noted since the daemon began."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.latencies = {name: Latency() for name in MEASURED}
        #: Failed calls by method and kind of error.
        self.errors: Counter[tuple[str, str]] = Counter()


class _Timed(Generic[T]):
    """An answer whose arrival is noted."""

    __slots__ = ("_answer", "_began", "_errors", "_latency", "_name")

    def __init__(self, answer: Awaitable[T], name: str, latency: Latency, errors: Counter[tuple[str, str]]) -> None:
        self._answer = answer
        self._name = name
        self._latency = latency
        self._errors = errors
        self._began = perf_counter()

    def __await__(self) -> Generator[object, object, T]:
        try:
            found = yield from self._answer.__await__()
        except BackendError as error:
            self._errors[self._name, type(error).__name__] += 1
            raise
        finally:
            self._latency.note(perf_counter() - self._began)
        return found


class _Measured:
    """A back end whose calls are noted; what is not noted is the back end's own."""

    def __init__(self, backend: Backend, measurements: Measurements) -> None:
        self._backend = backend
        for name in MEASURED:
            setattr(self, name, _noted(getattr(backend, name), name, measurements))

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._backend, name)
        setattr(self, name, value)  # so that it is found at once from now on
        return value


def measured(backend: Backend, measurements: Measurements) -> Backend:
    """Return *backend* as before, with every call on messages noted in *measurements*."""
    return cast("Backend", _Measured(backend, measurements))


def _noted(
    method: Callable[..., Awaitable[Any]], name: str, measurements: Measurements
) -> Callable[..., Awaitable[Any]]:
    latency, errors = measurements.latencies[name], measurements.errors

    def call(*args: Any, **kwargs: Any) -> Awaitable[Any]:
        return _Timed(method(*args, **kwargs), name, latency, errors)

    return call
