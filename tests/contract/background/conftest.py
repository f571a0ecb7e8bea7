from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx
import pytest
from fastapi import FastAPI
from langgraph.checkpoint.memory import InMemorySaver
from openai import AsyncOpenAI

from langgraph_openai_serve import (
    BackgroundBackend,
    GraphRegistry,
    InMemoryBackgroundBackend,
    LanggraphOpenaiServe,
)
from support.asking import client_for
from support.background_graphs import background_configs
from support.graphs import Probe
from support.observing import Ledger
from support.pausing import SCOPE_HEADER
from support.serving import in_process


@dataclass
class Engine:
    """A server with a background engine, and the test's view into it."""

    client: AsyncOpenAI
    http: httpx.AsyncClient
    backend: BackgroundBackend
    probe: Probe
    ledger: Ledger


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    """The engine in the application's own process."""
    probe, ledger = Probe(), Ledger()
    registry = GraphRegistry(background_configs(probe, InMemorySaver()), observer=ledger)
    backend = InMemoryBackgroundBackend(registry)
    app = FastAPI(lifespan=backend.lifespan)
    server = LanggraphOpenaiServe(
        registry=registry,
        app=app,
        checkpoint_scope=lambda request: request.headers.get(SCOPE_HEADER, "shared"),
        background=backend,
    )
    server.bind_openai_api()
    async with backend.lifespan(app), client_for(app) as client, in_process(app) as http:
        yield Engine(client, http, backend, probe, ledger)
