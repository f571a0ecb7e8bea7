"""Executes tools itself and cites what it found. Shows server tools, parallel calls and citations."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from langgraph_openai_serve import GraphConfig, GraphRequest
from lgos_examples.search import Page, web_search


@tool
def package_version(name: str) -> str:
    """Tell the installed version of a Python package."""
    return version(name.strip())


TOOLS: dict[str, BaseTool] = {each.name: each for each in (package_version, web_search)}


class State(MessagesState):
    selected: list[str]


def to_input(request: GraphRequest, messages: list[BaseMessage]) -> dict[str, Any]:
    """Gives the graph the tools that the request selected."""
    return {"messages": messages, "selected": sorted(request.server_tools)}


def select(state: State) -> dict[str, Any]:
    """Choose calls. A real graph binds the selected tools to a model that does not stream; this one uses each once."""
    question = state["messages"][-1].text
    given = {"package_version": {"name": "langgraph"}, "web_search": {"query": question}}
    # A call id must be new in the whole conversation.
    turn = len(state["messages"])
    calls = [
        {"name": name, "args": given[name], "id": f"call_{turn}_{name}", "type": "tool_call"}
        for name in state["selected"]
    ]
    return {"messages": [AIMessage("", tool_calls=calls)]} if calls else {}


async def execute(state: State) -> dict[str, Any]:
    """Run the calls at the same time, with no tool in reach that was not selected."""
    if not state["selected"]:
        return {}
    done: dict[str, Any] = await ToolNode([TOOLS[name] for name in state["selected"]]).ainvoke(
        state
    )
    return done


def answer(state: State) -> dict[str, Any]:
    """Write the answer, with a citation for each page that it uses."""
    results = {m.name: m.text for m in state["messages"] if isinstance(m, ToolMessage)}
    text, citations = "", []
    if "package_version" in results:
        text += f"LangGraph {results['package_version']} is installed. "
    for page in json.loads(results.get("web_search", "[]")):
        text, citation = cite(text, page)
        citations.append(citation)
    block = {
        "type": "text",
        "text": text or "Select a tool and ask again.",
        "annotations": citations,
    }
    return {"messages": [AIMessage([block])]}


def cite(text: str, page: Page) -> tuple[str, dict[str, Any]]:
    """Append what a page says; the span is that sentence, its end the last character of it."""
    start = len(text)
    sentence = page["content"]
    citation = {
        "type": "citation",
        "url": page["url"],
        "title": page["title"],
        "start_index": start,
        "end_index": start + len(sentence) - 1,
        "cited_text": sentence,
    }
    return f"{text}{sentence} ([{page['title']}]({page['url']})) ", citation


builder = StateGraph(State)
for node in (select, execute, answer):
    builder.add_node(node.__name__, node)
builder.add_edge(START, "select")
builder.add_edge("select", "execute")
builder.add_edge("execute", "answer")
builder.add_edge("answer", END)

config = GraphConfig(
    graph=builder.compile(),
    description="Looks things up with the tools that you select, and cites them.",
    request_to_input=to_input,
    server_tools=set(TOOLS),
)
