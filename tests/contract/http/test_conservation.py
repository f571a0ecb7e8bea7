"""Runs in metrics add up to the requests sent, however they end."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import httpx
from prometheus_client import CollectorRegistry

from langgraph_openai_serve import GraphRegistry, LanggraphOpenaiServe
from langgraph_openai_serve.integrations.prometheus import PrometheusObserver
from support.graphs import Probe, configs
from support.observing import eventually
from support.rawhttp import connection
from support.serving import loopback

TOTAL = 200


def sums(metrics: CollectorRegistry) -> Counter[str]:
    """The values of the run metrics, added over their labels; finished runs by status."""
    found: Counter[str] = Counter()
    for family in metrics.collect():
        for sample in family.samples:
            if sample.name.endswith(("_total", "_in_progress", "_seconds_count")):
                found[sample.name] += int(sample.value)
                found[f"{sample.name}:{sample.labels.get('status')}"] += int(sample.value)
    return found


async def test_metrics_add_up_after_a_mixed_load(probe: Probe) -> None:
    graphs = configs(probe)
    metrics = CollectorRegistry()
    observer = PrometheusObserver(metrics, graphs)
    server = LanggraphOpenaiServe(GraphRegistry(graphs, observer=observer)).bind_openai_api()
    places = asyncio.Semaphore(25)
    async with loopback(server.app) as origin, httpx.AsyncClient(base_url=origin) as http:

        async def send(number: int) -> None:
            async with places:
                await KINDS[number % len(KINDS)](http, origin)

        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            for number in range(TOTAL):
                group.create_task(send(number))
        await eventually(lambda: server.open_requests == 0, 5)
    found = sums(metrics)
    each = TOTAL // len(KINDS)

    assert found["lgos_runs_created_total"] == 4 * each
    assert found["lgos_runs_finished_total"] == 4 * each
    assert found["lgos_runs_in_progress"] == 0
    assert found["lgos_run_duration_seconds_count"] == 4 * each
    assert found["lgos_runs_finished_total:completed"] == 2 * each
    assert found["lgos_runs_finished_total:failed"] == each
    assert found["lgos_runs_finished_total:cancelled"] == each


async def completed(http: httpx.AsyncClient, _origin: str) -> None:
    body = {"model": "echo", "input": "hi", "stream": True}
    assert b"response.completed" in (await http.post("/v1/responses", json=body)).content


async def answered(http: httpx.AsyncClient, _origin: str) -> None:
    body = {"model": "echo", "messages": [{"role": "user", "content": "hi"}]}
    assert (await http.post("/v1/chat/completions", json=body)).status_code == 200


async def failed(http: httpx.AsyncClient, _origin: str) -> None:
    body = {"model": "fails_after_two", "input": "hi", "stream": random.random() < 0.5}  # noqa: S311 - a coin
    await http.post("/v1/responses", json=body)


async def refused(http: httpx.AsyncClient, _origin: str) -> None:
    body = {"model": "echo", "input": "hi", "temperature": 1}
    assert (await http.post("/v1/responses", json=body)).status_code == 400


async def left(_http: httpx.AsyncClient, origin: str) -> None:
    async with connection(origin) as client:
        await client.post("/v1/responses", {"model": "slow_tokens", "input": "hi", "stream": True})
        await client.until(b"tick")


KINDS = (completed, answered, failed, refused, left)
