"""The real gateway on loopback ports, in the test's event loop, with a catalog that the test fills."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import aiohttp

from lgos_contract.registry import ModelState, RegistryEntry, dump_entry, registry_key
from lgos_gateway.catalog import Catalog
from lgos_gateway.metrics import Metrics
from lgos_gateway.program import serve_catalog
from lgos_gateway.settings import Settings

DEADLINE_SECONDS = 10.0
LOOPBACK = "127.0.0.1"


def entry(
    name: str, base_url: str = "", *, namespace: str = "team-a", **changes: Any
) -> RegistryEntry:
    short = name.rpartition("/")[2]
    facts: dict[str, Any] = {
        "id": name,
        "namespace": namespace,
        "name": short,
        "description": f"The model {name}.",
        "graph": "package.module:graph",
        "base_url": base_url or f"http://{short}-api.{namespace}.svc:8000/v1",
        "state": ModelState.SERVING,
        "created": 1764518400,
        "owned_by": namespace,
    }
    return RegistryEntry(**{**facts, **changes})


def data_of(*entries: RegistryEntry) -> dict[str, str]:
    """Data of the registry ConfigMap that holds these entries."""
    return {registry_key(each.name): dump_entry(each) for each in entries}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class Served:
    """A running gateway."""

    catalog: Catalog
    metrics: Metrics
    settings: Settings
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    problem: str = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.settings.port}"

    @property
    def metrics_url(self) -> str:
        return f"http://127.0.0.1:{self.settings.metrics_port}/metrics"

    def sample(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(name, labels)

    async def until_sample(self, wanted: float, name: str, **labels: str) -> None:
        """Wait until a metric has a value."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            while self.sample(name, **labels) != wanted:  # noqa: ASYNC110 - a metric has no event
                await asyncio.sleep(0.005)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.settings.port)


@asynccontextmanager
async def gateway(**changes: Any) -> AsyncIterator[Served]:
    """Run a gateway until the block ends."""
    settings = Settings(
        host="127.0.0.1",
        port=free_port(),
        metrics_port=free_port(),
        shutdown_delay_seconds=0,
        drain_seconds=1,
    )
    metrics = Metrics()
    served = Served(
        Catalog(metrics.models_changed, trusted_hosts=[LOOPBACK]),
        metrics,
        replace(settings, **changes),
    )
    running = asyncio.create_task(
        serve_catalog(
            served.catalog,
            metrics,
            served.settings,
            ready=lambda: served.problem or ("shutting down" if served.stop.is_set() else ""),
            stop=served.stop,
        )
    )
    try:
        await _until_listening(served, running)
        yield served
    finally:
        served.stop.set()
        async with asyncio.timeout(DEADLINE_SECONDS):
            await running


async def _until_listening(served: Served, running: asyncio.Task[None]) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        while True:
            with contextlib.suppress(OSError):
                _, writer = await served.connect()
                writer.close()
                return
            if running.done():
                running.result()
            await asyncio.sleep(0.01)


def chat_request(model: str = "echo", *, stream: bool = False) -> bytes:
    """Bytes of a whole chat request on a raw connection."""
    body = json.dumps(
        {"model": model, "stream": stream, "messages": [{"role": "user", "content": "hi"}]}
    ).encode()
    return raw_post("/v1/chat/completions", body)


def raw_post(path: str, body: bytes, extra: str = "", version: str = "1.1") -> bytes:
    head = (
        f"POST {path} HTTP/{version}\r\nHost: gateway\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n{extra}\r\n"
    )
    return head.encode() + body


async def read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    """Read status and headers of an answer."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    return int(first.split(" ")[1]), headers


async def error_of(answer: aiohttp.ClientResponse) -> dict[str, Any]:
    """Return the error object of an answer in the OpenAI envelope."""
    assert answer.content_type == "application/json"
    document = await answer.json()
    assert document.keys() == {"error"}
    error: dict[str, Any] = document["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    return error
