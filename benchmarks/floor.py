"""`floor_http`: the least Starlette code that answers with the same shapes. No validation, no errors, no metrics."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any

from graphs import build
from langchain_core.messages import AIMessageChunk, HumanMessage
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

GRAPHS = build()
MODELS = [
    {"id": name, "object": "model", "created": 1720000000, "owned_by": "floor", "lgos": {}}
    for name in GRAPHS
]


async def models(_request: Request) -> Response:
    return JSONResponse({"object": "list", "data": MODELS})


def _input(text: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


async def _answer(name: str, text: str) -> str:
    state = await GRAPHS[name].ainvoke(_input(text))
    return str(state["messages"][-1].content)


async def _tokens(name: str, text: str) -> AsyncIterator[str]:
    async for mode, data in GRAPHS[name].astream(_input(text), stream_mode=["messages", "values"]):
        if mode == "messages" and isinstance(data[0], AIMessageChunk) and data[0].content:
            yield data[0].content


async def chat(request: Request) -> Response:
    body = await request.json()
    name, text = body["model"], body["messages"][-1]["content"]
    head = {"id": "chatcmpl-" + uuid.uuid4().hex, "created": int(time.time()), "model": name}
    if not body.get("stream"):
        message = {"role": "assistant", "content": await _answer(name, text)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return JSONResponse({**head, "object": "chat.completion", "choices": [choice]})

    def chunk(delta: dict[str, Any], reason: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        data = {**head, "object": "chat.completion.chunk", "choices": [choice]}
        return f"data: {json.dumps(data)}\n\n"

    async def frames() -> AsyncIterator[str]:
        yield chunk({"role": "assistant", "content": ""})
        async for token in _tokens(name, text):
            yield chunk({"content": token})
        yield chunk({}, "stop")
        yield "data: [DONE]\n\n"

    return StreamingResponse(frames(), media_type="text/event-stream")


def _response(rid: str, name: str, status: str, output: list[Any]) -> dict[str, Any]:
    return {
        "id": rid, "object": "response", "created_at": int(time.time()), "status": status, "model": name,
        "output": output, "error": None, "incomplete_details": None, "instructions": None, "metadata": {},
        "parallel_tool_calls": True, "temperature": 1.0, "tool_choice": "auto", "tools": [], "top_p": 1.0,
    }  # fmt: skip


def _message(mid: str, status: str, text: str | None) -> dict[str, Any]:
    content = [] if text is None else [{"type": "output_text", "text": text, "annotations": []}]
    return {"id": mid, "type": "message", "role": "assistant", "status": status, "content": content}


async def responses(request: Request) -> Response:
    body = await request.json()
    name, text = body["model"], body["input"]
    rid, mid = "resp_" + uuid.uuid4().hex, "msg_" + uuid.uuid4().hex
    if not body.get("stream"):
        answer = await _answer(name, text)
        return JSONResponse(_response(rid, name, "completed", [_message(mid, "completed", answer)]))

    async def frames() -> AsyncIterator[str]:
        number = 0

        def event(kind: str, **data: Any) -> str:
            nonlocal number
            line = json.dumps({"type": kind, "sequence_number": number, **data})
            number += 1
            return f"event: {kind}\ndata: {line}\n\n"

        place = {"item_id": mid, "output_index": 0, "content_index": 0}
        yield event("response.created", response=_response(rid, name, "in_progress", []))
        yield event("response.in_progress", response=_response(rid, name, "in_progress", []))
        item = _message(mid, "in_progress", None)
        yield event("response.output_item.added", output_index=0, item=item)
        part = {"type": "output_text", "text": "", "annotations": []}
        yield event("response.content_part.added", **place, part=part)
        parts = []
        async for token in _tokens(name, text):
            parts.append(token)
            yield event("response.output_text.delta", **place, delta=token, logprobs=[])
        whole = "".join(parts)
        yield event("response.output_text.done", **place, text=whole, logprobs=[])
        yield event("response.content_part.done", **place, part={**part, "text": whole})
        done = _message(mid, "completed", whole)
        yield event("response.output_item.done", output_index=0, item=done)
        yield event("response.completed", response=_response(rid, name, "completed", [done]))

    return StreamingResponse(frames(), media_type="text/event-stream")


app = Starlette(
    routes=[
        Route("/v1/models", models),
        Route("/v1/chat/completions", chat, methods=["POST"]),
        Route("/v1/responses", responses, methods=["POST"]),
    ]
)
