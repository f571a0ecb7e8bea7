"""Graphs that pause for answers, by behaviour."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any

from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.runtime import Runtime
from langgraph.types import Send, interrupt

from langgraph_openai_serve import ClientSettings, GraphConfig, GraphFeature
from langgraph_openai_serve.testing import ScriptedChatModel
from support.graphs import SECRET, Probe

Saver = BaseCheckpointSaver[Any]
INTERRUPTS = {GraphFeature.INTERRUPTS}
FALSY_PAYLOADS = (None, False, 0, "", [], {})


class Both(MessagesState, total=False):
    a: str
    b: str


class Counted(MessagesState, total=False):
    starts: int


class Mood(ClientSettings):
    mood: str = "plain"


def interrupt_configs(probe: Probe, saver: Saver) -> dict[str, GraphConfig]:
    """All graphs that pause, by their model name; they keep their pauses in `saver`."""
    graphs: Mapping[str, Any] = {
        "ask_once": _ask_once(probe),
        "ask_two": _ask_two(probe),
        "ask_in_turn": _ask_in_turn(probe),
        "ask_two_tools": _tools(probe, one_task=True),
        "ask_slow_tools": _tools(probe, one_task=True, slow_blue=True),
        "ask_sent_tools": _tools(probe, one_task=False),
        "ask_beside_tool": _beside(probe),
        "ask_in_subgraph": _ask_in_subgraph(probe),
        "ask_odd_payload": _asks({"when": datetime(2026, 1, 2, tzinfo=UTC), "sum": Decimal("1.5")}),
        "ask_nan": _asks({"nan": float("nan")}),
        "ask_after_text": _ask_after_text(),
        "ask_then_fail": _ask_then_fail(probe),
        "ask_then_wait": _ask_then_wait(probe),
        "never_asks": _never_asks(probe),
        **{f"ask_falsy_{index}": _asks(value) for index, value in enumerate(FALSY_PAYLOADS)},
    }
    configs = {
        name: GraphConfig(
            graph=graph.compile(checkpointer=saver),
            description=f"{name} fixture.",
            features=INTERRUPTS,
        )
        for name, graph in graphs.items()
    }
    configs["ask_mood"] = GraphConfig(
        graph=_ask_mood().compile(checkpointer=saver),
        description="Tells its settings before and after the pause.",
        features=INTERRUPTS,
        client_settings=Mood,
    )
    configs["undeclared"] = GraphConfig(
        graph=_ask_once(probe).compile(checkpointer=saver), description="Does not say that it asks."
    )
    configs["undeclared_bare"] = GraphConfig(
        graph=_ask_once(probe).compile(), description="Has nowhere to pause, either."
    )
    return configs


def _says(text: str) -> dict[str, Any]:
    return {"messages": [AIMessage(text)]}


def _ask_once(probe: Probe) -> StateGraph[Any]:
    def first(_state: MessagesState) -> dict[str, Any]:
        probe.runs["first"] += 1
        return {}

    def ask(_state: MessagesState) -> dict[str, Any]:
        probe.runs["ask"] += 1
        answer = interrupt({"question": "Go?"})
        probe.runs["answered"] += 1
        return _says(f"got:{answer!r}")

    graph = StateGraph(MessagesState)
    graph.add_node("first", first)
    graph.add_node("ask", ask)
    graph.add_edge(START, "first")
    graph.add_edge("first", "ask")
    return graph


def _ask_two(probe: Probe) -> StateGraph[Any]:
    def asking(name: str) -> Any:
        def node(_state: Both) -> dict[str, Any]:
            probe.runs[name] += 1
            return {name: interrupt({"name": name})}

        return node

    graph = StateGraph(Both)
    graph.add_node("a", asking("a"))
    graph.add_node("b", asking("b"))
    graph.add_node("end", lambda state: _says(f"a={state['a']} b={state['b']}"))
    graph.add_edge(START, "a")
    graph.add_edge(START, "b")
    graph.add_edge(["a", "b"], "end")
    return graph


def _ask_in_turn(probe: Probe) -> StateGraph[Any]:
    def node(_state: MessagesState) -> dict[str, Any]:
        probe.runs["in_turn"] += 1
        first = interrupt({"step": 1})
        second = interrupt({"step": 2})
        return _says(f"{first!r} {second!r}")

    graph = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    return graph


def _call_both(_state: MessagesState) -> dict[str, Any]:
    calls = [
        {"name": name, "args": {}, "id": f"call_{name}", "type": "tool_call"}
        for name in ("red", "blue")
    ]
    return {"messages": [AIMessage("", tool_calls=calls)]}


def _tell_both(state: MessagesState) -> dict[str, Any]:
    told = {message.name: message.content for message in state["messages"][-2:]}
    return _says(f"red={told['red']} blue={told['blue']}")


def _tools(probe: Probe, *, one_task: bool, slow_blue: bool = False) -> StateGraph[Any]:
    @tool
    async def red() -> str:
        """Ask for red."""
        return str(interrupt({"name": "red"}))

    @tool
    async def blue() -> str:
        """Ask for blue."""
        if slow_blue:
            await asyncio.sleep(0.05)
        probe.runs["blue"] += 1
        return str(interrupt({"name": "blue"}))

    node = ToolNode([red, blue])
    graph = StateGraph(MessagesState)
    graph.add_node("call", _call_both)
    graph.add_node("tell", _tell_both)
    graph.add_edge(START, "call")
    graph.add_edge("tell", END)
    if one_task:
        graph.add_node("tools", node)
        graph.add_edge("call", "tools")
        graph.add_edge("tools", "tell")
        return graph

    def spread(state: MessagesState) -> list[Send]:
        calls = getattr(state["messages"][-1], "tool_calls", [])
        return [Send("tools", {"messages": [AIMessage("", tool_calls=[call])]}) for call in calls]

    graph.add_node("tools", node)
    graph.add_conditional_edges("call", spread, ["tools"])
    graph.add_edge("tools", "tell")
    return graph


def _beside(probe: Probe) -> StateGraph[Any]:
    @tool
    async def red() -> str:
        """Ask for red."""
        return str(interrupt({"name": "red"}))

    @tool
    async def blue() -> str:
        """Look something up."""
        await asyncio.sleep(0.05)
        probe.runs["looked up"] += 1
        return "found"

    graph = StateGraph(MessagesState)
    graph.add_node("call", _call_both)
    graph.add_node("tools", ToolNode([red, blue]))
    graph.add_node("tell", _tell_both)
    graph.add_edge(START, "call")
    graph.add_edge("call", "tools")
    graph.add_edge("tools", "tell")
    return graph


def _ask_in_subgraph(probe: Probe) -> StateGraph[Any]:
    def count(_state: Counted) -> dict[str, Any]:
        probe.runs["subgraph"] += 1
        return {"starts": probe.runs["subgraph"]}

    inner = StateGraph(Counted)
    inner.add_node("count", count)
    inner.add_node("ask", lambda _state: _says(f"inner:{interrupt('Sure?')}"))
    inner.add_edge(START, "count")
    inner.add_edge("count", "ask")
    graph = StateGraph(Counted)
    graph.add_node("inner", inner.compile())
    graph.add_node(
        "end",
        lambda state: _says(f"A started {state['starts']} time, {state['messages'][-1].text}"),
    )
    graph.add_edge(START, "inner")
    graph.add_edge("inner", "end")
    return graph


def _asks(payload: Any) -> StateGraph[Any]:
    graph = StateGraph(MessagesState)
    graph.add_node("ask", lambda _state: _says(f"got:{interrupt(payload)!r}"))
    graph.add_edge(START, "ask")
    return graph


def _ask_after_text() -> StateGraph[Any]:
    async def speak(state: MessagesState) -> dict[str, Any]:
        model = ScriptedChatModel(chunks=["Let me ", "ask."], usage=(3, 2))
        return {"messages": [await model.ainvoke(state["messages"])]}

    async def end(state: MessagesState) -> dict[str, Any]:
        answer = interrupt("Really?")
        model = ScriptedChatModel(chunks=["Done: ", str(answer)], usage=(5, 4))
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("speak", speak)
    graph.add_node("end", end)
    graph.add_edge(START, "speak")
    graph.add_edge("speak", "end")
    return graph


def _ask_then_fail(probe: Probe) -> StateGraph[Any]:
    def node(_state: MessagesState) -> dict[str, Any]:
        answer = interrupt("Fail?")
        probe.runs["failing"] += 1
        if answer == "yes":
            raise ValueError(SECRET)
        return _says("kept going")

    graph = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    return graph


def _ask_then_wait(probe: Probe) -> StateGraph[Any]:
    async def wait(_state: MessagesState) -> dict[str, Any]:
        answer = interrupt("Wait?")
        probe.runs["waiting"] += 1
        probe.running.set()
        try:
            await probe.gate.wait()
        finally:
            probe.left.put_nowait("ask_then_wait")
        return _says(f"waited:{answer}")

    graph = StateGraph(MessagesState)
    graph.add_node("wait", wait)
    graph.add_edge(START, "wait")
    return graph


def _never_asks(probe: Probe) -> StateGraph[Any]:
    async def run(_state: MessagesState) -> dict[str, Any]:
        probe.runs["never_asks"] += 1
        probe.running.set()
        await probe.gate.wait()
        return _says("done")

    graph = StateGraph(MessagesState)
    graph.add_node("run", run)
    graph.add_edge(START, "run")
    return graph


class _Steps(MessagesState, total=False):
    log: Annotated[list[str], operator.add]


def _ask_mood() -> StateGraph[Any]:
    def before(_state: _Steps, runtime: Runtime[Mood]) -> dict[str, Any]:
        return {"log": [runtime.context.mood]}

    def after(state: _Steps, runtime: Runtime[Mood]) -> dict[str, Any]:
        interrupt("Go on?")
        return _says(" ".join([*state["log"], runtime.context.mood]))

    graph = StateGraph(_Steps, context_schema=Mood)
    graph.add_node("before", before)
    graph.add_node("after", after)
    graph.add_edge(START, "before")
    graph.add_edge("before", "after")
    return graph
