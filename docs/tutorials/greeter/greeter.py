"""A graph of one node that greets whoever writes to it."""

from typing import Any

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.runtime import Runtime

from langgraph_openai_serve import ClientSettings, GraphConfig


class Greeting(ClientSettings):
    """What a client may choose for one request."""

    word: str = "Hello"


def greet(state: MessagesState, runtime: Runtime[Greeting]) -> dict[str, Any]:
    """Answer the last message."""
    name = state["messages"][-1].text
    return {"messages": [AIMessage(f"{runtime.context.word}, {name}!")]}


builder = StateGraph(MessagesState, context_schema=Greeting)
builder.add_node("greet", greet)
builder.add_edge(START, "greet")
builder.add_edge("greet", END)

config = GraphConfig(
    graph=builder.compile(),
    description="Greets whoever writes to it.",
    client_settings=Greeting,
)
