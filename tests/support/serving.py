"""Serves an application for a test: over a loopback socket on the test's own event loop, or without any socket."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import uvicorn

DEADLINE = 20.0


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


@asynccontextmanager
async def loopback(app: Any) -> AsyncIterator[str]:
    """Run uvicorn around `app` and give its origin, such as `http://127.0.0.1:40123`."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=2, ws="none")
        server = _Server(config)
        task = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            async with asyncio.timeout(DEADLINE):
                await server.ready.wait()
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            await task


@asynccontextmanager
async def in_process(app: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client that calls `app` directly."""
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://server/v1") as client:
        yield client
