"""A server of graphs that pause, and what a test asks of it through the SDK."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from openai import AsyncOpenAI
from openai.types.responses import Response, ResponseFunctionToolCall

from langgraph_openai_serve import GraphConfig, GraphRegistry, LanggraphOpenaiServe, RunCoordinator
from support.asking import client_for
from support.graphs import Probe
from support.interrupt_graphs import Saver, interrupt_configs
from support.observing import Ledger

SCOPE_HEADER = "x-test-scope"


@dataclass
class Stage:
    """One server, its store, and the test's view into the graphs."""

    client: AsyncOpenAI
    server: LanggraphOpenaiServe
    saver: Saver
    probe: Probe
    ledger: Ledger
    streamed: bool = False

    async def ask(self, model: str, content: Any = "go", **fields: Any) -> Response:
        """Ask, streamed or not, and return the finished Response."""
        if not self.streamed:
            answered: Response = await self.client.responses.create(
                model=model, input=content, **fields
            )
            return answered
        stream: Any = await self.client.responses.create(
            model=model, input=content, stream=True, **fields
        )
        response: Response | None = None
        async for event in stream:
            if event.type in {"response.completed", "response.incomplete", "response.failed"}:
                response = event.response
        assert response is not None
        return response

    async def resume(self, paused: Response, *texts: str, **fields: Any) -> Response:
        """Answer all interrupts of a paused Response, in their order."""
        return await self.ask(paused.model, answers(paused, *texts), **{
            "previous_response_id": paused.id, **fields
        })  # fmt: skip

    async def threads(self) -> set[str]:
        """Return the threads that the store holds."""
        return {entry.config["configurable"]["thread_id"] async for entry in self.saver.alist(None)}


def calls(response: Response) -> list[ResponseFunctionToolCall]:
    """Return the interrupts of a Response."""
    return [
        item
        for item in response.output
        if item.type == "function_call" and item.name == "lgos_interrupt"
    ]


def answers(paused: Response, *texts: str) -> list[Any]:
    """Return one answer for each interrupt."""
    return [
        {"type": "function_call_output", "call_id": call.call_id, "output": text}
        for call, text in zip(calls(paused), texts, strict=True)
    ]


@asynccontextmanager
async def staged(
    saver: Saver,
    *,
    coordinator: RunCoordinator | None = None,
    probe: Probe | None = None,
    graphs: Mapping[str, GraphConfig] | None = None,
) -> AsyncIterator[Stage]:
    """Serve the graphs that pause; the scope of a request is in a header that only tests know."""
    probe = probe or Probe()
    ledger = Ledger()
    registry = GraphRegistry(
        graphs or interrupt_configs(probe, saver), observer=ledger, run_coordinator=coordinator
    )
    server = LanggraphOpenaiServe(
        registry, checkpoint_scope=lambda request: request.headers.get(SCOPE_HEADER, "shared")
    ).bind_openai_api()
    async with client_for(server.app) as client:
        yield Stage(client, server, saver, probe, ledger)
