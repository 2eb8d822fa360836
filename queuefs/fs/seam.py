"""The one place where an error becomes an errno, around every handler.

pyfuse3 lets no other exception than `FUSEError` out of a handler: anything else ends its main loop, and with it the
mount of everybody (measured with pyfuse3 3.5.0; its `Operations` docstring says as much).
"""

from __future__ import annotations

import errno
import functools
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import pyfuse3
import structlog

from queuefs.errors import BackendError, QueueFSError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C", bound=type)

log = structlog.get_logger(__name__)


def answered(handler: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[object, object, T]]:
    """Let *handler* raise what it likes: the caller gets an errno, the log the reason, and the mount lives on."""
    name = getattr(handler, "__name__", repr(handler))

    @functools.wraps(handler)
    async def answer(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await handler(*args, **kwargs)
        except pyfuse3.FUSEError:
            raise
        except BackendError as error:
            log.warning("back end failed", call=name, reason=str(error), errno=errno.errorcode[error.errno])
            raise pyfuse3.FUSEError(error.errno) from error
        except QueueFSError as error:
            # Programs look names up to see whether they are there; that is no refusal worth a line.
            tell = log.debug if name == "lookup" else log.info
            tell("refused", call=name, reason=str(error), errno=errno.errorcode[error.errno])
            raise pyfuse3.FUSEError(error.errno) from error
        except Exception as error:
            log.exception("a bug in QueueFS", call=name)
            raise pyfuse3.FUSEError(errno.EIO) from error

    answer.is_answered = True  # type: ignore[attr-defined]  # a test looks for it
    return answer


#: What pyfuse3 calls that is not a request with an answer.
NOT_REQUESTS = frozenset({"init", "stacktrace"})


def all_answered(operations: C) -> C:
    """Put the seam around every handler that the class *operations* defines."""
    for name, handler in list(vars(operations).items()):
        if name in vars(pyfuse3.Operations) and name not in NOT_REQUESTS and callable(handler):
            setattr(operations, name, answered(handler))
    return operations
