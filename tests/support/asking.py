"""Asks a model through the SDK, by either API, streamed or not, and reads the same facts off each kind of answer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from openai import AsyncOpenAI

from langgraph_openai_serve import GraphConfig, GraphRegistry, LanggraphOpenaiServe
from support.serving import in_process

BOTH_APIS = pytest.mark.parametrize("api", ["responses", "chat"])
BOTH_WAYS = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


@dataclass
class Answer:
    """What a caller gets to know, whichever way it asked."""

    text: str
    refusal: str | None = None
    ended: str = ""
    """`finish_reason` of Chat; status, or the reason of an incomplete one, of Responses."""
    usage: Any = None
    deltas: list[str] = field(default_factory=list)
    calls: list[tuple[str, str]] = field(default_factory=list)
    """Name and raw arguments of the caller's functions."""

    def json(self) -> Any:
        return json.loads(self.text)


@asynccontextmanager
async def client_of(graphs: Mapping[str, GraphConfig]) -> AsyncIterator[AsyncOpenAI]:
    """Give the SDK's client of an application that serves `graphs`; there is no socket between them."""
    server = LanggraphOpenaiServe(GraphRegistry(graphs)).bind_openai_api()
    async with client_for(server.app) as made:
        yield made


@asynccontextmanager
async def client_for(app: Any) -> AsyncIterator[AsyncOpenAI]:
    """Give the SDK's client of an application."""
    async with (
        in_process(app) as http,
        AsyncOpenAI(
            base_url="http://server/v1", api_key="none", max_retries=0, timeout=20, http_client=http
        ) as made,
    ):
        yield made


async def ask(
    client: AsyncOpenAI, api: str, model: str, content: Any = "hi", *, streamed: bool, **fields: Any
) -> Answer:
    """Ask one question; `content` is a text or a list of messages."""
    asking = _chat if api == "chat" else _responses
    return await asking(client, model, content, streamed, fields)


def functions(api: str, *names: str) -> list[Any]:
    """Declare client functions in an API's own form."""
    declared = [{"name": name, "parameters": {"type": "object"}} for name in names]
    if api == "chat":
        return [{"type": "function", "function": function} for function in declared]
    return [{"type": "function", **function} for function in declared]


async def _responses(
    client: AsyncOpenAI, model: str, content: Any, streamed: bool, fields: dict[str, Any]
) -> Answer:
    deltas: list[str] = []
    response: Any = None
    if streamed:
        stream: Any = await client.responses.create(
            model=model, input=content, stream=True, **fields
        )
        async for event in stream:
            if event.type == "response.output_text.delta":
                deltas.append(event.delta)
            if event.type in {"response.completed", "response.incomplete", "response.failed"}:
                response = event.response
    else:
        response = await client.responses.create(model=model, input=content, **fields)
    parts = [part for item in response.output if item.type == "message" for part in item.content]
    reason = response.incomplete_details and response.incomplete_details.reason
    return Answer(
        text="".join(part.text for part in parts if part.type == "output_text"),
        refusal=next((part.refusal for part in parts if part.type == "refusal"), None),
        ended=reason or response.status,
        usage=response.usage,
        deltas=deltas,
        calls=[(i.name, i.arguments) for i in response.output if i.type == "function_call"],
    )


async def _chat(
    client: AsyncOpenAI, model: str, content: Any, streamed: bool, fields: dict[str, Any]
) -> Answer:
    messages = [{"role": "user", "content": content}] if isinstance(content, str) else content
    if not streamed:
        whole: Any = await client.chat.completions.create(model=model, messages=messages, **fields)
        [choice] = whole.choices
        message = choice.message
        calls = [(c.function.name, c.function.arguments) for c in message.tool_calls or ()]
        text = message.content or ""
        return Answer(text, message.refusal, choice.finish_reason, whole.usage, calls=calls)
    answer = Answer("")
    stream: Any = await client.chat.completions.create(
        model=model, messages=messages, stream=True, **fields
    )
    async for chunk in stream:
        answer.usage = chunk.usage or answer.usage
        for choice in chunk.choices:
            if choice.delta.content:
                answer.deltas.append(choice.delta.content)
            answer.refusal = choice.delta.refusal or answer.refusal
            answer.ended = choice.finish_reason or answer.ended
            made = [(c.function.name, c.function.arguments) for c in choice.delta.tool_calls or ()]
            answer.calls += made
    answer.text = "".join(answer.deltas)
    return answer
