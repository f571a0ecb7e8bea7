"""Request bodies that are too large, broken or oddly encoded; request ids."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from langgraph_openai_serve import LanggraphOpenaiServe, Limits
from support.graphs import Probe, registry
from support.rawhttp import connection
from support.serving import loopback

MIB = 1024 * 1024
PATHS = ("/responses", "/chat/completions")


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


async def test_chunked_oversize(probe: Probe) -> None:
    limit = 8 * MIB
    server = LanggraphOpenaiServe(registry(probe), limits=Limits(body_bytes=limit))
    piece = b"10000\r\n" + b" " * 65536 + b"\r\n"
    async with (
        loopback(server.bind_openai_api().app) as origin,
        connection(origin) as client,
        httpx.AsyncClient(base_url=origin) as other,
    ):
        assert (await other.get("/healthz")).status_code == 200
        before = peak = resident_bytes()
        await client.send("/v1/responses", "transfer-encoding: chunked")
        for count in range(1024):
            client.writer.write(piece)
            await client.writer.drain()
            peak = max(peak, resident_bytes())
            if count == 100:
                assert (await other.get("/v1/models")).status_code == 200
        client.writer.write(b"0\r\n\r\n")
        answer = await client.until(b"}}")

    assert b" 413 " in answer.split(b"\r\n")[0]
    assert b'"code":"request_too_large"' in answer
    assert peak - before < 2 * limit
    assert probe.runs.total() == 0


@pytest.mark.parametrize("announced", [True, False])
async def test_no_more_is_read_than_the_limit(probe: Probe, announced: bool) -> None:
    server = LanggraphOpenaiServe(registry(probe), limits=Limits(body_bytes=MIB))
    taken = 0
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        nonlocal taken
        taken += 65536
        return {"type": "http.request", "body": bytes(65536), "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"content-length", str(2 * MIB).encode())] if announced else []
    scope = {"type": "http", "method": "POST", "path": "/v1/responses", "headers": headers}
    await server.bind_openai_api().app({**scope, "query_string": b""}, receive, send)

    assert sent[0]["status"] == 413
    assert taken == (0 if announced else MIB + 65536)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "raw",
    [
        b'{"model":"echo","input":"hi","messages":[{"role":"user","content":"x"}],"zzz":NaN}',
        b"{}",
        b'{"model":',
        b"[1,2]",
        b"",
        b"null",
        b'"text"',
        b"\xff\xfe",
        b'{"model":"\xff"}',
        b'{"model":"echo","input":"\\ud800","messages":[{"role":"user","content":"\\ud800"}]}',
        b'{"model":"echo","\\ud800":1}',
        b'{"model":1e999}',
        b"[" * 100_000,
        b'{"model":"echo","input":' + b"[" * 1000 + b"]" * 1000 + b"}",
    ],
)
async def test_unencodable_validation_input(
    http: httpx.AsyncClient, probe: Probe, path: str, raw: bytes
) -> None:
    answer = await http.post(path, content=raw, headers={"content-type": "application/json"})

    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/json"
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"
    assert len(error["message"]) < 300
    assert probe.runs.total() == 0


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("/responses", {"model": "echo", "input": "a\x00b"}, "input"),
        ("/responses", {"model": "echo", "input": "hi", "metadata": {"a\x00": "b"}}, "metadata"),
        (
            "/chat/completions",
            {"model": "echo", "messages": [{"role": "user", "content": "\x00"}]},
            "messages[0].content",
        ),
    ],
)
async def test_nul_is_refused_where_it_is(
    http: httpx.AsyncClient, path: str, body: Any, param: str
) -> None:
    answer = await http.post(path, json=body)

    assert answer.status_code == 400
    assert "U+0000" in answer.json()["error"]["message"]
    assert answer.json()["error"]["param"] == param


async def test_written_out_escape_of_nul_is_plain_text(http: httpx.AsyncClient) -> None:
    answer = await http.post("/responses", json={"model": "echo", "input": "\\u0000"})

    assert answer.json()["output"][0]["content"][0]["text"] == "\\u0000"


@pytest.mark.parametrize("path", PATHS)
async def test_trailing_slash_post(http: httpx.AsyncClient, path: str) -> None:
    body: Any = {"model": "echo"}
    body |= (
        {"input": "hi"}
        if path == "/responses"
        else {"messages": [{"role": "user", "content": "hi"}]}
    )
    headers = {"authorization": "Bearer k", "x-forwarded-proto": "https"}
    answer = await http.post(f"{path}/", json=body, headers=headers)

    assert answer.status_code == 200
    assert "location" not in answer.headers


async def test_request_id_is_kept_or_made(http: httpx.AsyncClient) -> None:
    body = {"model": "echo", "input": "hi"}
    made = [await http.post("/responses", json=body) for _ in range(2)]
    kept = await http.post("/responses", json=body, headers={"x-request-id": "mine"})
    long = await http.post("/responses", json=body, headers={"x-request-id": "x" * 129})
    failed = await http.post("/responses", json={}, headers={"x-request-id": "bad"})
    stream = await http.post(
        "/responses", json={**body, "stream": True}, headers={"x-request-id": "flow"}
    )

    assert len({answer.headers["x-request-id"] for answer in made}) == 2
    assert kept.headers["x-request-id"] == "mine"
    assert len(long.headers["x-request-id"]) == 32
    assert failed.headers["x-request-id"] == "bad"
    assert stream.headers["x-request-id"] == "flow"


async def test_body_in_many_pieces_is_joined(http: httpx.AsyncClient) -> None:
    async def pieces() -> Any:
        for byte in b'{"model":"echo","input":"hi"}':
            await asyncio.sleep(0)
            yield bytes([byte])

    answer = await http.post("/responses", content=pieces())

    assert answer.json()["output"][0]["content"][0]["text"] == "hi"
