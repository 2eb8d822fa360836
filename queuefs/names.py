"""Which names a queue may have."""

from __future__ import annotations

from queuefs.errors import BadName, BadNameEncoding, NameTooLong

#: The control files, those that later releases bring included: a name reserved later would hide somebody's queue.
VERBS = (
    "enqueue",
    "dequeue",
    "ack",
    "nack",
    "extend",
    "peek",
    "size",
    "status",
    "stats",
    "messages",
    "clear",
    "wait",
    "events",
    "config",
    "ctl",
)

#: The directories that show messages by state.
STATE_DIRECTORIES = ("pending", "processing", "dead", "done")

#: The directory about the mount.
ABOUT = ".queuefs"

RESERVED = frozenset((*VERBS, *STATE_DIRECTORIES, ABOUT))

#: What desktops make in a file system for what is thrown away there (the FreeDesktop.org Trash specification: `.Trash`,
#: and `.Trash-UID`): it would be a queue, which takes no files.
TRASH = ".Trash"

#: As on other Linux file systems; the kernel lets FUSE have longer ones.
MAX_NAME_BYTES = 255


def queue_name(name: bytes) -> str:
    """Return *name*, one component of a path, as the name of a queue that is to be made.

    Raises:
        NameTooLong: it has more than 255 bytes.
        BadNameEncoding: it is not UTF-8.
        BadName: it is reserved.
    """
    if len(name) > MAX_NAME_BYTES:
        raise NameTooLong
    try:
        text = name.decode()
    except UnicodeDecodeError:
        raise BadNameEncoding(f"not UTF-8: {name!r}") from None
    verb, comma, _ = text.partition(",")
    if text in RESERVED or (comma and verb in VERBS) or text == TRASH or text.startswith(f"{TRASH}-"):
        raise BadName(f"{text!r} is reserved at every level of a mount")
    return text
