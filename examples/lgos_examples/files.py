"""Reads files by their id and shows one through the client. Shows file parts and the display_file function."""

from __future__ import annotations

import json
import os
from typing import Any
from urllib.request import Request, urlopen
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from langgraph_openai_serve import GraphConfig, GraphRequest

DISPLAY = "display_file"
"""A function of the client: it fetches the file by its id from the Files API and shows it."""


class State(MessagesState):
    can_display: bool


def to_input(request: GraphRequest, messages: list[BaseMessage]) -> dict[str, Any]:
    names = {tool["function"]["name"] for tool in request.tools}
    return {"messages": messages, "can_display": DISPLAY in names}


def file_ids(message: BaseMessage) -> list[str]:
    blocks = message.content if isinstance(message.content, list) else []
    return [
        block["file_id"] for block in blocks if isinstance(block, dict) and block["type"] == "file"
    ]


def answer(state: State) -> dict[str, Any]:
    last = state["messages"][-1]
    if isinstance(last, ToolMessage):
        return {"messages": [AIMessage(f"Shown: {last.text}")]}
    ids = file_ids(last)
    service = os.environ.get("FILES_BASE_URL")
    if state["can_display"] and service:
        arguments = {
            "file_id": upload(service, f"You sent: {', '.join(ids) or 'no file'}"),
            "filename": "report.txt",
        }
        call = {
            "name": DISPLAY,
            "args": arguments,
            "id": f"call_{uuid4().hex}",
            "type": "tool_call",
        }
        return {"messages": [AIMessage("", tool_calls=[call])]}
    return {
        "messages": [AIMessage(f"You sent {', '.join(ids)}." if ids else "Send a file by its id.")]
    }


def upload(service: str, text: str) -> str:
    """Give a generated file to an OpenAI-compatible Files API; neither bytes nor links enter the transcript."""
    boundary = uuid4().hex
    body = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n'
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="report.txt"\r\n'
        f"Content-Type: text/plain\r\n\r\n{text}\r\n--{boundary}--\r\n"
    )
    headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    request = Request(f"{service.rstrip('/')}/files", body.encode(), headers)  # noqa: S310 - the operator's URL
    with urlopen(request, timeout=10) as stored:  # noqa: S310 - the operator's URL
        file_id: str = json.load(stored)["id"]
    return file_id


builder = StateGraph(State)
builder.add_node("answer", answer)
builder.add_edge(START, "answer")
builder.add_edge("answer", END)

config = GraphConfig(
    graph=builder.compile(),
    description="Takes files by their id, and shows files through your display_file function.",
    request_to_input=to_input,
)
