"""Thinks, then writes a story word by word. Shows streaming, and progress that Responses clients see."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph

from langgraph_openai_serve import GraphConfig, GraphFeature, status_event
from lgos_examples.models import ScriptedModel, Tool


def story(messages: list[BaseMessage], _tools: list[Tool]) -> AIMessage:
    topic = " ".join(messages[-1].text.split()[:6]).strip(" .!?") or "nothing in particular"
    return AIMessage(
        f"Once upon a time somebody asked about {topic}. Nobody knew the answer, so they built a"
        " graph: one node to think, one node to write. It thought for a while and then it wrote"
        " this. The end."
    )


model = ScriptedModel(script=story, pause_seconds=0.05)


async def think(_state: MessagesState) -> dict[str, Any]:
    get_stream_writer()(status_event("Thinking of a story"))
    return {}


async def write(state: MessagesState) -> dict[str, Any]:
    get_stream_writer()(status_event("Writing it down"))
    return {"messages": [await model.ainvoke(state["messages"])]}


builder = StateGraph(MessagesState)
builder.add_node("think", think)
builder.add_node("write", write)
builder.add_edge(START, "think")
builder.add_edge("think", "write")
builder.add_edge("write", END)

config = GraphConfig(
    graph=builder.compile(),
    description="Writes a short story about anything, word by word.",
    features={GraphFeature.CLIENT_EVENTS},
)
