"""The application without a socket, and what a test sees of its graphs."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from langgraph_openai_serve import LanggraphOpenaiServe
from support.graphs import Probe, registry
from support.serving import in_process


@pytest.fixture
def probe() -> Probe:
    return Probe()


@pytest.fixture
async def http(probe: Probe) -> AsyncIterator[httpx.AsyncClient]:
    async with in_process(LanggraphOpenaiServe(registry(probe)).bind_openai_api().app) as client:
        yield client
