from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from support.interrupt_graphs import Saver
from support.pausing import Stage, staged


@pytest.fixture
def saver() -> Saver:
    return InMemorySaver()


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
async def stage(request: pytest.FixtureRequest, saver: Saver) -> AsyncIterator[Stage]:
    """A server of graphs that pause; every test runs whole and streamed."""
    async with staged(saver) as made:
        made.streamed = request.param
        yield made
