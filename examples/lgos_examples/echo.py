"""Says what it was told. Shows client settings: values that a manifest, and then each request, may change."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.runtime import Runtime

from langgraph_openai_serve import ClientSettings, GraphConfig


class EchoSettings(ClientSettings):
    """What a client may choose for one request, in `metadata.lgos_settings`."""

    prefix: str = "You said: "
    shout: bool = False


def echo(state: MessagesState, runtime: Runtime[EchoSettings]) -> dict[str, Any]:
    settings = runtime.context
    text = settings.prefix + state["messages"][-1].text
    return {"messages": [AIMessage(text.upper() if settings.shout else text)]}


builder = StateGraph(MessagesState, context_schema=EchoSettings)
builder.add_node("echo", echo)
builder.add_edge(START, "echo")
builder.add_edge("echo", END)

config = GraphConfig(
    graph=builder.compile(),
    description="Says what it was told.",
    client_settings=EchoSettings,
)
