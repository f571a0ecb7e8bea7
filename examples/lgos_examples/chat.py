"""A real model behind any OpenAI-compatible API. Shows a factory: the graph is made when the process starts.

Needs `langchain-openai` and `OPENAI_API_KEY`; `OPENAI_BASE_URL` and `CHAT_MODEL` choose another service and model.
"""

from __future__ import annotations

import os
from typing import Any

from langgraph.graph import END, START, MessagesState, StateGraph

from langgraph_openai_serve import ConfigurationError, GraphConfig


def make_config() -> GraphConfig:
    if not os.environ.get("OPENAI_API_KEY"):
        raise ConfigurationError("set OPENAI_API_KEY; for a service without keys any text will do")
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model=os.environ.get("CHAT_MODEL", "gpt-4.1-mini"), stream_usage=True)

    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    return GraphConfig(graph=builder.compile(), description=f"Chats as {model.model_name}.")
