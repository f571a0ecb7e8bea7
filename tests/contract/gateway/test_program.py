"""`lgos gateway` as a process, against an API server with a registry and a model's API."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from gateway_kit.registry_api import RegistryApi, registry_api
from gateway_kit.served import chat_request, data_of, entry, free_port, read_head
from gateway_kit.upstream import Connection, Received, listening

LGOS = Path(sys.executable).parent / "lgos"
START_SECONDS = 30.0
STOP_SECONDS = 15.0


@asynccontextmanager
async def program(**environ: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        LGOS,
        "gateway",
        env={**os.environ, "LGOS_HOST": "127.0.0.1", "LGOS_TRUSTED_HOSTS": "127.0.0.1", **environ},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def until_status(url: str, wanted: int) -> None:
    async with asyncio.timeout(START_SECONDS), aiohttp.ClientSession() as client:
        while True:
            try:
                async with client.get(url) as answer:
                    if answer.status == wanted:
                        return
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.05)


@pytest.fixture
async def api() -> AsyncIterator[RegistryApi]:
    async with registry_api() as running:
        yield running


async def test_it_is_ready_with_the_registry_serves_and_ends_a_stream_before_it_stops(
    api: RegistryApi, tmp_path: Path
) -> None:
    go_on = asyncio.Event()

    async def two_frames(_received: Received, connection: Connection) -> None:
        await connection.begin_stream()
        await connection.chunk(b"data: 1\n\n")
        await go_on.wait()
        await connection.chunk(b"data: 2\n\n")
        await connection.end_stream()

    port, metrics_port = free_port(), free_port()
    url = f"http://127.0.0.1:{port}"
    api.is_down = True
    async with (
        listening(two_frames) as upstream,
        program(
            KUBECONFIG=str(api.kubeconfig(tmp_path)),
            LGOS_PORT=str(port),
            LGOS_METRICS_PORT=str(metrics_port),
            LGOS_SHUTDOWN_DELAY_SECONDS="1",
        ) as process,
    ):
        await until_status(f"{url}/healthz", 200)
        await until_status(f"{url}/readyz", 503)
        api.put("team-a", data_of(entry("echo", upstream.base_url)))
        api.is_down = False
        await until_status(f"{url}/readyz", 200)
        await until_status(f"http://127.0.0.1:{metrics_port}/metrics", 200)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(chat_request(stream=True))
        assert (await read_head(reader))[0] == 200
        process.send_signal(signal.SIGTERM)
        await until_status(f"{url}/readyz", 503)
        go_on.set()
        async with asyncio.timeout(STOP_SECONDS):
            rest = await reader.read()
            _, log = await process.communicate()
        writer.close()
    assert rest.endswith(b"0\r\n\r\n"), "the stream must end whole"
    assert process.returncode == 0, log.decode()
    assert b"Traceback" not in log


async def test_a_bad_setting_is_one_sentence_and_no_traceback() -> None:
    async with program(LGOS_PORT="http") as process:
        async with asyncio.timeout(START_SECONDS):
            _, log = await process.communicate()
    assert process.returncode == 1
    assert log.decode() == (
        "lgos gateway: LGOS_PORT is 'http'; set it to a whole number from 1 to 65535\n"
    )


async def test_a_taken_port_is_one_sentence_and_no_traceback(
    api: RegistryApi, tmp_path: Path
) -> None:
    async with program(
        KUBECONFIG=str(api.kubeconfig(tmp_path)),
        LGOS_PORT=str(api.port),
        LGOS_METRICS_PORT=str(free_port()),
        LGOS_LOG_LEVEL="error",
    ) as process:
        async with asyncio.timeout(START_SECONDS):
            _, log = await process.communicate()
    assert process.returncode == 1
    [line] = log.decode().splitlines()
    assert line.startswith("lgos gateway: ")
    assert str(api.port) in line


async def test_without_credentials_it_says_where_they_come_from(tmp_path: Path) -> None:
    async with program(KUBECONFIG="", HOME=str(tmp_path)) as process:
        async with asyncio.timeout(START_SECONDS):
            _, log = await process.communicate()
    assert process.returncode == 1
    assert "set KUBECONFIG" in log.decode()
    assert b"Traceback" not in log
