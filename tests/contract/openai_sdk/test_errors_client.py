"""The error envelope through the real SDK, by both APIs, before and in a stream."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Required, get_origin, get_type_hints

import openai
import pytest
from fastapi import FastAPI, HTTPException, Request
from openai import AsyncOpenAI
from openai.types import chat, responses
from openai.types.chat.chat_completion_content_part_param import File
from openai.types.chat.completion_create_params import CompletionCreateParamsBase
from openai.types.responses.response_create_params import ResponseCreateParamsBase
from openai.types.shared import ErrorObject

from langgraph_openai_serve import GraphRegistry, LanggraphOpenaiServe, OpenAIHTTPException
from langgraph_openai_serve.wire.chat import ChatCompletionCreate
from langgraph_openai_serve.wire.responses import ResponseCreate
from support.adapted_graphs import adapted_configs
from support.asking import BOTH_APIS, BOTH_WAYS, ask, client_for, client_of, functions
from support.graphs import SECRET, Probe, configs

CUSTOM: Any = {"type": "custom", "name": "lgos_package_version"}
HI: list[Any] = [{"role": "user", "content": "hi"}]


@pytest.fixture
def probe() -> Probe:
    return Probe()


@pytest.fixture
async def client(probe: Probe) -> AsyncIterator[AsyncOpenAI]:
    async with client_of(configs(probe)) as made:
        yield made


@BOTH_APIS
@BOTH_WAYS
async def test_unknown_model_is_the_documented_error(
    client: AsyncOpenAI, api: str, streamed: bool
) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        await ask(client, api, "missing", streamed=streamed)

    assert caught.value.body == {
        "message": "Graph 'missing' not found in registry.",
        "type": "invalid_request_error",
        "param": "model",
        "code": None,
    }


@BOTH_APIS
@BOTH_WAYS
@pytest.mark.parametrize("field", ["temperature", "top_p", "zzz"])
async def test_field_outside_the_subset_is_named(
    client: AsyncOpenAI, probe: Probe, api: str, streamed: bool, field: str
) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        await ask(client, api, "echo", streamed=streamed, extra_body={field: 1})

    assert caught.value.param == field
    assert caught.value.type == "invalid_request_error"
    assert caught.value.code == ("unknown_parameter" if field == "zzz" else "unsupported_parameter")
    assert probe.runs.total() == 0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("functions", [{"name": "f"}]),
        ("functions", []),
        ("function_call", "auto"),
        ("function_call", {"name": "f"}),
        ("max_tokens", 1),
        ("max_completion_tokens", 1),
        ("n", 1),
        ("n", 2),
        ("stop", "x"),
        ("seed", 1),
        ("logprobs", False),
        ("response_format", {"type": "json_object"}),
        ("tools", [{"type": "custom", "custom": {"name": "x"}}]),
        ("tools", [{"type": "web_search"}]),
        ("prompt_cache_key", "k"),
    ],
)
@BOTH_WAYS
async def test_chat_refuses_deprecated_fields_and_controls(
    client: AsyncOpenAI, probe: Probe, streamed: bool, field: str, value: Any
) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        await ask(client, "chat", "echo", streamed=streamed, **{field: value})

    assert (caught.value.param or "").startswith(field)
    assert probe.runs.total() == 0


async def test_chat_refuses_the_function_role_and_takes_a_null_call(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        await ask(
            client,
            "chat",
            "echo",
            [*HI, {"role": "function", "name": "f", "content": "x"}],
            streamed=False,
        )
    assert caught.value.param == "messages[1].role"
    called = {"role": "assistant", "content": "a", "function_call": {"name": "f", "arguments": ""}}
    with pytest.raises(openai.BadRequestError) as caught:
        await ask(client, "chat", "echo", [*HI, called, *HI], streamed=False)
    assert caught.value.param == "messages[1].function_call"

    null = {"role": "assistant", "content": "a", "function_call": None}
    assert (await ask(client, "chat", "echo", [*HI, null, *HI], streamed=False)).text == "hi"


@pytest.mark.parametrize(
    "fields",
    [
        {"max_output_tokens": 1},
        {"max_tool_calls": 1},
        {"reasoning": {"effort": "low"}},
        {"include": ["web_search_call.action.sources"]},
        {"text": {"format": {"type": "json_schema", "name": "a", "schema": {}}}},
        {"text": {"verbosity": "low"}},
        {"parallel_tool_calls": False},
        {"prompt": {"id": "p"}},
        {"top_logprobs": 1},
        {"truncation": "auto"},
        {"stream_options": {"include_obfuscation": True}},
        {"tools": [{"type": "file_search", "vector_store_ids": []}]},
        {"tools": [{"type": "mcp", "server_label": "x"}]},
        {"tools": [{"type": "code_interpreter", "container": {"type": "auto"}}]},
        {"tool_choice": {"type": "file_search"}},
        {"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": []}},
    ],
    ids=lambda fields: next(iter(fields)),
)
@BOTH_WAYS
async def test_responses_refuses_what_it_does_not_claim(
    client: AsyncOpenAI, probe: Probe, streamed: bool, fields: dict[str, Any]
) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        await ask(client, "responses", "echo", streamed=streamed, **fields)

    assert (caught.value.param or "").startswith(next(iter(fields)))
    assert probe.runs.total() == 0


@pytest.mark.parametrize(
    ("api", "mine", "theirs"),
    [
        ("responses", ResponseCreate, ResponseCreateParamsBase),
        ("chat", ChatCompletionCreate, CompletionCreateParamsBase),
    ],
)
async def test_every_optional_field_may_be_null(
    client: AsyncOpenAI, api: str, mine: Any, theirs: Any
) -> None:
    """What the newest SDK knows is known here as well, and null asks for nothing."""
    optional = set(get_type_hints(theirs)) - {"model", "messages", "input"}

    assert optional <= set(mine.model_fields)
    for field in sorted(optional):
        answer = await ask(client, api, "echo", streamed=False, extra_body={field: None})
        assert answer.text == "hi", field


def optional_keys(kind: Any) -> list[str]:
    """The keys of an SDK's request type that it does not require."""
    hints = get_type_hints(kind, include_extras=True)
    return [key for key, hint in hints.items() if get_origin(hint) is not Required]


