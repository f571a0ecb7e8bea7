"""Field cases of `POST /v1/chat/completions`."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from support import sse
from support.graphs import Probe
from support.transcripts import NESTED

HI = [{"role": "user", "content": "hi"}]


async def ask(http: httpx.AsyncClient, model: str, **fields: Any) -> httpx.Response:
    answer = await http.post("/chat/completions", json={"model": model, "messages": HI, **fields})
    assert answer.status_code == 200, answer.text
    return answer


async def stream(http: httpx.AsyncClient, model: str, **fields: Any) -> list[dict[str, Any]]:
    return sse.chunks((await ask(http, model, stream=True, **fields)).content)


async def history(http: httpx.AsyncClient, messages: list[Any]) -> list[dict[str, Any]]:
    answer = await ask(http, "history_probe", messages=messages)
    seen: list[dict[str, Any]] = json.loads(answer.json()["choices"][0]["message"]["content"])
    return seen


async def refused(http: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    answer = await http.post("/chat/completions", json={"model": "echo", "messages": HI, **fields})
    assert answer.status_code == 400, answer.text
    error: dict[str, Any] = answer.json()["error"]
    assert error["type"] == "invalid_request_error"
    return error


async def test_usage_chunk_on_request(http: httpx.AsyncClient) -> None:
    chunks = await stream(http, "echo", stream_options={"include_usage": True})
    *others, finish, last = chunks

    assert last["choices"] == []
    assert (
        last["usage"]["prompt_tokens"],
        last["usage"]["completion_tokens"],
        last["usage"]["total_tokens"],
    ) == (7, 3, 10)
    assert finish["choices"][0]["finish_reason"] == "stop"
    assert all(len(chunk["choices"]) == 1 for chunk in others)


async def test_parallel_tool_call_index(http: httpx.AsyncClient) -> None:
    chunks = await stream(http, "two_calls", tools=NESTED)
    calls = [
        call for chunk in chunks for call in chunk["choices"][0]["delta"].get("tool_calls", [])
    ]

    assert [call["index"] for call in calls] == [0, 1]
    assert [call["function"]["name"] for call in calls] == ["get_weather", "get_time"]
    assert all(call["id"] and call["type"] == "function" for call in calls)
    assert [json.loads(call["function"]["arguments"]) for call in calls] == [
        {"city": "Paris"},
        {"zone": "UTC"},
    ]


@pytest.mark.parametrize("streamed", [True, False])
async def test_finish_reason_parity(http: httpx.AsyncClient, streamed: bool) -> None:
    if streamed:
        chunks = await stream(http, "two_calls", tools=NESTED)
        reasons = [c["choices"][0]["finish_reason"] for c in chunks]
        assert [reason for reason in reasons if reason] == ["tool_calls"]
    else:
        answer = await ask(http, "two_calls", tools=NESTED)
        assert answer.json()["choices"][0]["finish_reason"] == "tool_calls"
        assert answer.json()["choices"][0]["message"]["content"] is None


async def test_assistant_null_content(http: httpx.AsyncClient) -> None:
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "get_secret", "arguments": "{}"},
    }
    seen = await history(
        http,
        [
            {"role": "user", "content": "secret number?"},
            {
                "role": "assistant",
                "content": None,
                "refusal": None,
                "function_call": None,
                "audio": None,
                "parsed": None,
                "annotations": [],
                "tool_calls": [call],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": "42"},
        ],
    )

    assert [message["type"] for message in seen] == ["human", "ai", "tool"]
    assert [call["id"] for call in seen[1]["calls"]] == ["call_1"]
    assert (seen[2]["content"], seen[2]["result_of"]) == ("42", "call_1")


@pytest.mark.parametrize("role", ["developer", "system"])
async def test_developer_role(http: httpx.AsyncClient, role: str) -> None:
    seen = await history(http, [{"role": role, "content": "Be brief."}, *HI])

    assert [(m["type"], m["content"]) for m in seen] == [("system", "Be brief."), ("human", "hi")]


async def test_two_text_parts(http: httpx.AsyncClient) -> None:
    parts = [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]
    seen = await history(http, [{"role": "user", "content": parts}])

    assert seen[0]["content"] == parts


async def test_file_part_reaches_the_graph_by_its_id(http: httpx.AsyncClient) -> None:
    parts = [{"type": "file", "file": {"file_id": "file-1"}}]
    seen = await history(http, [{"role": "user", "content": parts}])

    assert seen[0]["content"] == [{"type": "file", "file_id": "file-1"}]


async def test_refusal_is_replayed(http: httpx.AsyncClient) -> None:
    seen = await history(http, [*HI, {"role": "assistant", "content": "Hm.", "refusal": "No."}])

    assert seen[1]["content"] == [
        {"type": "text", "text": "Hm."},
        {"type": "refusal", "refusal": "No."},
    ]


async def test_temperature_refused(http: httpx.AsyncClient, probe: Probe) -> None:
    error = await refused(http, temperature=0.2)

    assert error["param"] == "temperature"
    assert probe.runs.total() == 0


NO_OPS = {
    "store": False,
    "parallel_tool_calls": True,
    "tools": [],
    "service_tier": "auto",
    "response_format": {"type": "text"},
    "stream_options": None,
    "metadata": None,
    "temperature": None,
    "functions": None,
    "function_call": None,
}


async def test_no_op_defaults_are_accepted(http: httpx.AsyncClient) -> None:
    await ask(http, "echo", **NO_OPS)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_tokens", 5),
        ("n", 1),
        ("functions", []),
        ("function_call", "auto"),
        ("response_format", {"type": "json_object"}),
        ("parallel_tool_calls", False),
        ("store", True),
        ("stream_options", {"include_usage": True}),
        ("tool_choice", {"type": "function", "function": {"name": "absent"}}),
        ("tools", [NESTED[0], NESTED[0]]),
        ("tools", [{"type": "custom", "custom": {"name": "x"}}]),
        ("messages", []),
        ("messages", [{"role": "function", "name": "f", "content": "x"}]),
        ("messages", [{"role": "assistant", "content": None}]),
        ("messages", [{"role": "tool", "tool_call_id": "call_1", "content": "x"}]),
        ("messages", [{"role": "user", "content": [{"type": "file", "file": {"file_data": "x"}}]}]),
        ("no_such_field", 1),
    ],
)
async def test_fields_outside_the_subset_are_refused_by_name(
    http: httpx.AsyncClient, probe: Probe, field: str, value: Any
) -> None:
    error = await refused(http, **{field: value})

    assert error["param"].startswith(field)
    assert probe.runs.total() == 0


async def test_chunk_envelope(http: httpx.AsyncClient) -> None:
    chunks = await stream(http, "echo", messages=[{"role": "user", "content": "one two three"}])

    assert len({(c["id"], c["model"], c["created"], c["object"]) for c in chunks}) == 1
    assert type(chunks[0]["created"]) is int
    assert chunks[0]["created"] < 10**11
    assert chunks[0]["object"] == "chat.completion.chunk"
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks) == "one two three"


async def test_content_type_and_done(http: httpx.AsyncClient) -> None:
    answer = await ask(http, "echo", stream=True)

    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-cache"
    assert "content-length" not in answer.headers
    assert answer.content.endswith(b"data: [DONE]\n\n")


async def test_text_that_differs_from_the_final_message_fails_the_run(
    http: httpx.AsyncClient,
) -> None:
    answer = await ask(http, "other_text", stream=True)

    assert sse.frames(answer.content)[-1].json()["error"]["type"] == "server_error"
    assert b"[DONE]" not in answer.content
