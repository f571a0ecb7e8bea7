"""Message content and files through the real SDK: what is taken alike by both APIs, and what is refused."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from langgraph_openai_serve import GraphConfig
from support.adapted_graphs import adapted_configs
from support.asking import BOTH_APIS, BOTH_WAYS, ask, client_of, functions
from support.tool_graphs import first_tool

FILE = {"file_id": "file-1"}
PARTS: dict[str, list[Any]] = {
    "chat": [{"type": "text", "text": "read"}, {"type": "file", "file": FILE}],
    "responses": [{"type": "input_text", "text": "read"}, {"type": "input_file", **FILE}],
}
MARK = {"type": "ephemeral"}


@pytest.fixture
async def client() -> AsyncIterator[AsyncOpenAI]:
    async with client_of({**adapted_configs(), "first_tool": first_tool()}) as made:
        yield made


def user(*parts: Any) -> list[Any]:
    return [{"role": "user", "content": list(parts)}]


@BOTH_APIS
@BOTH_WAYS
async def test_a_file_is_the_same_content_by_both_apis(
    client: AsyncOpenAI, api: str, streamed: bool
) -> None:
    answer = await ask(client, api, "request_probe", user(*PARTS[api]), streamed=streamed)

    assert answer.json()["messages"][0]["content"] == [
        {"type": "text", "text": "read"},
        {"type": "file", "file_id": "file-1"},
    ]


@BOTH_WAYS
@pytest.mark.parametrize(
    ("api", "part", "param"),
    [
        ("chat", {"type": "file", "file": {**FILE, "file_data": "eA=="}}, ".file.file_data"),
        ("chat", {"type": "file", "file": {**FILE, "filename": "a.txt"}}, ".file.filename"),
        ("chat", {"type": "file", "file": {"file_data": "eA=="}}, ".file.file_data"),
        ("chat", {"type": "image_url", "image_url": {"url": "data:,"}}, ".type"),
        ("chat", {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}, ".type"),
        ("chat", {"type": "text", "text": "a", "cache_control": MARK}, ".cache_control"),
        (
            "chat",
            {"type": "text", "text": "a", "prompt_cache_breakpoint": {"mode": "explicit"}},
            ".prompt_cache_breakpoint",
        ),
        ("responses", {"type": "input_file", **FILE, "file_data": "eA=="}, ".file_data"),
        ("responses", {"type": "input_file", **FILE, "filename": "a.txt"}, ".filename"),
        ("responses", {"type": "input_file", "file_url": "https://example.org/a"}, ".file_url"),
        ("responses", {"type": "input_image", "image_url": "data:,"}, ".type"),
        ("responses", {"type": "input_audio", "input_audio": {}}, ".type"),
    ],
)
async def test_other_content_is_refused_by_name(
    client: AsyncOpenAI, api: str, streamed: bool, part: Any, param: str
) -> None:
    root = "messages" if api == "chat" else "input"
    with pytest.raises(openai.BadRequestError) as caught:
        await ask(client, api, "request_probe", user(part), streamed=streamed)

    assert caught.value.param == f"{root}[0].content[0]{param}"


async def test_unused_options_may_be_null(client: AsyncOpenAI) -> None:
    nulls = {"file_data": None, "filename": None}
    chat = user({"type": "file", "file": {**FILE, **nulls}})
    responses = user({"type": "input_file", **FILE, **nulls, "file_url": None})

    for api, content in (("chat", chat), ("responses", responses)):
        answer = await ask(client, api, "request_probe", content, streamed=False)
        assert answer.json()["messages"][0]["content"] == [{"type": "file", **FILE}]


DISPLAY: dict[str, Any] = {
    "name": "display_file",
    "description": "Show a file to the user.",
    "strict": True,
    "parameters": {
        "type": "object",
        "properties": {"file_id": {"type": "string"}},
        "required": ["file_id"],
        "additionalProperties": False,
    },
}


@BOTH_APIS
async def test_display_file_is_a_strict_function_of_the_client(
    client: AsyncOpenAI, api: str
) -> None:
    tool: Any = (
        {"type": "function", "function": DISPLAY}
        if api == "chat"
        else {"type": "function", **DISPLAY}
    )
    seen = await ask(client, api, "request_probe", streamed=False, tools=[tool])
    called = await ask(client, api, "first_tool", streamed=True, tools=[tool])

    assert seen.json()["tools"] == [{"type": "function", "function": DISPLAY}]
    assert [name for name, _ in called.calls] == ["display_file"]
    assert isinstance(json.loads(called.calls[0][1]), dict)


@BOTH_APIS
async def test_string_and_parts_are_both_content(client: AsyncOpenAI, api: str) -> None:
    text = PARTS[api][0]
    one = await ask(client, api, "request_probe", "read", streamed=False)
    two = await ask(client, api, "request_probe", user(text, text), streamed=False)

    assert one.json()["messages"][0]["content"] == "read"
    assert two.json()["messages"][0]["content"] == [{"type": "text", "text": "read"}] * 2


async def test_tools_of_one_graph_do_not_bind_another() -> None:
    """A function may have the name that another model registered as its own."""
    graphs: dict[str, GraphConfig] = {**adapted_configs(), "first_tool": first_tool()}
    async with client_of(graphs) as client:
        for api in ("responses", "chat"):
            tools = functions(api, "web_search")
            with pytest.raises(openai.BadRequestError) as caught:
                await ask(client, api, "request_probe", streamed=False, tools=tools)
            assert (caught.value.param or "").startswith("tools[0]")
            answer = await ask(client, api, "first_tool", streamed=False, tools=tools)
            assert [name for name, _ in answer.calls] == ["web_search"]
