"""Graphs that run in the background, by behaviour."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from langgraph_openai_serve import GraphConfig, GraphFeature
from langgraph_openai_serve.testing import ScriptedChatModel
from support.graphs import SECRET, Probe
from support.interrupt_graphs import Saver

BACKGROUND = {GraphFeature.BACKGROUND}
BOTH = {GraphFeature.BACKGROUND, GraphFeature.INTERRUPTS}
LARGE = 5 * 1024 * 1024


def background_configs(probe: Probe, saver: Saver) -> dict[str, GraphConfig]:
    """All graphs by their model name."""

    async def quick(_state: MessagesState) -> dict[str, Any]:
        probe.runs["bg_quick"] += 1
        await asyncio.sleep(0.2)
        return {"messages": [AIMessage("ok")]}

    async def slow(_state: MessagesState) -> dict[str, Any]:
        probe.runs["bg_slow"] += 1
        probe.running.set()
        try:
            await probe.gate.wait()
        finally:
            probe.left.put_nowait("bg_slow")
        return {"messages": [AIMessage("slow ok")]}

    async def fails(_state: MessagesState) -> dict[str, Any]:
        raise ValueError(SECRET)

    async def cut(state: MessagesState) -> dict[str, Any]:
        model = ScriptedChatModel(
            chunks=["Once"], usage=(3, 4), response_metadata={"finish_reason": "length"}
        )
        return {"messages": [await model.ainvoke(state["messages"])]}

    async def ask(_state: MessagesState) -> dict[str, Any]:
        probe.runs["bg_ask"] += 1
        answer = interrupt({"question": "Go?"})
        probe.runs["bg_answered"] += 1
        return {"messages": [AIMessage(f"got:{answer!r}")]}

    async def large(_state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("x" * LARGE)]}

    async def blocked(_state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("foreground only")]}

    def config(node: Any, features: set[GraphFeature], checkpointer: Saver | None) -> GraphConfig:
        graph = StateGraph(MessagesState)
        graph.add_node("node", node)
        graph.add_edge(START, "node")
        compiled = graph.compile(checkpointer=checkpointer)
        return GraphConfig(graph=compiled, description="A fixture.", features=features)

    plain = {
        "bg_quick": quick,
        "bg_slow": slow,
        "bg_fails": fails,
        "bg_cut": cut,
        "bg_large": large,
    }
    return {
        **{name: config(node, BACKGROUND, None) for name, node in plain.items()},
        "bg_ask": config(ask, BOTH, saver),
        "front": config(blocked, set(), None),
    }
