"""Every error QueueFS raises on purpose, each with the errno that a program sees at the file."""

from __future__ import annotations

import errno
from typing import ClassVar


class QueueFSError(Exception):
    """Something went wrong in QueueFS."""

    #: What the kernel hands to the program that made the call.
    errno: ClassVar[int] = errno.EIO

    def __init__(self, message: str | None = None) -> None:
        """Keep *message*; without one, the class's docstring is the message."""
        super().__init__(message or (type(self).__doc__ or "").strip())


class IllegalStep(QueueFSError):
    """The message's state does not allow this verb."""

    errno = errno.EINVAL


# Queues ------------------------------------------------------------------------------------------------------------


class QueueNotFound(QueueFSError, LookupError):
    """There is no such queue."""

    errno = errno.ENOENT


class QueueExists(QueueFSError):
    """A queue of that name exists already."""

    errno = errno.EEXIST


class QueueNotEmpty(QueueFSError):
    """The queue holds child queues, unacknowledged messages or dead ones."""

    errno = errno.ENOTEMPTY


class QueueBusy(QueueFSError):
    """A message of the queue is being written."""

    errno = errno.EBUSY


class QueuePaused(QueueFSError):
    """The queue is paused: nothing is handed out."""

    errno = errno.EBUSY


class BadName(QueueFSError):
    """That name can't be a queue's."""

    errno = errno.EINVAL


class BadNameEncoding(BadName):
    """A queue's name must be UTF-8."""

    errno = errno.EILSEQ


class NameTooLong(BadName):
    """A queue's name may have 255 bytes at most."""

    errno = errno.ENAMETOOLONG


class NotPermitted(QueueFSError):
    """The tree of a mount is made of queues and control files alone."""

    errno = errno.EPERM


class AccessDenied(QueueFSError):
    """The file's mode does not let this user open it so."""

    errno = errno.EACCES


class WholeStoreBusy(QueueFSError):
    """Something else is done with the whole store just now."""

    errno = errno.EBUSY


# Messages ----------------------------------------------------------------------------------------------------------


class MessageNotFound(QueueFSError, LookupError):
    """No message of that id is unacknowledged in this queue."""

    errno = errno.ENOENT


class StaleReceipt(QueueFSError):
    """That claim is over: the message is not in processing, or someone else holds it."""

    errno = errno.ESTALE


class BadValue(QueueFSError, ValueError):
    """That value can't be used here."""

    errno = errno.EINVAL


class MessageBusy(QueueFSError):
    """The message is paused, or somebody holds it."""

    errno = errno.EBUSY


class MessageGone(QueueFSError):
    """The message has left the queue since the file was opened."""

    errno = errno.ESTALE


class MessageTooBig(QueueFSError):
    """The message is over the limit."""

    errno = errno.EFBIG


class QueueFull(QueueFSError):
    """The queue has no room for this message."""

    errno = errno.ENOSPC


class KeyInUse(QueueFSError):
    """A message of this key is there already."""

    errno = errno.EEXIST


class IdInUse(QueueFSError):
    """There is something of that id already."""

    errno = errno.EEXIST


class MessageCancelled(QueueFSError):
    """The message was cancelled; its holder should stop."""

    errno = errno.ECANCELED


class IdsExhausted(QueueFSError):
    """The message ids are used up; an id is never used again, so this queue store can take no more messages."""

    errno = errno.EOVERFLOW


# The back end ------------------------------------------------------------------------------------------------------


class BackendError(QueueFSError):
    """The back end failed."""

    #: Whether the same call may succeed later, with nothing done about it by the caller.
    may_pass: ClassVar[bool] = False


class BackendUnavailable(BackendError):
    """The back end can't be reached just now."""

    may_pass = True


class OutcomeUnknown(BackendError):
    """The back end failed before it said whether the change was made."""

    may_pass = True


class StoreFull(BackendError):
    """The store has no room left."""

    errno = errno.ENOSPC
    may_pass = True


class StoreUnusable(BackendError):
    """The store can't be opened."""


class StoreInUse(StoreUnusable):
    """Another daemon has the store open."""

    errno = errno.EBUSY


class StoreDamaged(BackendError):
    """What the store gave back is not what was put in."""


# Waiting -----------------------------------------------------------------------------------------------------------


class Interrupted(QueueFSError):
    """A signal ended the wait."""

    errno = errno.EINTR


class WouldBlock(QueueFSError):
    """It would have to wait, and shall not."""

    errno = errno.EAGAIN


class WaitTimedOut(QueueFSError):
    """The time for which it should wait is over."""

    errno = errno.ETIMEDOUT


class ShuttingDown(QueueFSError):
    """The daemon is stopping."""

    errno = errno.ESHUTDOWN
