from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_openai_serve.testing import ScriptedChatModel, chat_graph, scripted_graph

QUESTION = [HumanMessage("q")]


async def test_model_says_its_chunks_streamed_or_not() -> None:
    model = ScriptedChatModel(
        chunks=["a", "b"], usage=(1, 2), response_metadata={"finish_reason": "stop"}
    )
    for answer in (model.invoke(QUESTION), await model.ainvoke(QUESTION)):
        assert answer.content == "ab"
        assert answer.usage_metadata is not None
        assert answer.usage_metadata["total_tokens"] == 3
        assert answer.response_metadata["finish_reason"] == "stop"
    assert [c.content for c in model.stream(QUESTION) if c.content] == ["a", "b"]
    assert [c.content async for c in model.astream(QUESTION) if c.content] == ["a", "b"]


@pytest.mark.parametrize("after", [0, 1, 2, 9])
async def test_model_fails_when_told_to(after: int) -> None:
    model = ScriptedChatModel(chunks=["a", "b"], fail_after=after, failure="now")
    said: list[str] = []

    with pytest.raises(ValueError, match="now"):
        said.extend(str(chunk.content) for chunk in model.stream(QUESTION))
    with pytest.raises(ValueError, match="now"):
        await model.ainvoke(QUESTION)


async def test_graphs_answer_with_a_model_or_a_function() -> None:
    async def later(messages: object) -> AIMessage:
        return AIMessage(f"{messages is not None}")

    state = {"messages": QUESTION}
    model = ScriptedChatModel(chunks=["a"])

    assert (await chat_graph(model).ainvoke(state))["messages"][-1].content == "a"
    assert (await scripted_graph(later).ainvoke(state))["messages"][-1].content == "True"
    now = scripted_graph(lambda _: AIMessage("now"))
    assert (await now.ainvoke(state))["messages"][-1].content == "now"
