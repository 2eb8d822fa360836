"""A Redis server of the tests' own, on a free port, with its data in a directory that outlives it."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Seconds within which it has to start or stop on a busy machine.
PATIENCE = 20.0


class RedisServer:
    """One server, which can be stopped, killed and started again with the data it had."""

    def __init__(self, directory: Path, *, password: str | None = None, options: tuple[str, ...] = ()) -> None:
        """Prepare a server that keeps its data in *directory*.

        Args:
            directory: Must exist.
            password: What clients have to give.
            options: More of the server's command line, such as ``"--maxmemory", "5mb"``.
        """
        self.port = _free_port()
        self.password = password
        self._directory = directory
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it is, for `open_backend`; a query can be added."""
        login = f":{self.password}@" if self.password else ""
        return f"redis://{login}127.0.0.1:{self.port}/0"

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The running server."""
        assert self._process is not None
        return self._process

    def start(self) -> None:
        """Start it, and return when it answers."""
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._directory)]
        command += ["--save", "", "--appendonly", "yes", "--appendfsync", "everysec", *self._options]
        if self.password:
            command += ["--requirepass", self.password]
        log = self._directory / "redis.log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=output)
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            assert self._process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.01)

    def stop(self) -> None:
        """Let it end in order."""
        self.process.terminate()
        self.process.wait(PATIENCE)

    def kill(self) -> None:
        """End it with SIGKILL: what it had not written is lost."""
        self.process.kill()
        self.process.wait(PATIENCE)

    def restart(self) -> None:
        """Kill it and start it again."""
        self.kill()
        self.start()

    def pause(self) -> None:
        """Let it hang: connections stay, nothing is answered."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """End a pause."""
        self.process.send_signal(signal.SIGCONT)

    def _answers(self) -> bool:
        """Return whether it does what it is told, its data loaded."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(100).startswith((b"+PONG", b"-NOAUTH"))
        except OSError:
            return False


@contextmanager
def running(directory: Path) -> Iterator[RedisServer]:
    """Run a server for the time of the block, which leaves it running; its data is kept in *directory*."""
    server = RedisServer(directory)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
