"""A TCP proxy that lets requests through and loses what is answered to them."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Self


class LossyProxy:
    """Stands between a client and a server on this machine."""

    def __init__(self, port: int) -> None:
        """Prepare to lead to *port*."""
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._armed = 0
        self._keep = 0
        self._silent = False
        #: How many replies were lost.
        self.lost = 0

    def __enter__(self) -> Self:
        """Begin to accept connections."""
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        """Close all connections and end all threads."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in self._sockets:
            _close(each)
        for thread in self._threads:
            thread.join()

    def lose_replies(self, count: int = 1, *, silent: bool = False, keep: int = 0) -> None:
        """Lose the next *count* pieces that the server sends.

        Args:
            count: How many, each of another connection.
            silent: Keep the connection open, so that the client waits for what will not come.
            keep: Let that many bytes of the piece through first.
        """
        self._keep = keep
        self._silent = silent
        self._armed = count

    def _start(self, target: object, *args: object) -> None:
        thread = threading.Thread(target=target, args=args)  # type: ignore[arg-type]  # always a method of this class
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._sockets.append(client)
            try:
                server = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                _close(client)
                continue
            self._sockets.append(server)
            self._start(self._requests, client, server)
            self._start(self._replies, server, client)

    def _requests(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(1 << 16):
                server.sendall(data)
        _close(server)

    def _replies(self, server: socket.socket, client: socket.socket) -> None:
        swallow = False
        with suppress(OSError):
            while data := server.recv(1 << 16):
                if swallow:
                    continue
                if self._armed:
                    self._armed -= 1
                    self.lost += 1
                    client.sendall(data[: self._keep])
                    if not self._silent:
                        break
                    swallow = True
                    continue
                client.sendall(data)
        _close(client)


def _close(each: socket.socket) -> None:
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()
