"""Decides about refunds with people. Shows a pause for one answer, and two answers that are asked for at once."""

from __future__ import annotations

import json
import re
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt

from langgraph_openai_serve import GraphConfig, GraphFeature

SMALL = 50
LARGE = 500


class State(MessagesState, total=False):
    amount: int
    support: str
    finance: str


def read(state: State) -> dict[str, Any]:
    """Where a real model reads the request: the first number is the amount."""
    found = re.search(r"\d+", state["messages"][-1].text)
    return {"amount": int(found.group()) if found else 0}


def who_decides(state: State) -> list[str]:
    if state["amount"] <= SMALL:
        return ["pay"]
    return ["ask_support"] if state["amount"] < LARGE else ["ask_support", "ask_finance"]


def ask_support(state: State) -> dict[str, Any]:
    # A paused node starts again from its beginning, so nothing with an effect comes before interrupt().
    question = f"How should the refund of {state['amount']} be handled?"
    answer = interrupt({"team": "support", "question": question, "choices": ["approve", "reject"]})
    return {"support": decision(answer)}


def ask_finance(state: State) -> dict[str, Any]:
    question = f"Is there budget for {state['amount']}?"
    answer = interrupt({"team": "finance", "question": question, "choices": ["approve", "reject"]})
    return {"finance": decision(answer)}


def decision(answer: str) -> str:
    """An answer is a string; a client may send a choice, or JSON with more to say."""
    try:
        parsed = json.loads(answer)
    except ValueError:
        return answer.strip().lower()
    return str(parsed["choice"]) if isinstance(parsed, dict) else answer


def pay(state: State) -> dict[str, Any]:
    # Here a real service pays, with the thread's id as the payment's idempotency key.
    asked = {team: state[team] for team in ("support", "finance") if team in state}
    refused = [team for team, answer in asked.items() if answer != "approve"]
    if refused:
        return {"messages": [AIMessage(f"No refund: {' and '.join(refused)} said no.")]}
    return {"messages": [AIMessage(f"Refunded {state['amount']}.")]}


builder = StateGraph(State)
for node in (read, ask_support, ask_finance, pay):
    builder.add_node(node.__name__, node)
builder.add_edge(START, "read")
builder.add_conditional_edges("read", who_decides, ["ask_support", "ask_finance", "pay"])
builder.add_edge("ask_support", "pay")
builder.add_edge("ask_finance", "pay")
builder.add_edge("pay", END)

config = GraphConfig(
    graph=builder.compile(),
    description="Refunds small amounts and asks people about larger ones.",
    features={GraphFeature.INTERRUPTS},
)
