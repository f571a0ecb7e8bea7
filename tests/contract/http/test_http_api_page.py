"""The tables of `docs/reference/http-api.md` are what the application does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_openai_serve import GraphRegistry, LanggraphOpenaiServe, Limits
from support.graphs import Probe, registry
from support.interrupt_graphs import interrupt_configs
from support.serving import in_process
from support.transcripts import FLAT, NESTED

PAGE = (Path(__file__).parents[3] / "docs/reference/http-api.md").read_text()
PATHS = {"Chat Completions": "/chat/completions", "Responses": "/responses"}
HI = [{"role": "user", "content": "hi"}]
REQUIRED: dict[str, dict[str, Any]] = {
    "/chat/completions": {"model": "echo", "messages": HI},
    "/responses": {"model": "echo", "input": "hi"},
}
SAMPLES: dict[str, Any] = {
    "model": "echo",
    "messages": HI,
    "input": "hi",
    "instructions": "Be brief.",
    "stream": True,
    "stream_options": {"include_usage": True},
    "tool_choice": "none",
    "metadata": {"a": "b"},
    "user": "u",
}


def table(first: str) -> list[dict[str, str]]:
    """The rows of the table whose head begins with `first`."""
    lines = iter(PAGE.split("\n"))
    head = next(line for line in lines if line.startswith(f"| {first} |"))
    names = [cell.strip() for cell in head.strip("|").split("|")]
    next(lines)
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        cells = [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        rows.append(dict(zip(names, cells, strict=True)))
    return rows


async def post(http: httpx.AsyncClient, path: str, **fields: Any) -> httpx.Response:
    return await http.post(path, json={**REQUIRED[path], **fields})


ANSWERED = "previous_response_id"
EFFECTS = [row for row in table("field | Chat Completions") if row["field"] != ANSWERED]


@pytest.mark.parametrize("row", EFFECTS, ids=lambda row: row["field"])
async def test_field_with_an_effect_is_taken_where_the_page_says(
    http: httpx.AsyncClient, row: dict[str, str]
) -> None:
    for api, path in PATHS.items():
        name = row["field"]
        tools = NESTED if path == "/chat/completions" else FLAT
        fields = {name: {**SAMPLES, "tools": tools}[name]}
        if name == "stream_options":
            fields["stream"] = True
        answer = await post(http, path, **fields)
        assert (answer.status_code == 200) == (row[api] == "yes"), answer.text
        if row[api] == "no":
            assert answer.json()["error"]["param"] == name


@asynccontextmanager
async def paused(probe: Probe) -> AsyncIterator[tuple[httpx.AsyncClient, dict[str, Any]]]:
    """A server with a run that waits, and the request that answers it."""
    models = GraphRegistry(interrupt_configs(probe, InMemorySaver()))
    async with in_process(LanggraphOpenaiServe(models).bind_openai_api().app) as http:
        shown = (await http.post("/responses", json={"model": "ask_once", "input": "hi"})).json()
        call_id = shown["output"][0]["call_id"]
        item = {"type": "function_call_output", "call_id": call_id, "output": "yes"}
        yield http, {"model": "ask_once", ANSWERED: shown["id"], "input": [item]}


async def test_previous_response_is_taken_where_the_page_says(
    http: httpx.AsyncClient, probe: Probe
) -> None:
    [row] = [row for row in table("field | Chat Completions") if row["field"] == ANSWERED]
    assert row["Responses"].startswith("yes")
    async with paused(probe) as (server, request):
        assert (await server.post("/responses", json=request)).status_code == 200
    refused = await post(http, "/chat/completions", **{ANSWERED: "resp_1"})
    assert (row["Chat Completions"], refused.json()["error"]["param"]) == ("no", ANSWERED)


@pytest.mark.parametrize("row", table("field | value"), ids=lambda row: row["field"])
async def test_no_op_is_taken_where_the_page_says(
    http: httpx.AsyncClient, row: dict[str, str]
) -> None:
    for api, path in PATHS.items():
        answer = await post(http, path, **{row["field"]: json.loads(row["value"])})
        assert (answer.status_code == 200) == (row[api] == "yes"), answer.text
        if row[api] == "yes":
            assert (await post(http, path, **{row["field"]: None})).status_code == 200
            other = await post(http, path, **{row["field"]: "other"})
            assert other.status_code == 400
            assert other.json()["error"]["param"].startswith(row["field"])


async def provoked(http: httpx.AsyncClient) -> list[httpx.Response]:
    """One answer for each row of the table of errors that needs no shutdown and no large body."""
    return [
        await post(http, "/responses", input=7),
        await post(http, "/responses", zzz=1),
        await post(http, "/responses", temperature=1),
        await post(http, "/responses", model="missing"),
        await http.get("/nowhere"),
        await http.get("/responses"),
        await post(http, "/responses", model="fails_at_once"),
    ]


async def conflicts(probe: Probe) -> list[httpx.Response]:
    """A run that is busy, and answers that come too late."""
    chosen = {"model": "never_asks", "input": "hi", "metadata": {"lgos_run_id": str(uuid4())}}
    async with paused(probe) as (server, request):
        running = asyncio.create_task(server.post("/responses", json=chosen))
        await probe.running.wait()
        busy = await server.post("/responses", json=chosen)
        probe.gate.set()
        await running
        await server.post("/responses", json=request)
        return [busy, await server.post("/responses", json=request)]


async def test_errors_are_the_ones_of_the_page(http: httpx.AsyncClient, probe: Probe) -> None:
    small = LanggraphOpenaiServe(registry(probe), limits=Limits(body_bytes=10)).bind_openai_api()
    async with in_process(small.app) as other:
        answers = [*await provoked(http), await post(other, "/responses"), *await conflicts(probe)]
    seen = {
        (str(a.status_code), a.json()["error"]["type"], a.json()["error"]["code"] or "none")
        for a in answers
    }
    documented = {(row["status"], row["type"], row["code"]) for row in table("status | type")}

    # 503 needs a server that stops: test_answer_that_outlives_the_drain_is_unavailable.
    assert seen == documented - {("503", "server_error", "none")}


async def test_endpoints_of_the_page_are_there(http: httpx.AsyncClient) -> None:
    for row in table("endpoint | answer"):
        method, path = row["endpoint"].split()
        path = path.replace("{model}", "echo").replace("{id}", "resp_1")
        body = REQUIRED.get(path.removeprefix("/v1"))
        answer = await http.request(method, f"http://server{path}", json=body)
        assert answer.status_code == (404 if row["answer"].startswith("404") else 200), row
