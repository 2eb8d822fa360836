"""The systemd units are understood by systemd, and leave the mount where everybody sees it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

UNITS = sorted((Path(__file__).parents[2] / "systemd").glob("*.service"))

#: Directives that give a service a mount namespace of its own (systemd.exec(5)).
HIDING = re.compile(
    r"^(Private(Tmp|Devices|Mounts|Users)|Protect\w+|ReadOnlyPaths|ReadWritePaths|InaccessiblePaths|ExecPaths|"
    r"NoExecPaths|DynamicUser|TemporaryFileSystem|Bind\w*Paths|RootDirectory|RootImage|MountFlags|MountAPIVFS)=",
    re.MULTILINE,
)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_does_not_hide_its_mount(unit: Path) -> None:
    assert HIDING.findall(unit.read_text("utf-8")) == []


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_understands_a_unit(unit: Path, tmp_path: Path) -> None:
    """systemd-analyze wants to see the program, so it is given one that is there."""
    instance = tmp_path / unit.name.replace("@", "@mnt-queue")
    instance.write_text(unit.read_text("utf-8").replace("/usr/local/bin/queuefs", "/bin/true"))

    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", instance], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
