"""Entries that the kernel need not remember."""

from __future__ import annotations

import stat

import pyfuse3
import pytest

from queuefs.fs import unremembered
from queuefs.fs.unremembered import HAS_NODEID, UnrememberedEntry


def test_this_pyfuse3_has_what_it_takes() -> None:
    assert HAS_NODEID


def test_an_entry_has_a_mode_and_no_nodeid() -> None:
    entry = UnrememberedEntry(stat.S_IFREG).numbered(1 << 63 | 42)

    # `st_ino` reads the nodeid: that the number is told all the same, a listing of a mount shows
    assert entry.st_ino == 0
    assert entry.st_mode == stat.S_IFREG


def test_an_entry_that_is_laid_out_otherwise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unremembered, "_TWICE", 3)

    assert unremembered._nodeid_of(pyfuse3.EntryAttributes()) is None
    with pytest.raises(RuntimeError):
        UnrememberedEntry(stat.S_IFREG)
