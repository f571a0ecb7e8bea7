"""LangChain's own OpenAI client finishes a tool loop against LGOS, by both APIs, streamed and not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from langgraph_openai_serve import GraphRegistry, LanggraphOpenaiServe
from support.serving import loopback
from support.tool_graphs import first_tool

WEATHER = {
    "name": "get_weather",
    "description": "weather",
    "parameters": {"type": "object", "properties": {"location": {"type": "string"}}},
}


@pytest.fixture
async def base_url() -> AsyncIterator[str]:
    server = LanggraphOpenaiServe(GraphRegistry({"tools": first_tool()})).bind_openai_api()
    async with loopback(server.app) as origin:
        yield f"{origin}/v1"


async def ask(model: Any, messages: list[BaseMessage], streamed: bool) -> AIMessage:
    if not streamed:
        answer: AIMessage = await model.ainvoke(messages)
        return answer
    whole: Any = None
    async for chunk in model.astream(messages):
        whole = chunk if whole is None else whole + chunk
    assert isinstance(whole, AIMessage)
    return whole


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("by_responses", [False, True])
async def test_a_tool_loop_ends_with_the_answer(
    base_url: str, by_responses: bool, streamed: bool
) -> None:
    chat = ChatOpenAI(
        model="tools",
        base_url=base_url,
        api_key=SecretStr("none"),
        use_responses_api=by_responses,
        max_retries=0,
    )
    model = chat.bind_tools([WEATHER])
    messages: list[BaseMessage] = [HumanMessage("weather?")]
    called = await ask(model, messages, streamed)
    [call] = called.tool_calls
    assert (call["name"], call["args"]) == ("get_weather", {"location": "San Francisco"})
    messages += [called, ToolMessage("sunny", tool_call_id=call["id"])]
    answer = await ask(model, messages, streamed)
    assert answer.text == "Tool said: sunny"
    messages += [answer, HumanMessage("thanks")]
    assert (await ask(chat, messages, streamed)).text == "Echo: thanks"
