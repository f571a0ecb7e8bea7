"""Clients that read 1 KiB a second: what they hold in the server is bounded, and nobody else waits for them.

The long form, 200 readers for half a minute, runs in `nox -s endurance`.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from support.soaking import facts, settled, soak_server

PIECE = 256
PIECE_SECONDS = 0.25
"""Together 1 KiB a second."""
BODY = b'{"model":"ramble","input":"hi","stream":true}'
HEAD = b"POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(BODY)
BUFFER_KIB = 1024
"""`Limits.stream_buffer_bytes`: what may wait for one client before it loses its stream."""


@pytest.fixture
async def server() -> AsyncIterator[httpx.AsyncClient]:
    async with soak_server() as client:
        yield client


class SlowReader:
    """One streamed answer, read at 1 KiB a second until it is closed."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.seen = 0
        self.begun = asyncio.Event()
        self._reader = reader
        self._writer = writer
        self._task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        while piece := await self._reader.read(PIECE):
            self.seen += len(piece)
            self.begun.set()
            await asyncio.sleep(PIECE_SECONDS)

    @property
    def reading(self) -> bool:
        return not self._task.done()

    def close(self) -> None:
        self._task.cancel()
        self._writer.transport.abort()


@asynccontextmanager
async def slow_readers(server: httpx.AsyncClient, count: int) -> AsyncIterator[list[SlowReader]]:
    readers: list[SlowReader] = []
    try:
        for _ in range(count):
            # A small window, so that what the client does not read waits in the server.
            raw = socket.socket()
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            raw.setblocking(False)
            address = (server.base_url.host, server.base_url.port)
            await asyncio.get_running_loop().sock_connect(raw, address)
            reader, writer = await asyncio.open_connection(sock=raw, limit=1024)
            writer.write(HEAD + BODY)
            readers.append(SlowReader(reader, writer))
        async with asyncio.timeout(120):
            for one in readers:
                await one.begun.wait()
        yield readers
    finally:
        for one in readers:
            one.close()


async def latencies(server: httpx.AsyncClient, seconds: float) -> list[float]:
    """Ask streamed and whole for that long; return how many milliseconds each answer took, sorted."""
    taken = []
    began = time.perf_counter()
    while len(taken) < 20 or time.perf_counter() - began < seconds:
        sent = time.perf_counter()
        body = {"model": "echo", "input": "hi", "stream": len(taken) % 2 == 0}
        answer = await server.post("/v1/responses", json=body)
        assert b"completed" in answer.content
        taken.append((time.perf_counter() - sent) * 1000)
    return sorted(taken)


@pytest.mark.parametrize(
    ("count", "seconds"), [(40, 1.0), pytest.param(200, 30.0, marks=pytest.mark.endurance)]
)
async def test_slow_readers_hold_bounded_memory_and_slow_nobody_else(
    server: httpx.AsyncClient, count: int, seconds: float, capsys: pytest.CaptureFixture[str]
) -> None:
    await latencies(server, 0.5)
    before = await settled(server)
    alone = await latencies(server, seconds)
    async with slow_readers(server, count) as readers:
        beside = await latencies(server, seconds)
        now = await facts(server)
        assert now["open_requests"] == count
        assert all(one.reading for one in readers)
        read = max(one.seen for one in readers)
    held = (now["resident_kib"] - before["resident_kib"]) / count
    (usual, usual_high), (median, high) = (
        (one[len(one) // 2], one[len(one) * 95 // 100]) for one in (alone, beside)
    )
    with capsys.disabled():
        print(
            f"\n    {count} slow readers: {held:.0f} KiB each; another client's answer, median and "
            f"95th percentile: alone {usual:.1f} and {usual_high:.1f} ms, "
            f"beside them {median:.1f} and {high:.1f} ms"
        )
    assert read < 600 * 1024, "the whole answer was read: nothing had to wait"
    assert held < 2 * BUFFER_KIB
    assert median < 3 * usual + 10
    assert (await settled(server))["tasks"] == before["tasks"]
