"""Mixed load on a server process: memory stays flat, no task is left, and the metrics count what the client sent.

The long form, 30,000 requests after 10,000 to warm up, runs in `nox -s endurance`. `blocks` is what Python's allocator has
given out: it tells a leak from memory that the allocator only keeps.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator
from itertools import pairwise
from statistics import median

import httpx
import pytest

from support.soaking import settled, soak_server


@pytest.fixture
async def server() -> AsyncIterator[httpx.AsyncClient]:
    async with soak_server() as client:
        yield client


KINDS = 6


async def paused_and_answered(client: httpx.AsyncClient) -> tuple[str, ...]:
    """Let a run pause and go on; return how its two turns have to end."""
    asked = await client.post("/v1/responses", json={"model": "ask_once", "input": "hi"})
    paused = asked.json()
    answer = {
        "type": "function_call_output",
        "call_id": paused["output"][0]["call_id"],
        "output": "yes",
    }
    body = {"model": "ask_once", "previous_response_id": paused["id"], "input": [answer]}
    finished = await client.post("/v1/responses", json=body)
    assert finished.json()["output"][0]["content"][0]["text"] == "got:'yes'"
    return "interrupted", "completed"


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
    kinds = iter([number % KINDS for number in range(count)])
    ends: Counter[str] = Counter()

    async def work() -> None:
        for kind in kinds:
            if kind == KINDS - 1:
                ends.update(await paused_and_answered(client))
            else:
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


@pytest.mark.parametrize(
    ("warm_up", "windows", "count", "allowed_kib"),
    [(300, 1, 600, 20_000), pytest.param(10_000, 5, 6_000, 60, marks=pytest.mark.endurance)],
)
async def test_memory_is_flat_and_metrics_add_up(
    server: httpx.AsyncClient,
    warm_up: int,
    windows: int,
    count: int,
    allowed_kib: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ends = await load(server, warm_up)
    seen = [await settled(server)]
    for _ in range(windows):
        ends += await load(server, count)
        seen.append(await settled(server))
    grown = {name: seen[-1][name] - seen[0][name] for name in ("tasks", "objects", "blocks")}
    resident = [after["resident_kib"] - before["resident_kib"] for before, after in pairwise(seen)]
    with capsys.disabled():
        print(
            f"\n    {windows} times {count} mixed requests after {warm_up}: resident KiB {resident}, "
            f"all together {grown}"
        )
    assert grown["tasks"] == 0
    assert grown["objects"] < 2000
    assert grown["blocks"] < 5000
    # A peak of requests may take a MiB from the system at once; what leaks grows in every window.
    assert median(resident) < allowed_kib
    finished = await counted(server, "lgos_runs_finished_total")
    refused = ends.pop("refused")
    assert {status: number for status, number in finished.items() if number} == ends
    created = await counted(server, "lgos_runs_created_total")
    assert created.total() == finished.total() == ends.total()
    assert refused == sum(number % KINDS == 3 for number in range(warm_up)) + windows * sum(
        number % KINDS == 3 for number in range(count)
    )
    assert (await counted(server, "lgos_runs_in_progress")).total() == 0
