"""Bodies that real clients send by default are taken, and answered with what their own types take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from langgraph_openai_serve import (
    GraphRegistry,
    LanggraphOpenaiServe,
    UnsupportedFields,
)
from support.judge import judge
from support.tool_graphs import first_tool

BODIES = Path(__file__).parent / "bodies"
LENIENT = {"codex-cli"}


def requests() -> list[Any]:
    found = []
    for path in sorted(BODIES.glob("*.json")):
        document = json.loads(path.read_text())
        for number, asked in enumerate(document["requests"]):
            found.append(
                pytest.param(path.stem, asked["path"], asked["body"], id=f"{path.stem}-{number}")
            )
    return found


def server(client: str) -> LanggraphOpenaiServe:
    fields = UnsupportedFields.IGNORE if client in LENIENT else UnsupportedFields.REJECT
    tools = first_tool(unsupported_fields=fields)
    return LanggraphOpenaiServe(GraphRegistry({"tools": tools, "echo": tools})).bind_openai_api()


def refusal_of(body: dict[str, Any]) -> str | None:
    """The param of what the subset leaves out on purpose: structured output, background, stored Responses."""
    if (body.get("text") or {}).get("format", {}).get("type") == "json_schema":
        return "text.format.type"
    if (body.get("response_format") or {}).get("type") == "json_schema":
        return "response_format.type"
    return "background" if body.get("background") else None


@pytest.mark.parametrize(("client", "path", "body"), requests())
async def test_a_clients_body_is_answered(client: str, path: str, body: dict[str, Any]) -> None:
    transport = httpx.ASGITransport(server(client).app)
    async with httpx.AsyncClient(transport=transport, base_url="http://lgos") as asking:
        answer = await asking.post(path, json=body)
    refused = refusal_of(body)
    if refused is not None:
        assert answer.status_code == 400
        assert answer.json()["error"]["param"] == refused
        return
    assert answer.status_code == 200, answer.text
    if body.get("stream"):
        problems, _ = judge(answer.text)
        assert problems == []
    else:
        kind = Response if path.endswith("/responses") else ChatCompletion
        kind.model_validate_json(answer.text, strict=True)


async def test_what_a_lenient_model_left_out_is_named() -> None:
    [asked] = json.loads((BODIES / "codex-cli.json").read_text())["requests"]
    transport = httpx.ASGITransport(server("codex-cli").app)
    async with httpx.AsyncClient(transport=transport, base_url="http://lgos") as asking:
        answer = await asking.post(asked["path"], json=asked["body"])
    ignored = set(answer.headers["x-lgos-ignored-fields"].split(","))
    assert {"reasoning", "include", "prompt_cache_key", "client_metadata"} <= ignored
    assert "event: response.completed" in answer.text
