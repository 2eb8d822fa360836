"""The programs that the mount is tested with: shells and the tools that read in other ways."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

#: Shells whose builtin `echo` and `printf` write by themselves.
SHELLS = {"bash": ["bash", "-c"], "dash": ["dash", "-c"], "busybox": ["busybox", "sh", "-c"]}

#: Programs that print a file: by read(2), by sendfile or splice through the page cache, and by other runtimes.
CATS = {
    "gnu": ["cat"],
    "busybox": ["busybox", "cat"],
    "uutils": ["coreutils", "cat"],
    "dd": ["dd", "status=none"],
    "python": ["python3", "-c", "import sys; sys.stdout.buffer.write(open(sys.argv[1], 'rb').read())"],
    "sendfile": [
        "python3",
        "-c",
        "import os, sys; f = open(sys.argv[1], 'rb')\nwhile os.sendfile(1, f.fileno(), None, 1 << 20): pass",
    ],
    "perl": ["perl", "-e", "undef $/; open F, '<', $ARGV[0] or die $!; print <F>"],
    "node": ["node", "-e", "process.stdout.write(require('fs').readFileSync(process.argv[1]))"],
}


def cat(program: str, path: Path) -> bytes:
    """Return what *program* prints of *path*; it must succeed and say nothing on stderr."""
    argument = f"if={path}" if program == "dd" else str(path)
    done = subprocess.run([*CATS[program], argument], capture_output=True, check=False, timeout=60)
    assert (0, b"") == (done.returncode, done.stderr), f"{done}"[:2000]
    return done.stdout


def sh(script: str, cwd: Path, shell: str = "bash") -> subprocess.CompletedProcess[str]:
    """Run *script* in *shell* with the working directory *cwd*; return what it printed and how it ended."""
    return subprocess.run([*SHELLS[shell], script], cwd=cwd, capture_output=True, text=True, check=False, timeout=120)
