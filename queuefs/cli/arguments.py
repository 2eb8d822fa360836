"""The arguments that commands on a mount share: queues, and values that the mount reads too."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from queuefs.cli.exits import Exit, UserError
from queuefs.cli.refusals import refusals
from queuefs.errors import BadValue
from queuefs.view.mounts import NotInAMount, Place, place_of
from queuefs.view.text import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.shell_completion import CompletionItem


class QueuePath(click.ParamType):  # type: ignore[type-arg]  # it has none before click 8.4
    """A path that names a queue in a mount, or with *root* the root of a mount as well."""

    name = "queue"

    def __init__(self, *, root: bool) -> None:
        """Take queues."""
        self._root = root

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Place:  # noqa: ARG002
        """Find *value* in a mount."""
        if isinstance(value, Place):
            return value
        place = find(value)
        if not place.name and not self._root:
            raise UserError(f"{shown(value)} is a mount; a queue is a directory in it", Exit.NO_MOUNT_POINT)
        return place

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:  # noqa: ARG002
        """Return the directories that begin with *incomplete* and are queues, or lead to a mount."""
        from queuefs.cli.candidates import directories  # noqa: PLC0415 - only a shell that completes needs it

        return directories(incomplete)


def find(path: str) -> Place:
    """Return what *path* names in a mount.

    Raises:
        UserError: it names no mount and no queue.
    """
    try:
        with refusals(path):
            return place_of(path)
    except NotInAMount as error:
        raise UserError(f"{shown(path)} {error}", Exit.NO_MOUNT_POINT) from None


class Value(click.ParamType):  # type: ignore[type-arg]  # as above
    """A value that the mount reads in the names of files; what is read here goes there as it was typed."""

    def __init__(self, name: str, read: Callable[[str], object]) -> None:
        """Accept what *read* does."""
        self.name = name
        self._read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check *value*, and leave it as it is."""
        try:
            self._read(value)
        except BadValue as error:
            self.fail(str(error), param, ctx)
        return str(value)


def word(text: str) -> str:
    """Read a text that can stand in the name of a file as the value of an option.

    Raises:
        BadValue: it can't.
    """
    if not text or "," in text or "/" in text or "\0" in text:
        raise BadValue(f"{text!r} is no text of at least one character without comma and slash")
    try:
        os.fsencode(text).decode()
    except UnicodeDecodeError:
        raise BadValue(f"{text!r} is not UTF-8") from None
    return text
