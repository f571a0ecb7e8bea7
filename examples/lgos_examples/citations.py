"""Answers from pages that it looked up, and cites them. Shows retrieval, links in the text and citations made by code."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from langgraph_openai_serve import GraphConfig
from lgos_examples.models import ScriptedModel, Tool
from lgos_examples.search import Page, as_text, cite, kept

PROMPT = "Answer from these pages, with their links:"


class State(MessagesState):
    pages: list[Page]


def quote(messages: list[BaseMessage], _tools: list[Tool]) -> AIMessage:
    """Where a real model writes: repeats the pages."""
    return AIMessage(messages[0].text.removeprefix(PROMPT).strip() or "I have no page about that.")


model = ScriptedModel(script=quote)


def retrieve(state: State) -> dict[str, Any]:
    return {"pages": kept(state["messages"][-1].text)}


async def answer(state: State) -> dict[str, Any]:
    prompt = SystemMessage(f"{PROMPT}\n{as_text(state['pages'])}")
    message = await model.ainvoke([prompt, *state["messages"]])
    return {"messages": [cite(message, state["pages"])]}


builder = StateGraph(State)
builder.add_node("retrieve", retrieve)
builder.add_node("answer", answer)
builder.add_edge(START, "retrieve")
builder.add_edge("retrieve", "answer")
builder.add_edge("answer", END)

config = GraphConfig(
    graph=builder.compile(), description="Answers from a few pages and cites them."
)