@pytest.mark.parametrize(
    ("kind", "value", "place"),
    [
        (responses.FunctionToolParam, {"type": "function", "name": "f"}, "tools"),
        (responses.CustomToolParam, CUSTOM, "tools"),
        (responses.WebSearchToolParam, {"type": "web_search"}, "tools"),
        (responses.ResponseInputTextParam, {"type": "input_text", "text": "a"}, "content"),
        (responses.ResponseInputFileParam, {"type": "input_file", "file_id": "f"}, "content"),
        (responses.EasyInputMessageParam, {"role": "user", "content": "a"}, "input"),
        (chat.ChatCompletionContentPartTextParam, {"type": "text", "text": "a"}, "parts"),
        (File, {"type": "file", "file": {"file_id": "f"}}, "parts"),
        (chat.ChatCompletionUserMessageParam, {"role": "user", "content": "a"}, "messages"),
        (chat.ChatCompletionSystemMessageParam, {"role": "system", "content": "a"}, "messages"),
        (
            chat.ChatCompletionAssistantMessageParam,
            {"role": "assistant", "content": "a"},
            "messages",
        ),
    ],
    ids=lambda part: getattr(part, "__name__", ""),
)
async def test_every_optional_key_of_a_part_may_be_null(
    kind: Any, value: dict[str, Any], place: str
) -> None:
    nulls = {key: None for key in optional_keys(kind) if key not in value}
    part = {**value, **nulls}
    body: dict[str, Any] = {
        "tools": {"input": "hi", "tools": [part]},
        "content": {"input": [{"role": "user", "content": [part]}]},
        "input": {"input": [part]},
        "parts": {"messages": [{"role": "user", "content": [part]}]},
        "messages": {"messages": [part]},
    }[place]
    path = "chat/completions" if "messages" in body else "responses"
    async with client_of(adapted_configs()) as client:
        answer = await client._client.post(path, json={"model": "request_probe", **body})

    assert answer.status_code == 200, answer.text


@BOTH_APIS
@BOTH_WAYS
async def test_failed_run_tells_nothing(client: AsyncOpenAI, api: str, streamed: bool) -> None:
    if api == "responses" and streamed:
        answer = await ask(client, api, "fails_after_two", streamed=True)
        assert (answer.ended, answer.text) == ("failed", "Hello")
        return
    with pytest.raises(openai.APIError) as caught:
        await ask(client, api, "fails_after_two", streamed=streamed)

    assert caught.value.type == "server_error"
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("streamed", [False, True])
async def test_nan_in_parameters_is_a_bad_request(client: AsyncOpenAI, streamed: bool) -> None:
    for api, body in (
        (
            "responses",
            '"input":"hi","tools":[{"type":"function","name":"f","parameters":{"a":NaN}}]',
        ),
        (
            "chat/completions",
            '"messages":[{"role":"user","content":"hi"}],'
            '"tools":[{"type":"function","function":{"name":"f","parameters":{"a":-Infinity}}}]',
        ),
    ):
        raw = f'{{"model":"echo","stream":{str(streamed).lower()},{body}}}'.encode()
        answer = await client._client.post(f"/{api}", content=raw)
        assert answer.status_code == 400
        assert answer.json()["error"]["type"] == "invalid_request_error"


@BOTH_APIS
async def test_route_code_raises_openais_own_error_object(probe: Probe, api: str) -> None:
    def refuse(_request: Request) -> str:
        error = ErrorObject(
            message="No key.", type="invalid_request_error", param="key", code="invalid_api_key"
        )
        raise OpenAIHTTPException(401, error)

    server = LanggraphOpenaiServe(GraphRegistry(configs(probe)), checkpoint_scope=refuse)
    async with client_for(server.bind_openai_api().app) as client:
        with pytest.raises(openai.AuthenticationError) as caught:
            await ask(client, api, "echo", streamed=True)

    assert (caught.value.code, caught.value.param) == ("invalid_api_key", "key")
    assert probe.runs.total() == 0


async def test_plain_errors_of_a_hosts_route_have_the_envelope(probe: Probe) -> None:
    app = FastAPI()

    @app.post("/v1/embeddings")
    async def embeddings(input: int) -> None:
        raise HTTPException(429, f"Not {input} now.")

    LanggraphOpenaiServe(GraphRegistry(configs(probe)), app).bind_openai_api()
    async with client_for(app) as client:
        with pytest.raises(openai.RateLimitError) as limited:
            await client.embeddings.create(model="e", input="x", extra_query={"input": 7})
        with pytest.raises(openai.BadRequestError) as wrong:
            await client.embeddings.create(model="e", input="x")

    assert limited.value.body == {
        "message": "Not 7 now.",
        "type": "invalid_request_error",
        "param": None,
        "code": None,
    }
    assert wrong.value.param == "input"


@BOTH_APIS
async def test_one_name_is_one_tool(client: AsyncOpenAI, api: str) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        await ask(client, api, "echo", streamed=False, tools=functions(api, "f", "f"))

    assert caught.value.param == ("tools[1].function.name" if api == "chat" else "tools[1].name")
