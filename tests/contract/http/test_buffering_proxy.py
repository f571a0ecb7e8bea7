"""Streams behind nginx with its buffers on: the header of an event stream is what lets each event through."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from langgraph_openai_serve import LanggraphOpenaiServe
from support.graphs import Probe, registry
from support.serving import loopback

CONFIGURATION = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr warn;
{user}
events {{ worker_connections 64; }}
http {{
  access_log off;
  gzip on;
  gzip_types text/event-stream application/json;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  proxy_buffering on;
  proxy_http_version 1.1;
  server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass {origin}; }}
    location /deaf/ {{
      proxy_pass {origin}/;
      proxy_ignore_headers X-Accel-Buffering;
    }}
  }}
}}
"""
BODIES = {
    "/v1/responses": {"input": "hi"},
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "hi"}]},
}


@pytest.fixture
async def proxy(probe: Probe, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    nginx = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    if nginx is None:
        if os.environ.get("CI") == "true":
            pytest.fail("missing: nginx")
        pytest.skip("missing: nginx")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = LanggraphOpenaiServe(registry(probe)).bind_openai_api()
    async with loopback(server.app) as origin:
        user = "user root;" if os.geteuid() == 0 else ""
        file = tmp_path / "nginx.conf"
        file.write_text(CONFIGURATION.format(folder=tmp_path, port=port, origin=origin, user=user))
        process = await asyncio.create_subprocess_exec(
            nginx, "-p", str(tmp_path), "-e", "stderr", "-c", str(file)
        )
        try:
            async with httpx.AsyncClient(
                base_url=f"http://127.0.0.1:{port}", timeout=10, trust_env=False
            ) as client:
                async with asyncio.timeout(10):
                    while not await _answers(client):  # noqa: ASYNC110 - nothing tells when it listens
                        await asyncio.sleep(0.02)
                yield client
        finally:
            process.terminate()
            await process.wait()


async def _answers(client: httpx.AsyncClient) -> bool:
    try:
        return (await client.get("/healthz")).status_code == 200
    except httpx.ConnectError:
        return False


@pytest.mark.parametrize("path", BODIES)
async def test_the_first_token_comes_before_the_last_one_is_said(
    proxy: httpx.AsyncClient, path: str
) -> None:
    body = {"model": "slow_tokens", "stream": True, **BODIES[path]}
    async with proxy.stream("POST", path, json=body) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["content-encoding"] == "gzip"
        async with asyncio.timeout(5):
            async for line in answer.aiter_lines():
                if '"tick ' in line:
                    break


async def test_without_the_header_the_same_proxy_holds_the_tokens_back(
    proxy: httpx.AsyncClient, probe: Probe
) -> None:
    body = {"model": "slow_tokens", "stream": True, "input": "hi"}
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await proxy.send(
                proxy.build_request("POST", "/deaf/v1/responses", json=body), stream=True
            )
    assert probe.running.is_set()
