"""Calls the client's first function and answers with its result. Shows function calls in both directions."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from langgraph_openai_serve import GraphConfig, GraphRequest


class State(MessagesState):
    tools: list[dict[str, Any]]


def to_input(request: GraphRequest, messages: list[BaseMessage]) -> dict[str, Any]:
    """Gives the graph the functions of the request, as LangChain's `bind_tools` takes them."""
    tools = [] if request.tool_choice == "none" else list(request.tools)
    return {"messages": messages, "tools": tools}


def answer(state: State) -> dict[str, Any]:
    last = state["messages"][-1]
    if isinstance(last, ToolMessage):
        return {"messages": [AIMessage(f"The function says: {last.text}")]}
    if not state["tools"]:
        return {"messages": [AIMessage("Give me a function and I will call it.")]}
    return {"messages": [AIMessage("", tool_calls=[call(state["tools"][0], last.text)])]}


def call(tool: dict[str, Any], text: str) -> dict[str, Any]:
    """A real model would choose the arguments; this one fills the required ones with what was said."""
    function = tool["function"]
    needed = (function.get("parameters") or {}).get("required", [])
    return {
        "name": function["name"],
        "args": dict.fromkeys(needed, text),
        "id": f"call_{uuid4().hex}",
        "type": "tool_call",
    }


builder = StateGraph(State)
builder.add_node("answer", answer)
builder.add_edge(START, "answer")
builder.add_edge("answer", END)

config = GraphConfig(
    graph=builder.compile(),
    description="Calls the first function that the client offers.",
    request_to_input=to_input,
)
