"""The soak server as a process, and what it tells about itself."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

TESTS = Path(__file__).parents[1]
DEADLINE = 60.0


@asynccontextmanager
async def soak_server() -> AsyncIterator[httpx.AsyncClient]:
    """Run `support.soak_server` and give a client of it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "support.soak_server", str(port)]
    process = subprocess.Popen(  # noqa: ASYNC220 - starting takes no time worth a thread
        command, cwd=TESTS, stderr=subprocess.DEVNULL
    )
    limits = httpx.Limits(max_connections=None)
    try:
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}", timeout=60, limits=limits, trust_env=False
        ) as client:
            async with asyncio.timeout(DEADLINE):
                while not await _answers(client):  # noqa: ASYNC110 - nothing tells when it listens
                    await asyncio.sleep(0.05)
            yield client
    finally:
        process.terminate()
        process.wait(10)


async def facts(client: httpx.AsyncClient) -> dict[str, int]:
    """Return resident memory, tasks, open requests and objects of the process."""
    found: dict[str, int] = (await client.get("/process")).json()
    return found


async def settled(client: httpx.AsyncClient) -> dict[str, int]:
    """Return the facts once nothing is in progress any more."""
    found = await facts(client)
    async with asyncio.timeout(20):
        while found["open_requests"]:
            await asyncio.sleep(0.05)
            found = await facts(client)
    return found


async def _answers(client: httpx.AsyncClient) -> bool:
    try:
        await client.get("/process")
    except httpx.ConnectError:
        return False
    return True
