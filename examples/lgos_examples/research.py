"""Executes tools itself and cites what it found. Shows server tools, a private model, parallel calls and citations."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import tool_call
from langchain_core.tools import BaseTool, tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from langgraph_openai_serve import GraphConfig, GraphRequest
from lgos_examples.models import ScriptedModel, Tool
from lgos_examples.search import cite, web_search


@tool
def package_version(name: str) -> str:
    """Tell the installed version of a Python package."""
    try:
        return f"{name} {version(name)} is installed."
    except PackageNotFoundError:
        return f"{name} is not installed."


TOOLS: dict[str, BaseTool] = {each.name: each for each in (package_version, web_search)}


class State(MessagesState):
    selected: list[str]
    tool_choice: str


def to_input(request: GraphRequest, messages: list[BaseMessage]) -> dict[str, Any]:
    """Gives the graph the tools that the request selected, and its choice."""
    choice = (
        request.tool_choice if isinstance(request.tool_choice, str) else request.tool_choice.name
    )
    return {
        "messages": messages,
        "selected": sorted(request.server_tools),
        "tool_choice": choice,
    }


def choose(messages: list[BaseMessage], tools: list[Tool]) -> AIMessage:
    """Where a real model chooses: each tool once, with the name of a package or the whole question."""
    inputs: dict[str, dict[str, Any]] = {
        "package_version": {"name": "langgraph"},
        "web_search": {"query": messages[-1].text},
    }
    names = [each["function"]["name"] for each in tools]
    calls = [tool_call(name=name, args=inputs[name], id=f"call_{uuid4().hex}") for name in names]
    return AIMessage("This looks like work for my tools.", tool_calls=calls)


def report(messages: list[BaseMessage], _tools: list[Tool]) -> AIMessage:
    """Where a real model writes: repeats what the tools said since the question."""
    found: list[str] = []
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            break
        if isinstance(message, ToolMessage):
            found.insert(0, message.text)
    return AIMessage("\n".join(found) or "Select a tool and ask again.")


# Not streamed, so that what it says while it selects stays private; the answer is the writer's.
selector = ScriptedModel(script=choose, disable_streaming=True)
writer = ScriptedModel(script=report)


async def select(state: State) -> dict[str, Any]:
    tools = [TOOLS[name] for name in state["selected"]]
    model = selector.bind_tools(tools, tool_choice=state["tool_choice"])
    return {"messages": [await model.ainvoke(state["messages"])]}


async def execute(state: State) -> dict[str, Any]:
    """Runs the calls at the same time; no tool is in reach that was not selected."""
    tools = [TOOLS[name] for name in state["selected"]]
    node = ToolNode(tools, handle_tool_errors="This tool failed.")
    done: dict[str, Any] = await node.ainvoke(state)
    return done


async def answer(state: State) -> dict[str, Any]:
    message = await writer.ainvoke(state["messages"])
    results = [each for each in state["messages"] if isinstance(each, ToolMessage)]
    pages = [page for result in results for page in result.artifact or ()]
    return {"messages": [cite(message, pages)]}


def entry(state: State) -> Literal["select", "answer"]:
    return "select" if state["selected"] else "answer"


def after_select(state: State) -> Literal["execute", "answer"]:
    last = state["messages"][-1]
    return "execute" if isinstance(last, AIMessage) and last.tool_calls else "answer"


builder = StateGraph(State)
builder.add_node("select", select)
builder.add_node("execute", execute)
builder.add_node("answer", answer)
builder.add_conditional_edges(START, entry)
builder.add_conditional_edges("select", after_select)
builder.add_edge("execute", "answer")
builder.add_edge("answer", END)

config = GraphConfig(
    graph=builder.compile(),
    description="Looks things up with the tools that you select, and cites them.",
    request_to_input=to_input,
    server_tools=set(TOOLS),
)
