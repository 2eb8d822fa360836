"""Mounts of users who are not root, and whom they let in."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from queuefs.cli.exits import Exit
from tests.support.mount import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator


#: Commands of the scripts: `queuefs` is nobody's, who may read Python wherever that is; `as UID GID` is anybody's.
COMMANDS = f"""
queuefs() {{
    setpriv --reuid=nobody --regid=$GID --clear-groups --inh-caps=+dac_read_search --ambient-caps=+dac_read_search \\
        '{sys.executable}' -m queuefs "$@"
}}
as() {{ _uid=$1 _gid=$2; shift 2; setpriv --reuid=$_uid --regid=$_gid --clear-groups "$@"; }}
mount --bind fuse.conf /etc/fuse.conf || exit
trap 'fusermount3 -uzq mnt' EXIT
"""


@dataclass(frozen=True)
class Nobody:
    """A user with a directory of its own, on a system whose /etc/fuse.conf is what a test wrote."""

    home: Path

    def sh(self, script: str, conf: str = "") -> subprocess.CompletedProcess[str]:
        """Run *script*, at whose end nothing stays mounted at `mnt`."""
        (self.home / "fuse.conf").write_text(conf)
        (self.home / "fuse.conf").chmod(0o644)
        gid = pwd.getpwnam("nobody").pw_gid
        return subprocess.run(
            ["unshare", "--mount", "sh", "-c", COMMANDS + script],
            cwd=self.home,
            env={**os.environ, "GID": str(gid)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )


@pytest.fixture
def nobody() -> Iterator[Nobody]:
    """A user that has a directory `mnt` to mount on."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"], check=False).returncode:
        pytest.skip("only root can be nobody, and have another /etc/fuse.conf for a while")
    home = Path(tempfile.mkdtemp(prefix="queuefs-"))
    home.chmod(0o755)
    (home / "mnt").mkdir()
    for path in (home, home / "mnt"):
        shutil.chown(path, "nobody", pwd.getpwnam("nobody").pw_gid)
    yield Nobody(home)
    (home / "mnt").rmdir()
    shutil.rmtree(home)


MOUNT = "queuefs mount --backend memory: --log-file log"


def test_without_it_only_who_mounted_gets_in_and_root_neither(nobody: Nobody) -> None:
    done = nobody.sh(f"""
        {MOUNT} mnt && as nobody $GID mkdir -m 777 mnt/jobs || exit
        as nobody $GID sh -c 'echo hello > mnt/jobs/enqueue; cat mnt/jobs/status'
        for file in mnt mnt/jobs mnt/jobs/status; do
            stat $file; as 12001 $GID cat $file; as nobody 12001 cat $file
        done
        queuefs umount mnt
    """)

    assert '{"pending":1,"processing":0}\n' == done.stdout
    assert 9 == done.stderr.count("Permission denied"), done.stderr
    assert 9 == done.stderr.count("\n"), done.stderr


@pytest.mark.parametrize("conf", ["", "#user_allow_other\n", "# user_allow_other\nuser_allow_others\n"])
def test_it_needs_a_line_in_fuse_conf(nobody: Nobody, conf: str) -> None:
    done = nobody.sh(f"{MOUNT} -o allow_other mnt; echo $?; ls -A mnt", conf)

    assert f"{Exit.NOT_PERMITTED.value}\n" == done.stdout
    assert "queuefs: allow_other needs the line user_allow_other in /etc/fuse.conf\n" == done.stderr


@pytest.mark.parametrize("conf", ["user_allow_other\n", "mount_max = 1000\n\t user_allow_other # for queues\n"])
def test_with_that_line_others_get_in_as_far_as_the_modes_let_them(nobody: Nobody, conf: str) -> None:
    done = nobody.sh(
        f"""
        {MOUNT} -o allow_other mnt && as nobody $GID mkdir -m 711 mnt/jobs && mkdir mnt/of-root || exit
        as 12001 12001 ls -A mnt
        as 12001 12001 cat mnt/jobs/status
        as 12001 12001 mkdir mnt/mine
        as nobody $GID rmdir mnt/of-root
        as nobody $GID chmod 1777 mnt
        as 12001 12001 mkdir mnt/mine
        as nobody $GID chown 12002 mnt/jobs
        chown 12001 mnt/jobs
        as 12001 12001 cat mnt/jobs/status
        queuefs umount mnt
        """,
        conf,
    )

    assert '.queuefs\njobs\nof-root\n{"pending":0,"processing":0}\n' == done.stdout, done.stderr
    refused = [line.split(" ")[0] + line[line.rindex(":") :] for line in done.stderr.splitlines()]
    assert ["cat:: Permission denied", "mkdir:: Permission denied", "chown:: Operation not permitted"] == refused
