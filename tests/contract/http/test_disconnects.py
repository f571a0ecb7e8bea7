"""A client that leaves takes its run with it; a client that reads too slowly loses its stream."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from fastapi import FastAPI, Request, Response

from langgraph_openai_serve import LanggraphOpenaiServe, Limits
from langgraph_openai_serve.ports.observer import RunStatus
from support.graphs import Probe, registry
from support.observing import Ledger, eventually, within
from support.rawhttp import connection
from support.serving import loopback

BODIES: dict[str, Any] = {
    "/v1/responses": {"input": "hi"},
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "hi"}]},
}


def with_middleware() -> FastAPI:
    """A host application with a dispatch-style middleware."""
    app = FastAPI()

    @app.middleware("http")
    async def passes(
        request: Request, call_next: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        response = await call_next(request)
        response.headers["x-host"] = "seen"
        return response

    return app


@pytest.mark.parametrize("host", [FastAPI, with_middleware])
@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize("streamed", [True, False])
async def test_disconnect_cancels_the_run(
    probe: Probe, host: Callable[[], FastAPI], path: str, streamed: bool
) -> None:
    ledger = Ledger()
    server = LanggraphOpenaiServe(registry(probe, ledger), host()).bind_openai_api()
    async with loopback(server.app) as origin:
        async with connection(origin) as client:
            await client.post(path, {"model": "slow_tokens", "stream": streamed, **BODIES[path]})
            if streamed:
                await client.until(b"tick")
            else:
                await probe.running.wait()
            assert ledger.in_progress == server.open_requests == 1
            client.leave()
            assert await within(probe.left) == "slow_tokens"
            assert await within(ledger.endings) is RunStatus.CANCELLED
        await eventually(lambda: server.open_requests == 0)

    assert ledger.in_progress == 0


async def test_client_that_leaves_while_sending_starts_no_run(probe: Probe) -> None:
    ledger = Ledger()
    server = LanggraphOpenaiServe(registry(probe, ledger)).bind_openai_api()
    async with loopback(server.app) as origin, connection(origin) as client:
        await client.send("/v1/responses", "content-length: 1000", b'{"model": ')
        await eventually(lambda: server.open_requests == 1)
        client.leave()
        await eventually(lambda: server.open_requests == 0)

    assert ledger.created == []


async def test_slow_reader_loses_its_stream_and_nobody_elses(probe: Probe) -> None:
    ledger = Ledger()
    limits = Limits(stream_buffer_bytes=1024 * 1024)
    server = LanggraphOpenaiServe(registry(probe, ledger), limits=limits).bind_openai_api()
    async with (
        loopback(server.app) as origin,
        connection(origin, receive_buffer=8192) as slow,
        connection(origin) as other,
    ):
        await slow.post("/v1/responses", {"model": "flood", "stream": True, "input": "hi"})
        await other.post("/v1/responses", {"model": "echo", "stream": True, "input": "hi"})
        await other.until(b"event: response.completed")
        assert await within(ledger.endings) is RunStatus.COMPLETED

        assert await within(probe.left, 20) == "flood"
        assert await within(ledger.endings) is RunStatus.CANCELLED
        await eventually(lambda: server.open_requests == 0)
        # The connection ends without a terminal event: what was lost cannot be taken for an answer.
        left = b""
        while piece := await slow.reader.read(65536):
            left = (left + piece)[-4096:]
    assert b"response.completed" not in left
    assert not left.endswith(b"0\r\n\r\n")
