"""Calls the client's functions and answers with their results. Shows tool choice and parallel calls."""

from __future__ import annotations

from itertools import takewhile
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.messages.tool import tool_call
from langgraph.graph import END, START, MessagesState, StateGraph

from langgraph_openai_serve import GraphConfig, GraphRequest
from lgos_examples.models import ScriptedModel, Tool


class State(MessagesState):
    tools: list[Tool]
    tool_choice: str


def to_input(request: GraphRequest, messages: list[BaseMessage]) -> dict[str, Any]:
    """Gives the graph the functions and the choice of the request, as LangChain's `bind_tools` takes them."""
    choice = (
        request.tool_choice if isinstance(request.tool_choice, str) else request.tool_choice.name
    )
    return {"messages": messages, "tools": list(request.tools), "tool_choice": choice}


def script(messages: list[BaseMessage], tools: list[Tool]) -> AIMessage:
    """Where a real model chooses: the first function, once for each part of the question."""
    results = list(takewhile(lambda message: isinstance(message, ToolMessage), messages[::-1]))
    if results:
        said = ", ".join(message.text for message in results[::-1])
        return AIMessage(f"The function says: {said}")
    if not tools:
        return AIMessage("Give me a function and I will call it.")
    function = tools[0]["function"]
    needed = (function.get("parameters") or {}).get("required", [])
    calls = [
        tool_call(name=function["name"], args=dict.fromkeys(needed, part), id=f"call_{uuid4().hex}")
        for part in messages[-1].text.split(" and ")
    ]
    return AIMessage("", tool_calls=calls)


model = ScriptedModel(script=script)


async def answer(state: State) -> dict[str, Any]:
    bound = model.bind_tools(state["tools"], tool_choice=state["tool_choice"])
    return {"messages": [await bound.ainvoke(state["messages"])]}


builder = StateGraph(State)
builder.add_node("answer", answer)
builder.add_edge(START, "answer")
builder.add_edge("answer", END)

config = GraphConfig(
    graph=builder.compile(),
    description="Calls the function that the client offers.",
    request_to_input=to_input,
)
