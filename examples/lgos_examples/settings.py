"""Explains LangGraph to whom you want. Shows nested client settings, and a context with facts that only the server knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict, Field

from langgraph_openai_serve import ClientSettings, GraphConfig, GraphRequest

FACTS = ("A graph has nodes.", "Edges say which node is next.", "All nodes share one state.")
OPENINGS = {"general": "LangGraph:", "beginner": "In plain words:", "expert": "In short:"}
PLANS = {"shared": "free"}


class Layout(BaseModel):
    """How the answer looks. A request that sends a layout replaces all of it."""

    model_config = ConfigDict(extra="forbid")

    bullets: bool = False
    facts: int = Field(default=3, ge=1, le=3)


class Settings(ClientSettings):
    """What a client may choose for one request, in `metadata.lgos_settings`."""

    audience: Literal["general", "beginner", "expert"] = "general"
    layout: Layout = Layout()


@dataclass(frozen=True)
class Context:
    """What the nodes see: the client's settings, and what the client must not set."""

    settings: Settings
    plan: str


async def make_context(request: GraphRequest, settings: Settings) -> Context:
    """Here a real service asks its database; `scope` is the owner that the server trusts."""
    return Context(settings, PLANS.get(request.scope, "paid"))


def explain(_state: MessagesState, runtime: Runtime[Context]) -> dict[str, Any]:
    settings, plan = runtime.context.settings, runtime.context.plan
    between = "\n- " if settings.layout.bullets else " "
    lines = [
        OPENINGS[settings.audience],
        *FACTS[: settings.layout.facts],
        f"You have the {plan} plan.",
    ]
    return {"messages": [AIMessage(between.join(lines))]}


builder = StateGraph(MessagesState, context_schema=Context)
builder.add_node("explain", explain)
builder.add_edge(START, "explain")
builder.add_edge("explain", END)

config = GraphConfig(
    graph=builder.compile(),
    description="Explains LangGraph for the audience that you choose.",
    client_settings=Settings,
    context_factory=make_context,
)
