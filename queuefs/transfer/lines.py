"""The lines of an export: what each of them says as JSON, and how one is read and checked.

What kind a line is, one of its names tells: ``queuefs_export`` the header, ``queue`` a queue, ``state`` a message,
``at`` a piece of a payload, ``gone`` the end of one whose pieces came and whose rest did not, ``status`` a record,
``totals`` the end. docs/reference/export-format.md has the whole of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta, Struct

from queuefs.config import Config
from queuefs.errors import BadValue, QueueFSError
from queuefs.message import Owner
from queuefs.names import queue_name
from queuefs.transfer.fields import Account, ExportLine, Id, Mode, Moment, Number, decode, file_name, wall
from queuefs.transfer.messages import GoneLine, MessageLine, PieceLine, RecordLine

if TYPE_CHECKING:
    from queuefs.message import Queue

#: The form of the lines; another number is another form.
FORM = 1


class Header(ExportLine):
    """The first line."""

    queuefs_export: int
    #: Of the QueueFS that wrote it.
    version: str
    exported_at: Moment
    #: How many there were when the export began.
    queues: Number
    messages: Number
    #: No message or record of the export had a lower id when it began; None if it had none.
    lowest_id: Id | None

    def check(self) -> None:
        """Refuse another form."""
        if self.queuefs_export != FORM:
            raise BadValue(f"the export has form {self.queuefs_export}, and this QueueFS reads form {FORM}")


class Ownership(Struct, forbid_unknown_fields=True, kw_only=True):
    """Who owns something."""

    uid: Account
    gid: Account
    mode: Mode

    @classmethod
    def of(cls, owner: Owner) -> Ownership:
        """Return *owner* as a line has it."""
        return cls(uid=owner.uid, gid=owner.gid, mode=f"{owner.mode:04o}")

    @property
    def owner(self) -> Owner:
        """What the store keeps."""
        return Owner(uid=self.uid, gid=self.gid, mode=int(self.mode, 8))


class QueueLine(ExportLine):
    """A queue; the messages and records that follow are in it."""

    #: The names on the way from the root.
    queue: Annotated[list[str], Meta(min_length=1)]
    owner: Ownership
    created_at: Moment
    config: str = ""
    files: dict[str, Ownership] = msgspec.field(default_factory=dict)

    @classmethod
    def of(cls, queue: Queue, path: tuple[str, ...], *, ahead: float) -> QueueLine:
        """Return what there is to say of *queue*; *ahead* is by how much the wall clock is, of the store's time."""
        return cls(
            queue=list(path),
            owner=Ownership.of(queue.owner),
            created_at=wall(queue.created_at, ahead),
            config=queue.config.decode(errors="backslashreplace"),
            files={name: Ownership.of(owner) for name, owner in sorted(queue.files.items())},
        )

    def check(self) -> None:
        """Refuse names that no queue and no file can have, and a config that is none."""
        for name in self.queue:
            queue_name(file_name(name).encode())
        for name in self.files:
            file_name(name)
        Config().merged(self.config.encode())


class Totals(Struct, forbid_unknown_fields=True, kw_only=True):
    """What an export holds; it can be watched while it grows."""

    queues: Number = 0
    messages: Number = 0
    #: Payload bytes of the messages.
    bytes: Number = 0
    records: Number = 0
    #: Messages that left the store while they were being read, and are not in the export.
    gone: Number = 0
    #: Messages that are marked as damaged.
    damaged: Number = 0


class TotalsLine(ExportLine):
    """The last line: an export without it has lost its end."""

    totals: Totals
    #: The ids of the first of those that are damaged.
    damaged: list[Id] = msgspec.field(default_factory=list)


Line = Header | QueueLine | MessageLine | PieceLine | GoneLine | RecordLine | TotalsLine

_KINDS: dict[str, type[Line]] = {
    "state": MessageLine,
    "at": PieceLine,
    "status": RecordLine,
    "queue": QueueLine,
    "gone": GoneLine,
    "queuefs_export": Header,
    "totals": TotalsLine,
}


def read(line: bytes) -> Line:
    """Return what *line* says.

    Raises:
        BadValue: it is none of an export, or something in it can't be; the sentence says what.
    """
    try:
        fields = decode(line)
        kind = _kind(fields)
        found = msgspec.convert(fields, kind)
        found.check()
    except msgspec.MsgspecError as error:
        raise BadValue(str(error)) from None
    except RecursionError:
        raise BadValue("JSON is nested too deeply") from None
    except QueueFSError as error:
        raise BadValue(str(error)) from None
    return found


def _kind(fields: object) -> type[Line]:
    if isinstance(fields, dict):
        for name, kind in _KINDS.items():
            if name in fields:
                return kind
    raise BadValue("not a line of an export")
