"""Fixture graphs that execute tools themselves, and graphs that cite."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph

from langgraph_openai_serve import GraphConfig, GraphFeature, GraphRequest, status_event
from langgraph_openai_serve.testing import ScriptedChatModel, scripted_graph

VERSION = "lgos_package_version"
SEARCH = "web_search"
PRIVATE = "private_lookup"
RESULT = "1.2.3"
PAYLOAD = "what the search found, which stays private"
CITED = "Paris is the capital."
GLOBE = "e\u0301\U0001f30d\u5317\u4eac"
LINKED = "Paris [1](https://example.org/p) ![map](https://example.org/m.png)"


def call(name: str, call_id: str, **args: Any) -> dict[str, Any]:
    return {"name": name, "args": args, "id": call_id, "type": "tool_call"}


def steps(*states: Any) -> Any:
    """A graph of one node after the other; each gives messages, or is a node function."""
    builder = StateGraph(MessagesState)
    before = START
    for number, state in enumerate(states):
        node = state if callable(state) else (lambda _state, state=state: {"messages": state})
        builder.add_node(f"step{number}", node)
        builder.add_edge(before, f"step{number}")
        before = f"step{number}"
    builder.add_edge(before, END)
    return builder.compile()


async def _version(state: MessagesState) -> dict[str, Any]:
    result = next(
        m for m in state["messages"] if isinstance(m, ToolMessage) and m.tool_call_id == "call_v"
    )
    model = ScriptedChatModel(chunks=["Version ", str(result.content), "."])
    return {"messages": [await model.ainvoke(state["messages"])]}


def _tells(_state: MessagesState) -> dict[str, Any]:
    get_stream_writer()(status_event("Looking up the version"))
    return {}


async def _chooses(_state: MessagesState) -> dict[str, Any]:
    """Chooses a tool with a model whose text is nobody's business."""
    model = ScriptedChatModel(chunks=["I had ", "better look"], disable_streaming=True)
    thought = await model.ainvoke([])
    return {"messages": [AIMessage(thought.text, tool_calls=VERSION_CALL[0].tool_calls)]}


VERSION_CALL = [AIMessage("", tool_calls=[call(VERSION, "call_v", __arg1="lgos")])]
VERSION_RESULT = [ToolMessage(RESULT, tool_call_id="call_v")]
SEARCH_CALL = call(SEARCH, "call_s", query="langgraph")


def config(graph: Any, *tools: str) -> GraphConfig:
    return GraphConfig(graph=graph, description="Executes tools.", server_tools=frozenset(tools))


def cited(*annotations: dict[str, Any], text: str = CITED, before: Any = ()) -> GraphConfig:
    block = {"type": "text", "text": text, "annotations": list(annotations)}
    return GraphConfig(
        graph=scripted_graph(lambda _messages: AIMessage([*before, block])), description="Cites."
    )


SPAN = {
    "type": "citation",
    "url": "https://example.org/p",
    "title": "P",
    "start_index": 0,
    "end_index": 4,
}


def tool_configs() -> dict[str, GraphConfig]:
    """The graphs by their model name."""
    both = [
        AIMessage(
            "",
            tool_calls=[
                VERSION_CALL[0].tool_calls[0],
                SEARCH_CALL,
                call(PRIVATE, "call_p", q="secret"),
            ],
        )
    ]
    results = [
        ToolMessage("secret", tool_call_id="call_p"),
        ToolMessage(PAYLOAD, tool_call_id="call_s"),
        *VERSION_RESULT,
    ]

    def breaks(_state: MessagesState) -> dict[str, Any]:
        msg = "no search today"
        raise ValueError(msg)

    said = [AIMessage("done")]
    registered = (VERSION, SEARCH)
    nested = steps(VERSION_CALL, VERSION_RESULT, said)

    async def around(state: MessagesState) -> dict[str, Any]:
        inner = await nested.ainvoke({"messages": state["messages"]})
        return {"messages": [inner["messages"][-1]]}

    return {
        "custom_tool": config(steps(VERSION_CALL, VERSION_RESULT, _version), VERSION),
        "searches": config(
            steps(
                [AIMessage("", tool_calls=[SEARCH_CALL])],
                [ToolMessage(PAYLOAD, tool_call_id="call_s")],
                said,
            ),
            SEARCH,
        ),
        "search_fails": config(
            steps(
                [AIMessage("", tool_calls=[SEARCH_CALL])],
                [ToolMessage("no", tool_call_id="call_s", status="error")],
                said,
            ),
            SEARCH,
        ),
        "parallel_tools": config(steps(both, results, _version), *registered),
        "tool_breaks": config(
            steps(VERSION_CALL, VERSION_RESULT, [AIMessage("", tool_calls=[SEARCH_CALL])], breaks),
            *registered,
        ),
        "no_result": config(steps(VERSION_CALL, said), *registered),
        "same_id_twice": config(
            steps(
                VERSION_CALL,
                VERSION_RESULT,
                [AIMessage("", tool_calls=[call(VERSION, "call_v", __arg1="again")])],
            ),
            *registered,
        ),
        "nested_tools": config(steps(around), *registered),
        "cited": cited({**SPAN, "cited_text": "Paris"}),
        "chooses_in_private": config(steps(_chooses, VERSION_RESULT, _version), VERSION),
        "cited_in_characters": cited({**SPAN, "cited_text": GLOBE}, text=GLOBE),
        "cited_in_second_block": cited(
            {**SPAN, "cited_text": "Paris"}, before=["First. ", {"type": "text", "text": "Then. "}]
        ),
        "cited_twice_with_links": cited(
            {**SPAN, "cited_text": "Paris", "title": None},
            {"type": "citation", "title": "a document without an address", "start_index": 0},
            {**SPAN, "start_index": 6, "end_index": 6, "url": "https://example.org/q"},
            text=LINKED,
        ),
        "cited_backwards": cited({**SPAN, "start_index": 3, "end_index": 2}),
        "cited_before": cited({**SPAN, "start_index": -1}),
        "cited_nowhere": cited({"type": "citation", "url": "https://example.org/p", "title": "P"}),
        "cited_too_far": cited({**SPAN, "end_index": 21}),
        "cited_wrongly": cited({**SPAN, "cited_text": "Rome"}),
        "status_and_tools": GraphConfig(
            graph=steps(_tells, VERSION_CALL, VERSION_RESULT, _version),
            description="Executes tools.",
            server_tools=frozenset(registered),
            features={GraphFeature.CLIENT_EVENTS},
        ),
    }


class Offered(MessagesState):
    tools: list[dict[str, Any]]


def first_tool(**options: Any) -> GraphConfig:
    """A graph that calls the first function of the request, and answers with the result."""

    def to_input(request: GraphRequest, messages: list[BaseMessage]) -> dict[str, Any]:
        return {"messages": messages, "tools": list(request.tools)}

    def answer(state: Offered) -> dict[str, Any]:
        last = state["messages"][-1]
        if isinstance(last, ToolMessage):
            return {"messages": [AIMessage(f"Tool said: {last.text}")]}
        if not state["tools"]:
            return {"messages": [AIMessage(f"Echo: {last.text}")]}
        name = state["tools"][0]["function"]["name"]
        made = call(name, "call_1", location="San Francisco")
        return {"messages": [AIMessage("", tool_calls=[made])]}

    builder = StateGraph(Offered)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    return GraphConfig(
        graph=builder.compile(),
        description="Calls the first function.",
        request_to_input=to_input,
        **options,
    )
