"""A real mount for a test: the command in a process of its own, with a log that has to stay clean."""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

#: Seconds after which a daemon that has not answered, or not ended, fails the test.
PATIENCE = 30.0

#: What no log may hold unless the test has said so.
_DIRT = re.compile(r"level=(warning|error|critical)|Traceback|Exception|Fatal Python error", re.IGNORECASE)


def resident(pid: int) -> int:
    """Return a process's resident memory, bytes (proc(5), statm)."""
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Mount:
    """A mount that a test may use, kill and bring back."""

    def __init__(
        self,
        backend: str,
        *,
        options: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        module: str = "queuefs",
    ) -> None:
        """Prepare a directory and a log of its own; nothing is mounted yet. *module* is run as the command."""
        self._module = module
        self.backend = backend
        self.options = tuple(options)
        self._environment = dict(environment or {})
        self._base = Path(tempfile.mkdtemp(prefix="queuefs-"))
        #: The mount point.
        self.path = self._base / "mnt"
        self.path.mkdir()
        #: Both the daemon's log and whatever else it wrote to stderr; of all its lives.
        self.log = self._base / "log"
        self._expected: list[re.Pattern[str]] = []
        self._daemon: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The daemon's process id."""
        assert self._daemon is not None
        return self._daemon.pid

    def expect_in_log(self, pattern: str) -> None:
        """Let log lines that hold *pattern* (a regular expression) pass; at least one such line must come."""
        self._expected.append(re.compile(pattern))

    def mount(self) -> None:
        """Start the daemon, and return once it says that the mount answers."""
        command = [sys.executable, "-m", self._module, "mount", "--foreground", "--backend", self.backend]
        for option in self.options:
            command += ["-o", option]
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager, self.log.open("ab") as log:
            manager.bind("")  # the kernel chooses an abstract address: a NUL and five hex digits
            address = "@" + manager.getsockname()[1:].decode("ascii")
            self._daemon = subprocess.Popen(
                [*command, str(self.path)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **self._environment, "NOTIFY_SOCKET": address},
                start_new_session=True,
            )
            self._wait_for_ready(manager)

    remount = mount

    def _wait_for_ready(self, manager: socket.socket) -> None:
        assert self._daemon is not None
        ended = os.pidfd_open(self._daemon.pid)
        try:
            readable, _, _ = select.select([manager.fileno(), ended], [], [], PATIENCE)
        finally:
            os.close(ended)
        if manager.fileno() not in readable:
            self._daemon.kill()
            self._daemon.wait()
            raise AssertionError(f"the mount did not come up: {self.read_log()}")
        assert manager.recv(100) == b"READY=1"

    def read_log(self) -> str:
        """Return all that was logged so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """End the daemon by a signal, in good order, and return its exit code."""
        assert self._daemon is not None
        self._daemon.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        """Wait for the daemon's end and return its exit code."""
        assert self._daemon is not None
        try:
            return self._daemon.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._daemon.send_signal(signal.SIGUSR1)  # its stacks go to the log
            self._daemon.kill()
            self._daemon.wait()
            raise AssertionError(f"the daemon did not end: {self.read_log()}") from None

    def kill(self) -> None:
        """End the daemon by SIGKILL; the dead mount stays."""
        assert self._daemon is not None
        self._daemon.kill()
        self._daemon.wait()

    @property
    def is_running(self) -> bool:
        """Tell whether the daemon lives."""
        return self._daemon is not None and self._daemon.poll() is None

    def clean_up(self) -> None:
        """Leave nothing behind, however the test went."""
        if self.is_running:
            self.kill()
        subprocess.run(["fusermount3", "-uzq", str(self.path)], check=False, stderr=subprocess.DEVNULL)
        self.path.rmdir()
        self.log.unlink(missing_ok=True)
        self._base.rmdir()

    def check_log(self) -> None:
        """Fail if the log holds a complaint that was not announced, or lacks one that was."""
        lines = self.read_log().splitlines()
        unannounced = [line for line in lines if _DIRT.search(line) and not any(e.search(line) for e in self._expected)]
        if unannounced:
            raise AssertionError("the log holds complaints: " + "\n".join(unannounced))
        missing = [e.pattern for e in self._expected if not any(e.search(line) for line in lines)]
        if missing:
            raise AssertionError(f"the log lacks what was announced: {missing}")


@contextmanager
def mounted(
    backend: str = "memory:",
    *,
    options: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    module: str = "queuefs",
) -> Iterator[Mount]:
    """Mount *backend* for the time of the block; afterwards stop it in good order and look at its log."""
    mount = Mount(backend, options=options, environment=environment, module=module)
    try:
        mount.mount()
        yield mount
        if mount.is_running:
            assert mount.stop() == 0
        mount.check_log()
    finally:
        mount.clean_up()
