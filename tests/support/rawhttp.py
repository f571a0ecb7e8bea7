"""HTTP/1.1 by hand: for clients that leave early, read slowly or never stop sending."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit


class Connection:
    """One connection and one request on it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def post(self, path: str, body: Any) -> None:
        """Send a JSON request."""
        data = json.dumps(body).encode()
        await self.send(path, f"content-length: {len(data)}", data)

    async def send(self, path: str, header: str, data: bytes = b"") -> None:
        """Send a request's head with one more header, and the beginning of its body."""
        head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n{header}\r\n"
        self.writer.write(head.encode() + b"\r\n" + data)
        await self.writer.drain()

    async def until(self, mark: bytes) -> bytes:
        """Read up to and including `mark`."""
        async with asyncio.timeout(10):
            return await self.reader.readuntil(mark)

    def leave(self) -> None:
        """Cut the connection."""
        self.writer.transport.abort()


@asynccontextmanager
async def connection(
    origin: str, *, receive_buffer: int | None = None
) -> AsyncIterator[Connection]:
    """Connect to a server; the connection is cut at the end."""
    address = urlsplit(origin)
    client = socket.socket()
    if receive_buffer is not None:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    client.setblocking(False)
    await asyncio.get_running_loop().sock_connect(client, (address.hostname, address.port))
    reader, writer = await asyncio.open_connection(sock=client, limit=2**16)
    made = Connection(reader, writer)
    try:
        yield made
    finally:
        made.leave()
