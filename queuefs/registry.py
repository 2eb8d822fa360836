"""Finds the back end that a URL names; back ends announce themselves by entry points, ours like anybody's."""

from __future__ import annotations

import re
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Protocol

from queuefs.errors import StoreUnusable

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from queuefs.backend import Backend

#: The group under which a distribution announces its back ends: the name is the URL's scheme.
ENTRY_POINT_GROUP = "queuefs.backends"

#: Said when the scheme is known and its driver is not installed.
_MISSING_EXTRA = {"redis": "the Redis back end needs: pip install 'queuefs[redis]'"}


class OpenBackend(Protocol):
    """What an entry point of the group leads to."""

    def __call__(self, url: str) -> AbstractAsyncContextManager[Backend]:
        """Open the store at *url*; refuse what is not understood by name.

        Raises (on entering):
            StoreUnusable: with one sentence for the user, and without the URL's password.
            StoreInUse: another daemon has it open.
        """


def scheme_of(url: str) -> str:
    """Return the part of *url* that names the back end: ``redis`` for ``rediss://…`` and ``redis+cluster://…``.

    Raises:
        StoreUnusable: there is none.
    """
    found = re.match(r"([a-z][a-z0-9]*)(?:\+[a-z0-9]+)?:", url)
    if found is None:
        raise StoreUnusable(
            f"not a back end URL: {redacted(url)} (expected memory:, sqlite:///path.db or redis://host)"
        )
    return {"rediss": "redis"}.get(found[1], found[1])


def open_backend(url: str) -> AbstractAsyncContextManager[Backend]:
    """Open the store that *url* names.

    Raises:
        StoreUnusable: no installed back end has that scheme, or (on entering) the store can't be opened.
    """
    scheme = scheme_of(url)
    known = entry_points(group=ENTRY_POINT_GROUP)
    try:
        entry = known[scheme]
    except KeyError:
        names = ", ".join(sorted(known.names)) or "none; is QueueFS installed, or is this a bare checkout?"
        raise StoreUnusable(f"no back end is called {scheme!r} (installed: {names})") from None
    try:
        opener: OpenBackend = entry.load()
    except ImportError as error:
        raise StoreUnusable(_MISSING_EXTRA.get(scheme, f"the back end {scheme!r} can't be loaded: {error}")) from error
    return opener(url)


def redacted(url: str) -> str:
    """Return *url* without its passwords, for logs and messages."""
    url = re.sub(r"(://[^/@:]*):[^/]*@", r"\1:***@", url)
    return re.sub(r"([?&][^=&]*(?:pass|secret|token)[^=&]*=)[^&]*", r"\1***", url, flags=re.IGNORECASE)
