"""Text, status and server tools keep their order, whichever way text comes."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph

from langgraph_openai_serve.graph.request import GraphRequest
from langgraph_openai_serve.graph.status import status_event
from langgraph_openai_serve.ports.observer import Api
from langgraph_openai_serve.run.callbacks import TextHandler
from langgraph_openai_serve.run.events import RunEvent, ServerToolCalled, StatusReported
from langgraph_openai_serve.run.probe import text_comes_by_callback
from langgraph_openai_serve.run.stream import PartReader
from langgraph_openai_serve.testing import ScriptedChatModel


def request(*messages: Any, server_tools: frozenset[str] = frozenset()) -> GraphRequest:
    return GraphRequest(
        "m", Api.RESPONSES, messages or (HumanMessage("hi"),), server_tools=server_tools
    )


def one_node(node: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    builder.add_edge("node", END)
    return builder.compile()


async def drive(graph: Any, asked: GraphRequest, **options: Any) -> list[RunEvent | str]:
    seen: list[RunEvent | str] = []
    reader = PartReader(asked, seen.append, seen.append, **options)
    parts = graph.astream(
        {"messages": list(asked.messages)}, {"callbacks": [reader.handler]},
        stream_mode=reader.modes, subgraphs=reader.subgraphs, version="v2",
    )  # fmt: skip
    async for part in parts:
        reader.read(part)
    reader.close()
    return seen


async def talkative(state: MessagesState) -> dict[str, Any]:
    model = ScriptedChatModel(chunks=["one ", "two"])
    get_stream_writer()(status_event("Looking."))
    first = await model.ainvoke(state["messages"])
    get_stream_writer()(status_event("Looking again."))
    second = await model.ainvoke(state["messages"])
    return {"messages": [AIMessage(first.text + second.text)]}


async def test_status_keeps_its_place_between_texts() -> None:
    seen = await drive(one_node(talkative), request(), shows_status=True)
    assert seen == [
        StatusReported("Looking."), "one ", "two", StatusReported("Looking again."), "one ", "two",
    ]  # fmt: skip


@pytest.mark.parametrize("by_callback", [True, False])
async def test_text_is_the_same_by_callback_and_by_messages(*, by_callback: bool) -> None:
    assert (
        await drive(one_node(talkative), request(), by_callback=by_callback) == ["one ", "two"] * 2
    )


async def test_a_call_tagged_nostream_is_silent_either_way() -> None:
    async def private(state: MessagesState) -> dict[str, Any]:
        model = ScriptedChatModel(chunks=["secret"])
        return {"messages": [await model.ainvoke(state["messages"], {"tags": ["nostream"]})]}

    for by_callback in (True, False):
        assert await drive(one_node(private), request(), by_callback=by_callback) == []


async def test_the_probe_finds_text_with_the_installed_langchain() -> None:
    assert await text_comes_by_callback()


async def test_the_probe_finds_a_handler_that_gets_no_text() -> None:
    class Unmarked(TextHandler):
        on_llm_new_token = BaseCallbackHandler.on_llm_new_token  # type: ignore[assignment]  # deaf on purpose

    assert not await text_comes_by_callback(Unmarked)
    assert not await text_comes_by_callback(Unmarked)


CALL = AIMessage("", tool_calls=[{"name": "lookup", "args": {"q": "x"}, "id": "call_1"}])
RESULT = ToolMessage("found", tool_call_id="call_1")


async def test_a_graph_as_a_node_does_not_repeat_calls_that_were_read() -> None:
    def call(_state: MessagesState) -> dict[str, Any]:
        return {"messages": [CALL.model_copy()]}

    def answer(_state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("done")]}

    builder = StateGraph(MessagesState)
    builder.add_node("call", call)
    builder.add_node("result", lambda _state: {"messages": [RESULT.model_copy()]})
    builder.add_node("nested", one_node(answer))
    builder.add_edge(START, "call")
    builder.add_edge("call", "result")
    builder.add_edge("result", "nested")
    seen = await drive(builder.compile(), request(server_tools=frozenset({"lookup"})))
    assert [event for event in seen if isinstance(event, ServerToolCalled)] == [
        ServerToolCalled("call_1", "lookup", "x")
    ]


async def test_a_replayed_call_in_the_history_is_not_emitted_again() -> None:
    asked = request(
        HumanMessage("hi"), CALL, RESULT, HumanMessage("more"), server_tools=frozenset({"lookup"})
    )
    nested = one_node(lambda _state: {"messages": [AIMessage("done")]})
    assert await drive(one_node(nested), asked) == []
