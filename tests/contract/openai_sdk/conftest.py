"""A served application and the SDK's clients for it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from openai import AsyncOpenAI

from langgraph_openai_serve import LanggraphOpenaiServe
from support.graphs import Probe, registry
from support.serving import loopback


@pytest.fixture
def probe() -> Probe:
    return Probe()


@pytest.fixture
async def base_url(probe: Probe) -> AsyncIterator[str]:
    async with loopback(LanggraphOpenaiServe(registry(probe)).bind_openai_api().app) as origin:
        yield f"{origin}/v1"


@pytest.fixture
async def client(base_url: str) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0, timeout=20) as made:
        yield made
