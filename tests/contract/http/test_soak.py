"""Mixed load on a server process: memory stays flat, no task is left, and the metrics count what the client sent.

The long form, 10,000 requests, runs in `nox -s endurance`.
"""

from __future__ import annotations

import asyncio
import random
import re
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

TESTS = Path(__file__).parents[2]


@pytest.fixture
async def server() -> AsyncIterator[httpx.AsyncClient]:
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
            async with asyncio.timeout(60):
                while not await answers(client):  # noqa: ASYNC110 - nothing tells when it listens
                    await asyncio.sleep(0.05)
            yield client
    finally:
        process.terminate()
        process.wait(10)


async def answers(client: httpx.AsyncClient) -> bool:
    try:
        await client.get("/process")
    except httpx.ConnectError:
        return False
    return True


async def facts(client: httpx.AsyncClient) -> dict[str, int]:
    found: dict[str, int] = (await client.get("/process")).json()
    return found


async def settled(client: httpx.AsyncClient) -> dict[str, int]:
    """Return the facts once nothing is in progress any more."""
    found = await facts(client)

    async def idle() -> None:
        nonlocal found
        while found["open_requests"]:
            await asyncio.sleep(0.05)
            found = await facts(client)

    await asyncio.wait_for(idle(), 20)
    return found


async def one(client: httpx.AsyncClient, kind: int) -> str:
    """Send one request; return how its run has to end."""
    if kind == 0:
        answer = await client.post("/v1/responses", json={"model": "echo", "input": "hi"})
        assert answer.json()["status"] == "completed"
        return "completed"
    if kind == 1:
        answer = await client.post(
            "/v1/responses", json={"model": "echo", "input": "hi", "stream": True}
        )
        assert "event: response.completed" in answer.text
        return "completed"
    if kind == 2:
        body = {
            "model": "fails_after_two",
            "messages": [{"role": "user", "content": "hi"}],
            "stream": True,
        }
        assert '"error"' in (await client.post("/v1/chat/completions", json=body)).text
        return "failed"
    if kind == 3:
        answer = await client.post("/v1/responses", json={"model": "echo", "input": 7})
        assert answer.status_code == 400
        return "refused"
    body = {"model": "slow_tokens", "input": "hi", "stream": True}
    async with client.stream("POST", "/v1/responses", json=body) as answer:
        async for line in answer.aiter_lines():
            if "output_text.delta" in line:
                break
    return "cancelled"


async def load(client: httpx.AsyncClient, count: int, concurrency: int = 16) -> Counter[str]:
    kinds = iter([number % 5 for number in range(count)])
    ends: Counter[str] = Counter()

    async def work() -> None:
        for kind in kinds:
            ends[await one(client, kind)] += 1

    await asyncio.gather(*(work() for _ in range(concurrency)))
    return ends


async def counted(client: httpx.AsyncClient, name: str) -> Counter[str]:
    text = (await client.get("/metrics")).text
    sums: Counter[str] = Counter()
    for labels, value in re.findall(rf"^{name}{{(.*?)}} ([\d.e+]+)$", text, re.MULTILINE):
        status = re.search(r'status="(\w+)"', labels)
        sums[status[1] if status else ""] += int(float(value))
    return sums


@pytest.mark.parametrize("count", [600, pytest.param(10_000, marks=pytest.mark.endurance)])
async def test_memory_is_flat_and_metrics_add_up(
    server: httpx.AsyncClient, count: int, capsys: pytest.CaptureFixture[str]
) -> None:
    ends = await load(server, 300)
    before = await settled(server)
    ends += await load(server, count)
    after = await settled(server)
    growth = (after["resident_kib"] - before["resident_kib"]) / count * 1000
    with capsys.disabled():
        print(
            f"\n    {count} mixed requests: {growth:.0f} KiB a thousand, "
            f"{after['objects'] - before['objects']} objects, {after['tasks'] - before['tasks']} tasks"
        )
    assert after["tasks"] == before["tasks"]
    assert after["objects"] - before["objects"] < 2000
    assert growth * count / 1000 < 20 * 1024
    finished = await counted(server, "lgos_runs_finished_total")
    refused = ends.pop("refused")
    assert {status: number for status, number in finished.items() if number} == ends
    created = await counted(server, "lgos_runs_created_total")
    assert created.total() == finished.total() == ends.total()
    assert refused == (300 + count) // 5
    assert (await counted(server, "lgos_runs_in_progress")).total() == 0


@pytest.mark.parametrize("readers", [40, pytest.param(200, marks=pytest.mark.endurance)])
async def test_slow_readers_hold_bounded_memory_and_slow_nobody_else(
    server: httpx.AsyncClient, readers: int, capsys: pytest.CaptureFixture[str]
) -> None:
    before = await settled(server)
    host, port = server.base_url.host, server.base_url.port
    body = b'{"model":"ramble","input":"hi","stream":true}'
    head = b"POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(body)
    streams: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
    try:
        for _ in range(readers):
            # A small window, so that what the client does not read waits in the server.
            raw = socket.socket()
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            raw.setblocking(False)
            await asyncio.get_running_loop().sock_connect(raw, (host, port))
            reader, writer = await asyncio.open_connection(sock=raw, limit=1024)
            writer.write(head + body)
            streams.append((reader, writer))
        random.shuffle(streams)
        for reader, _ in streams:
            assert await reader.read(256)
        async with asyncio.timeout(20):
            answer = await server.post("/v1/responses", json={"model": "echo", "input": "hi"})
        assert answer.json()["status"] == "completed"
        held = (await facts(server))["resident_kib"] - before["resident_kib"]
        with capsys.disabled():
            print(f"\n    {readers} readers that do not read: {held / readers:.0f} KiB each")
        # An answer of 3000 chunks is 600 KiB of events; past 1 MiB a reader would lose its stream.
        assert held < readers * 1024
    finally:
        for _, writer in streams:
            writer.transport.abort()
    after: dict[str, Any] = await settled(server)
    assert after["tasks"] == before["tasks"]
