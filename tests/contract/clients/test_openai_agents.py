"""The OpenAI Agents SDK runs a tool loop against LGOS, by both APIs, streamed and not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    function_tool,
)
from openai import AsyncOpenAI

from langgraph_openai_serve import GraphRegistry, LanggraphOpenaiServe
from support.serving import loopback
from support.tool_graphs import first_tool


@pytest.fixture
async def client() -> AsyncIterator[AsyncOpenAI]:
    server = LanggraphOpenaiServe(GraphRegistry({"tools": first_tool()})).bind_openai_api()
    async with (
        loopback(server.app) as origin,
        AsyncOpenAI(base_url=f"{origin}/v1", api_key="none", max_retries=0, timeout=20) as made,
    ):
        yield made


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("kind", [OpenAIResponsesModel, OpenAIChatCompletionsModel])
async def test_a_tool_loop_ends_with_the_answer(
    client: AsyncOpenAI, kind: Any, streamed: bool
) -> None:
    asked: list[str] = []

    @function_tool
    def get_weather(location: str) -> str:
        """Tell the weather."""
        asked.append(location)
        return "sunny"

    agent = Agent(
        name="weather", instructions="Be nice.", model=kind("tools", client), tools=[get_weather]
    )
    config = RunConfig(tracing_disabled=True)
    if streamed:
        result: Any = Runner.run_streamed(agent, "weather?", run_config=config)
        async for _event in result.stream_events():
            pass
    else:
        result = await Runner.run(agent, "weather?", run_config=config)
    assert asked == ["San Francisco"]
    assert result.final_output == "Tool said: sunny"
