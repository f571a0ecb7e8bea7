"""A graph that takes its time; it runs in the background."""

import asyncio

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_openai_serve import GraphConfig, GraphFeature, GraphRegistry


async def report(state: MessagesState) -> dict[str, list[AIMessage]]:
    await asyncio.sleep(1)
    return {"messages": [AIMessage(f"A report on: {state['messages'][-1].text}")]}


builder = StateGraph(MessagesState)
builder.add_node("report", report)
builder.add_edge(START, "report")

config = GraphConfig(
    graph=builder.compile(),
    description="Creates a report.",
    features={GraphFeature.BACKGROUND},
)
registry = GraphRegistry(graphs={"background-mock": config})
