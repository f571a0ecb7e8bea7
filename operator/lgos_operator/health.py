"""The operator's HTTP ports: `/healthz` and `/readyz` on one, `/metrics` on the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from lgos_contract.environment import HEALTH_PATH, METRICS_PATH, READY_PATH

Check = Callable[[], str]
"""Returns what is wrong, as a sentence; empty when nothing is."""


@asynccontextmanager
async def serve_http(
    *, health_port: int, metrics_port: int, alive: Check, ready: Check, metrics: CollectorRegistry
) -> AsyncIterator[None]:
    """Serve both ports on all addresses while the context is open."""

    async def healthz(_: web.Request) -> web.Response:
        return _answer(alive())

    async def readyz(_: web.Request) -> web.Response:
        return _answer(ready())

    async def exposition(_: web.Request) -> web.Response:
        text = await asyncio.to_thread(generate_latest, metrics)
        answer = web.Response(body=text, headers={"Content-Type": CONTENT_TYPE_LATEST})
        answer.force_close()
        return answer

    health = web.Application()
    health.router.add_get(HEALTH_PATH, healthz)
    health.router.add_get(READY_PATH, readyz)
    exporter = web.Application()
    exporter.router.add_get(METRICS_PATH, exposition)
    async with _listening(health, health_port), _listening(exporter, metrics_port):
        yield


@asynccontextmanager
async def _listening(app: web.Application, port: int) -> AsyncIterator[None]:
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, port=port).start()
        yield
    finally:
        await runner.cleanup()


def _answer(problem: str) -> web.Response:
    answer = web.Response(text=problem or "ok", status=503 if problem else 200)
    # A connection that is kept open would keep the program from ending quickly.
    answer.force_close()
    return answer
