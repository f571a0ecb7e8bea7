"""Reads files by their id and shows one through the client. Shows file parts and the display_file function.

`FILES_BASE_URL` is an OpenAI-compatible Files API, `FILES_API_KEY` its key.
"""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.messages.tool import tool_call
from langgraph.graph import END, START, MessagesState, StateGraph

from langgraph_openai_serve import GraphConfig, GraphRequest

DISPLAY = "display_file"
"""A function of the client: it fetches the file by its id from the Files API and shows it."""


class State(MessagesState):
    can_display: bool


def to_input(request: GraphRequest, messages: list[BaseMessage]) -> dict[str, Any]:
    return {"messages": messages, "can_display": DISPLAY in request.tool_names}


async def answer(state: State) -> dict[str, Any]:
    last = state["messages"][-1]
    if isinstance(last, ToolMessage):
        return {"messages": [AIMessage(f"Shown: {last.text}")]}
    ids = [block["file_id"] for block in last.content_blocks if block["type"] == "file"]
    if not ids:
        return {"messages": [AIMessage("Send a file by its id.")]}
    service = os.environ.get("FILES_BASE_URL")
    if not service:
        return {
            "messages": [AIMessage(f"Start me with FILES_BASE_URL, and I read {', '.join(ids)}.")]
        }
    headers = {"Authorization": f"Bearer {os.environ.get('FILES_API_KEY', 'unused')}"}
    async with httpx.AsyncClient(base_url=service, headers=headers) as files:
        report = "\n".join([await count(files, file_id) for file_id in ids])
        if not state["can_display"]:
            return {"messages": [AIMessage(report)]}
        shown = {"file_id": await upload(files, report), "filename": "report.txt"}
    call = tool_call(name=DISPLAY, args=shown, id=f"call_{uuid4().hex}")
    return {"messages": [AIMessage("", tool_calls=[call])]}


async def count(files: httpx.AsyncClient, file_id: str) -> str:
    """Reads a file where it is: its bytes were never part of a request."""
    content = await files.get(f"files/{quote(file_id, safe='')}/content")
    if content.status_code == httpx.codes.NOT_FOUND:
        return f"There is no file {file_id}."
    return f"Words in {file_id}: {len(content.raise_for_status().text.split())}"


async def upload(files: httpx.AsyncClient, report: str) -> str:
    """Keeps a made file; only its id goes to the client."""
    made = await files.post(
        "files", data={"purpose": "user_data"}, files={"file": ("report.txt", report)}
    )
    file_id: str = made.raise_for_status().json()["id"]
    return file_id


builder = StateGraph(State)
builder.add_node("answer", answer)
builder.add_edge(START, "answer")
builder.add_edge("answer", END)

config = GraphConfig(
    graph=builder.compile(),
    description="Counts the words of files, and shows the count through your display_file function.",
    request_to_input=to_input,
)
