"""The event stream on the wire: headers, comments in silence, bytes cut anywhere, drain."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from openai._streaming import SSEDecoder

from langgraph_openai_serve import LanggraphOpenaiServe, Limits
from langgraph_openai_serve.ports.observer import RunStatus
from support import sse
from support.graphs import Probe, registry
from support.observing import Ledger, within
from support.serving import in_process, loopback

HI = [{"role": "user", "content": "hi"}]
BODIES: dict[str, Any] = {
    "/responses": {"input": "hi"},
    "/chat/completions": {"messages": HI},
}


async def read(answer: httpx.Response, *, until: bytes, times: int = 1) -> bytes:
    """Read a stream until `until` was seen often enough; the rest stays unread."""
    seen = b""
    async with asyncio.timeout(10):
        while seen.count(until) < times:
            seen += await anext(answer.stream_bytes)  # type: ignore[attr-defined] # set by opened()
    return seen


async def rest(answer: httpx.Response) -> bytes:
    async with asyncio.timeout(10):
        return b"".join([piece async for piece in answer.stream_bytes])  # type: ignore[attr-defined] # set by opened()


async def opened(client: httpx.AsyncClient, path: str, model: str) -> httpx.Response:
    """Send a streamed request and return once its headers are there."""
    body = {"model": model, "stream": True, **BODIES[path]}
    request = client.build_request("POST", f"/v1{path}", json=body)
    answer = await client.send(request, stream=True)
    answer.stream_bytes = answer.aiter_bytes()  # type: ignore[attr-defined] # one iterator for all reads
    return answer


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


@pytest.fixture
def server(probe: Probe, ledger: Ledger) -> LanggraphOpenaiServe:
    limits = Limits(keep_alive_seconds=0.05)
    return LanggraphOpenaiServe(registry(probe, ledger), limits=limits).bind_openai_api()


@pytest.fixture
async def client(server: LanggraphOpenaiServe) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        loopback(server.app) as origin,
        httpx.AsyncClient(base_url=origin, timeout=10) as made,
    ):
        yield made


@pytest.mark.parametrize("path", BODIES)
async def test_stream_headers(client: httpx.AsyncClient, path: str) -> None:
    async with asyncio.timeout(1):
        answer = await opened(client, path, "slow_tokens")
        assert b"data: {" in await read(answer, until=b"\n\n")
    await answer.aclose()

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["x-accel-buffering"] == "no"
    assert "content-length" not in answer.headers
    assert "content-encoding" not in answer.headers


@pytest.mark.parametrize("path", BODIES)
async def test_keepalive_comments_only(client: httpx.AsyncClient, probe: Probe, path: str) -> None:
    answer = await opened(client, path, "silent")
    raw = await read(answer, until=b": keep-alive\n\n", times=3)
    probe.gate.set()
    raw += await rest(answer)

    if path == "/responses":
        events = sse.events(raw)
        assert events[-1]["type"] == "response.completed"
        assert [e["sequence_number"] for e in events] == list(range(len(events)))
    else:
        assert (
            "".join(c["choices"][0]["delta"].get("content", "") for c in sse.chunks(raw)) == "done"
        )


async def test_busy_stream_has_no_comments(client: httpx.AsyncClient) -> None:
    answer = await opened(client, "/responses", "slow_tokens")
    raw = await read(answer, until=b"tick", times=12)
    await answer.aclose()

    assert b": keep-alive" not in raw


async def test_unicode_survives_slices_of_three_bytes(client: httpx.AsyncClient) -> None:
    text = "\u5317\u4eac \U0001f30d e\u0301 a\u2028b c\r\n\r\nd"
    body = {"model": "code_points", "stream": True, "input": text}
    async with client.stream("POST", "/v1/responses", json=body) as answer:
        events = [e async for e in SSEDecoder().aiter_bytes(answer.aiter_raw(chunk_size=3))]

    deltas = [e.json()["delta"] for e in events if e.event == "response.output_text.delta"]
    assert deltas == list(text)


async def test_draining_server_is_not_ready_but_answers(
    client: httpx.AsyncClient, server: LanggraphOpenaiServe, probe: Probe
) -> None:
    answer = await opened(client, "/responses", "silent")
    await probe.running.wait()
    server.start_draining()
    drained = asyncio.create_task(server.drain(10))

    assert (await client.get("/readyz")).status_code == 503
    assert (await client.get("/healthz")).status_code == 200
    probe.gate.set()
    assert sse.events(await rest(answer))[-1]["type"] == "response.completed"
    assert await drained is True


@pytest.mark.parametrize("path", BODIES)
async def test_stream_that_outlives_the_drain_ends_with_its_failure(
    client: httpx.AsyncClient, server: LanggraphOpenaiServe, ledger: Ledger, probe: Probe, path: str
) -> None:
    answer = await opened(client, path, "slow_tokens")
    raw = await read(answer, until=b"tick")

    assert await server.drain(0.01) is False
    raw += await rest(answer)

    last = sse.frames(raw)[-1].json()
    if path == "/responses":
        assert last["type"] == "response.failed"
        assert last["response"]["error"]["message"].startswith("The server is shutting down")
        [item] = last["response"]["output"]
        assert item["status"] == "incomplete"
        assert item["content"][0]["text"] == sse.text_of(sse.events(raw))
    else:
        assert last["error"]["message"].startswith("The server is shutting down")
        assert last["error"]["type"] == "server_error"
        assert b"[DONE]" not in raw
    assert await within(probe.left) == "slow_tokens"
    assert await within(ledger.endings) is RunStatus.CANCELLED
    assert server.open_requests == 0


async def test_answer_that_outlives_the_drain_is_unavailable(
    client: httpx.AsyncClient, server: LanggraphOpenaiServe, probe: Probe
) -> None:
    body = {"model": "slow_tokens", "input": "hi"}
    asked = asyncio.create_task(client.post("/v1/responses", json=body))
    await probe.running.wait()
    await server.drain(0.01)
    answer = await asked

    assert answer.status_code == 503
    assert answer.json()["error"]["type"] == "server_error"


async def test_first_output_is_observed_once(probe: Probe, ledger: Ledger) -> None:
    server = LanggraphOpenaiServe(registry(probe, ledger)).bind_openai_api()
    async with in_process(server.app) as http:
        for model in ("echo", "status", "two_calls", "fails_at_once"):
            await http.post("/responses", json={"model": model, "stream": True, "input": "hi"})
        await http.post("/responses", json={"model": "echo", "input": "hi"})

    assert [run.model for run, _ in ledger.first_outputs] == ["echo", "status", "two_calls"]
    assert [status for _, status, _ in ledger.ended] == [
        *[RunStatus.COMPLETED] * 3,
        RunStatus.FAILED,
        RunStatus.COMPLETED,
    ]
