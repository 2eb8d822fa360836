"""Where things are by default, for root and for others, and what this user may do."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from queuefs.cli import mountpoint, places
from queuefs.cli.exits import Exit, UserError
from queuefs.cli.mountpoint import require_fuse


@pytest.fixture
def as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


@pytest.fixture
def as_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("HOME", "/home/ann")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)


@pytest.mark.usefixtures("as_root")
def test_roots_store_and_log_are_the_systems() -> None:
    assert places.default_store() == "sqlite:///var/lib/queuefs/queue.db"
    assert places.default_log_file() == Path("/var/log/queuefs.log")


@pytest.mark.usefixtures("as_user")
def test_a_users_store_and_log_are_in_the_state_directory() -> None:
    assert places.default_store() == "sqlite:///home/ann/.local/state/queuefs/queue.db"
    assert places.default_log_file() == Path("/home/ann/.local/state/queuefs/queuefs.log")


@pytest.mark.usefixtures("as_user")
def test_the_state_directory_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/data/a b%c")

    assert places.default_store() == "sqlite:///data/a%20b%25c/queuefs/queue.db"
    assert places.sqlite_file(places.default_store()) == Path("/data/a b%c/queuefs/queue.db")


@pytest.mark.usefixtures("as_user")
def test_a_relative_state_directory_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "here")

    assert places.state_dir() == Path("/home/ann/.local/state/queuefs")


def test_other_stores_are_no_file() -> None:
    assert places.sqlite_file("redis://host/0") is None


@pytest.fixture
def open_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let anybody open /dev/fuse."""
    monkeypatch.setattr(os, "open", lambda *_: 99)
    monkeypatch.setattr(os, "close", lambda _: None)


@pytest.mark.usefixtures("as_user", "open_device")
def test_a_user_needs_fusermount3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)

    with pytest.raises(UserError, match="package fuse3") as caught:
        require_fuse(allow_other=False)

    assert caught.value.exit_code == Exit.NO_FUSE


@pytest.mark.usefixtures("as_user", "open_device")
@pytest.mark.parametrize("allowed", [True, False])
def test_a_user_needs_leave_for_allow_other(monkeypatch: pytest.MonkeyPatch, *, allowed: bool) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/fusermount3")
    monkeypatch.setattr(mountpoint, "_users_may_allow_other", lambda: allowed)

    require_fuse(allow_other=False)
    if allowed:
        require_fuse(allow_other=True)
        return
    with pytest.raises(UserError, match="line user_allow_other") as caught:
        require_fuse(allow_other=True)
    assert caught.value.exit_code == Exit.NOT_PERMITTED


@pytest.mark.parametrize(
    ("text", "allowed"),
    [("user_allow_other\n", True), ("  user_allow_other  ", True), ("#user_allow_other\n", False), ("", False)],
)
def test_leave_is_a_line_in_fuse_conf(tmp_path: Path, text: str, *, allowed: bool) -> None:
    conf = tmp_path / "fuse.conf"
    conf.write_text(text)

    assert mountpoint._users_may_allow_other(conf) is allowed


@pytest.mark.parametrize(
    ("error", "code"),
    [(FileNotFoundError(2, "gone"), Exit.NO_FUSE), (PermissionError(13, "no"), Exit.NOT_PERMITTED)],
)
def test_without_the_device_there_is_no_mount(monkeypatch: pytest.MonkeyPatch, error: OSError, code: Exit) -> None:
    def refuse(*_: object) -> int:
        raise error

    monkeypatch.setattr(os, "open", refuse)

    with pytest.raises(UserError, match="/dev/fuse") as caught:
        require_fuse(allow_other=False)

    assert caught.value.exit_code == code
