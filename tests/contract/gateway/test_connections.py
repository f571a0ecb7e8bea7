"""Kept connections to models that were closed by the other side."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import aiohttp
import pytest

from lgos_gateway.upstream import open_session

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class OneRequestServer:
    """Answers one request a connection, in a thread; the connection stays open until `close_now`."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._connections: list[socket.socket] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            connection.recv(65536)
            connection.sendall(ANSWER)

    def close_now(self) -> None:
        """Close all connections; the ends are in the other side's socket buffers when this returns."""
        for connection in self._connections:
            connection.close()
        self._connections.clear()

    def end(self) -> None:
        self.close_now()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)


@pytest.fixture
def server() -> Iterator[OneRequestServer]:
    running = OneRequestServer()
    yield running
    running.end()


async def test_a_connection_that_was_closed_unseen_is_not_used_for_a_post(
    server: OneRequestServer,
) -> None:
    url = f"http://127.0.0.1:{server.port}/"
    async with open_session(connect_timeout_seconds=2, read_timeout_seconds=5) as session:
        for _ in range(3):
            async with session.post(url, data=b"{}") as answer:
                assert await answer.read() == b"ok"
            # The event loop cannot notice before the next request takes its connection.
            server.close_now()


class ClosingServer:
    """Accepts connections and closes each at once, as a proxy in front of a stopped program does."""

    def __init__(self) -> None:
        self.accepted = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            connection.close()

    def end(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)


@pytest.fixture
def closing() -> Iterator[ClosingServer]:
    running = ClosingServer()
    yield running
    running.end()


async def test_a_post_to_what_closes_every_connection_connects_once(
    closing: ClosingServer,
) -> None:
    url = f"http://127.0.0.1:{closing.port}/"
    async with open_session(connect_timeout_seconds=2, read_timeout_seconds=5) as session:
        for attempt in range(1, 21):
            with pytest.raises(aiohttp.ClientError):
                await session.post(url, data=b"{}")
            assert closing.accepted == attempt
