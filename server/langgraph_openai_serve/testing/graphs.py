"""Small graphs around a chat model or a plain function."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from langgraph_openai_serve.graph.config import Graph

Answer = Callable[[Sequence[BaseMessage]], BaseMessage | Awaitable[BaseMessage]]


def chat_graph(model: BaseChatModel) -> Graph:
    """Return a graph whose only node calls `model` with the messages."""

    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return _one_node(answer)


def scripted_graph(answer: Answer) -> Graph:
    """Return a graph whose only node answers with `answer(messages)`, sync or async."""

    async def node(state: MessagesState) -> dict[str, Any]:
        message = answer(state["messages"])
        return {"messages": [message if isinstance(message, BaseMessage) else await message]}

    return _one_node(node)


def _one_node(node: Any) -> Graph:
    builder = StateGraph(MessagesState)
    builder.add_node("answer", node)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    return builder.compile()
