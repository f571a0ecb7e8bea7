"""A model's API that does exactly what a test says: bytes and connection ends as a script, all requests kept."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Received:
    """One request as it came over the wire."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    connection: int

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Connection:
    """The answering side of one connection."""

    number: int
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(
        self, body: bytes, *, status: str = "200 OK", content_type: str = "application/json"
    ) -> None:
        head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
        await self.send(head.encode() + body)

    async def begin_stream(self, extra: str = "") -> None:
        await self.send(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
            b"X-Accel-Buffering: no\r\nTransfer-Encoding: chunked\r\n" + extra.encode() + b"\r\n"
        )

    async def chunk(self, data: bytes) -> None:
        await self.send(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    async def end_stream(self) -> None:
        await self.send(b"0\r\n\r\n")

    def close(self) -> None:
        self.writer.close()

    async def closed_by_peer(self) -> None:
        """Wait until the other side closes the connection."""
        with contextlib.suppress(ConnectionError):
            while await self.reader.read(65536):
                pass


Script = Callable[[Received, Connection], Awaitable[None]]


async def echo(received: Received, connection: Connection) -> None:
    """Answer with what came."""
    facts = {"target": received.target, "headers": received.headers}
    await connection.answer(json.dumps(facts).encode())


@dataclass
class Upstream:
    """A listening API; `script` answers each request."""

    script: Script = echo
    port: int = 0
    requests: list[Received] = field(default_factory=list)
    connections: int = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        connection = Connection(self.connections, reader, writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while not writer.is_closing():
                received = await _read(connection)
                self.requests.append(received)
                await self.script(received, connection)
        writer.close()


async def _read(connection: Connection) -> Received:
    head = (await connection.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, target, _ = first.split(" ")
    headers = dict(line.split(": ", 1) for line in lines)
    body = await connection.reader.readexactly(int(headers.get("Content-Length", 0)))
    return Received(method, target, headers, body, connection.number)


@asynccontextmanager
async def listening(script: Script = echo) -> AsyncIterator[Upstream]:
    """Serve an upstream on a free loopback port."""
    upstream = Upstream(script)
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.create_task(upstream.serve(reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", 0, limit=2**20)
    upstream.port = server.sockets[0].getsockname()[1]
    try:
        yield upstream
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
