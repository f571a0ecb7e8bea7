"""The load: requests over kept-alive connections, every answer verified."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from graphs import BURST_CHUNKS, CHUNK, SLOW_CHUNKS

EXPECTED = {"echo": "hello", "burst": CHUNK * BURST_CHUNKS, "paced": CHUNK * BURST_CHUNKS,
            "slow": CHUNK * SLOW_CHUNKS}  # fmt: skip


FIRST_TOKEN = re.compile(rb'"(delta|content)": ?"token')


@dataclass
class Workload:
    """`requests` requests, `concurrency` at a time; `units` is what one request is divided by (tokens, or 1).

    With `apart` the first request of each client is sent that many seconds after the one before.
    """

    name: str
    path: str
    graph: str | None
    stream: bool
    requests: int
    concurrency: int
    units: int
    unit: str
    apart: float = 0.0


@dataclass
class Outcome:
    """What a slice of load saw."""

    requests: int = 0
    first_bytes: list[float] = field(default_factory=list)


WORKLOADS = [
    Workload("models", "/v1/models", None, False, 1000, 8, 1, "request"),
    Workload("chat", "/v1/chat/completions", "echo", False, 200, 8, 1, "request"),
    Workload("responses", "/v1/responses", "echo", False, 200, 8, 1, "request"),
    Workload("chat paced", "/v1/chat/completions", "paced", True, 16, 4, BURST_CHUNKS, "token"),
    Workload("responses paced", "/v1/responses", "paced", True, 16, 4, BURST_CHUNKS, "token"),
    Workload("chat burst", "/v1/chat/completions", "burst", True, 16, 4, BURST_CHUNKS, "token"),
    Workload("responses burst", "/v1/responses", "burst", True, 16, 4, BURST_CHUNKS, "token"),
    Workload("1 slow stream", "/v1/responses", "slow", True, 1, 1, SLOW_CHUNKS, "token"),
    Workload("100 slow streams", "/v1/responses", "slow", True, 100, 100, SLOW_CHUNKS, "token"),
    Workload("500 slow streams", "/v1/responses", "slow", True, 500, 500, SLOW_CHUNKS, "token"),
    Workload(
        "500 slow streams in 2 s",
        "/v1/responses",
        "slow",
        True,
        500,
        500,
        SLOW_CHUNKS,
        "token",
        0.004,
    ),
]


def body_of(load: Workload) -> dict[str, Any]:
    """Return the request body."""
    body: dict[str, Any] = {"model": load.graph, "stream": load.stream}
    if load.path.endswith("responses"):
        body["input"] = "hello"
    else:
        body["messages"] = [{"role": "user", "content": "hello"}]
    return body


async def drive(session: aiohttp.ClientSession, base: str, load: Workload) -> Outcome:
    """Send one slice of a workload."""
    outcome = Outcome()
    left = iter(range(load.requests))

    async def client(number: int) -> None:
        await asyncio.sleep(number * load.apart)
        for _ in left:
            await _one(session, base, load, outcome)

    await asyncio.gather(*(client(number) for number in range(load.concurrency)))
    if outcome.requests != load.requests:
        msg = f"{load.name}: {outcome.requests} of {load.requests} requests answered"
        raise RuntimeError(msg)
    return outcome


async def _one(session: aiohttp.ClientSession, base: str, load: Workload, outcome: Outcome) -> None:
    started = time.perf_counter()
    method, data = ("GET", None) if load.graph is None else ("POST", body_of(load))
    async with session.request(method, base + load.path, json=data) as answer:
        first = b""
        if load.stream:
            while not FIRST_TOKEN.search(first):
                part = await answer.content.readany()
                if not part:
                    break
                first += part
            outcome.first_bytes.append(time.perf_counter() - started)
        raw = first + await answer.read()
        verify(load, answer.status, raw)
    outcome.requests += 1


def verify(load: Workload, status: int, raw: bytes) -> None:
    """Refuse an answer that is not the expected one."""
    if load.graph is None:
        right = raw.count(b'"object":"model"') + raw.count(b'"object": "model"') >= len(EXPECTED)
    elif load.stream:
        end = b"[DONE]" if load.path.endswith("completions") else b"event: response.completed"
        right = raw.count(CHUNK.encode()) >= load.units and end in raw
    else:
        right = EXPECTED[load.graph].encode() in raw
    if status != 200 or not right:
        msg = f"{load.name}: wrong answer {status}: {raw[:200]!r}"
        raise RuntimeError(msg)
