"""Field cases of `POST /v1/responses`: what clients of servers like this one break on."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from support import sse
from support.graphs import Probe
from support.transcripts import FLAT

TERMINAL = {"response.completed", "response.incomplete", "response.failed"}


async def stream(http: httpx.AsyncClient, model: str, **fields: Any) -> list[dict[str, Any]]:
    answer = await http.post(
        "/responses", json={"model": model, "stream": True, "input": "hi", **fields}
    )
    assert answer.status_code == 200, answer.text
    return sse.events(answer.content)


async def refused(http: httpx.AsyncClient, body: Any) -> dict[str, Any]:
    answer = await http.post("/responses", json=body)
    assert answer.status_code == 400, answer.text
    assert answer.headers["content-type"] == "application/json"
    error: dict[str, Any] = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"
    assert len(error["message"]) < 300
    return error


async def test_output_index_text_then_call(http: httpx.AsyncClient) -> None:
    events = await stream(http, "text_then_call", tools=FLAT)
    output = events[-1]["response"]["output"]
    announced = {
        e["output_index"]: e["item"]["id"]
        for e in events
        if e["type"] == "response.output_item.added"
    }
    places = {(e["item_id"], e["output_index"]) for e in events if "item_id" in e}

    assert [item["type"] for item in output] == ["message", "function_call"]
    assert announced == {index: item["id"] for index, item in enumerate(output)}
    assert places == {(item_id, index) for index, item_id in announced.items()}


async def test_sequence_numbers_simple(http: httpx.AsyncClient) -> None:
    events = await stream(http, "echo")

    assert [e["sequence_number"] for e in events] == list(range(len(events)))


async def test_lifecycle_text(http: httpx.AsyncClient) -> None:
    events = await stream(http, "two_tokens")

    assert [e["type"].removeprefix("response.") for e in events] == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]
    assert sse.text_of(events) == events[6]["text"] == events[7]["part"]["text"] == "Hello"
    assert len({e["item_id"] for e in events if "item_id" in e} | {events[2]["item"]["id"]}) == 1


async def test_fails_midstream(http: httpx.AsyncClient) -> None:
    answer = await http.post(
        "/responses", json={"model": "fails_after_two", "stream": True, "input": "hi"}
    )
    last = sse.events(answer.content)[-1]

    for secret in ("hunter2", "Traceback", "ValueError", "response.completed"):
        assert secret not in answer.text
    assert last["type"] == "response.failed"
    assert last["response"]["status"] == "failed"
    assert last["response"]["error"]["code"] == "server_error"
    [item] = last["response"]["output"]
    assert (item["status"], item["content"][0]["text"]) == ("incomplete", "Hello")


@pytest.mark.parametrize(
    ("model", "terminal"),
    [
        ("echo", "response.completed"),
        ("text_then_call", "response.completed"),
        ("fails_after_two", "response.failed"),
        ("fails_at_once", "response.failed"),
        ("length_stop", "response.incomplete"),
        ("empty", "response.completed"),
    ],
)
async def test_one_terminal_event(http: httpx.AsyncClient, model: str, terminal: str) -> None:
    events = await stream(http, model)

    assert [e["type"] for e in events if e["type"] in TERMINAL] == [terminal]
    assert events[-1]["type"] == terminal
    if terminal == "response.incomplete":
        assert events[-1]["response"]["incomplete_details"] == {"reason": "max_output_tokens"}


@pytest.mark.parametrize("model", ["text_then_call", "two_calls", "refuses", "status"])
async def test_terminal_output_matches_items(http: httpx.AsyncClient, model: str) -> None:
    events = await stream(http, model, tools=FLAT)
    done = {
        e["output_index"]: e["item"] for e in events if e["type"] == "response.output_item.done"
    }

    assert events[-1]["response"]["output"] == [done[index] for index in sorted(done)]
    assert events[0]["response"]["output"] == events[1]["response"]["output"] == []


async def test_replay_with_nulls(http: httpx.AsyncClient) -> None:
    items = [
        {"role": "user", "content": "weather?"},
        {
            "type": "message",
            "role": "assistant",
            "id": None,
            "status": "completed",
            "phase": "final_answer",
            "content": [
                {
                    "type": "output_text",
                    "text": "Let me check.",
                    "annotations": [],
                    "logprobs": None,
                    "parsed": None,
                }
            ],
        },
        {
            "type": "function_call",
            "id": None,
            "call_id": "call_1",
            "name": "get_weather",
            "arguments": '{"city":"Paris"}',
            "status": "completed",
            "async": None,
            "caller": None,
            "namespace": None,
            "parsed_arguments": None,
        },
        {"type": "function_call_output", "call_id": "call_1", "output": "21"},
        {"role": "user", "content": "and?"},
    ]
    answer = await http.post("/responses", json={"model": "history_probe", "input": items})
    assert answer.status_code == 200, answer.text
    seen = json.loads(answer.json()["output"][0]["content"][0]["text"])

    assert [message["type"] for message in seen] == ["human", "ai", "ai", "tool", "human"]
    assert seen[1]["content"] == [
        {"type": "text", "text": "Let me check.", "phase": "final_answer"}
    ]
    assert seen[2]["calls"][0]["args"] == {"city": "Paris"}
    assert (seen[3]["result_of"], seen[3]["content"]) == ("call_1", "21")


async def test_tool_output_array(http: httpx.AsyncClient, probe: Probe) -> None:
    parts = [{"type": "input_text", "text": "first"}, {"type": "input_text", "text": "second"}]
    items = [
        {"role": "user", "content": "x"},
        {"type": "function_call", "call_id": "call_9", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_9", "output": parts},
    ]
    error = await refused(http, {"model": "history_probe", "input": items})

    assert error["param"] == "input[2].output"
    assert probe.runs.total() == 0


CALL = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"}
RESULT = {"type": "function_call_output", "call_id": "call_1", "output": "1"}
USER = {"role": "user", "content": "x"}


@pytest.mark.parametrize(
    ("items", "param"),
    [
        ([USER, CALL, USER], "input[1].call_id"),
        ([USER, RESULT], "input[1].call_id"),
        ([USER, RESULT, CALL], "input[1].call_id"),
        ([USER, CALL, RESULT, RESULT], "input[3].call_id"),
        ([USER, CALL, CALL, RESULT], "input[2].call_id"),
        ([USER, {**CALL, "arguments": "[1]"}, RESULT], "input[1].arguments"),
    ],
)
@pytest.mark.parametrize("streamed", [True, False])
async def test_missing_result_streaming(
    http: httpx.AsyncClient, probe: Probe, items: list[Any], param: str, streamed: bool
) -> None:
    body = {"model": "history_probe", "stream": streamed, "input": items}
    error = await refused(http, body)

    assert error["param"] == param
    assert probe.runs.total() == 0


TEXT = "\u5317\u4eac \U0001f30d e\u0301 a\u2028b c\r\n\r\nd"


async def test_unicode_deltas(http: httpx.AsyncClient) -> None:
    events = await stream(http, "code_points", input=TEXT)

    assert [e["delta"] for e in events if e["type"] == "response.output_text.delta"] == list(TEXT)
    assert events[-1]["response"]["output"][0]["content"][0]["text"] == TEXT


async def test_nul_and_surrogates_of_a_model_are_replaced(http: httpx.AsyncClient) -> None:
    events = await stream(http, "surrogates")
    text = events[-1]["response"]["output"][0]["content"][0]["text"]

    assert sse.text_of(events) == text == "a\ufffdb\ufffd\ufffd"


async def test_unregistered_custom_tool(http: httpx.AsyncClient, probe: Probe) -> None:
    tools = [
        {"type": "function", "name": "read_file", "parameters": {"type": "object"}},
        {"type": "custom", "name": "apply_patch"},
    ]
    error = await refused(http, {"model": "echo", "input": "hi", "tools": tools})

    assert error["param"].startswith("tools[1]")
    assert probe.runs.total() == 0


NO_OPS = {
    "store": False,
    "include": [],
    "parallel_tool_calls": True,
    "reasoning": None,
    "tool_choice": "auto",
    "tools": [],
    "truncation": "disabled",
    "service_tier": "auto",
    "text": {"format": {"type": "text"}},
    "temperature": None,
    "metadata": None,
    "instructions": None,
    "previous_response_id": None,
    "background": None,
}


async def test_agent_client_defaults(http: httpx.AsyncClient, probe: Probe) -> None:
    body = {"model": "echo", "input": "hi", **NO_OPS}
    assert (await http.post("/responses", json=body)).status_code == 200

    for name, value in (("prompt_cache_key", "k1"), ("client_metadata", {"app": "x"})):
        error = await refused(http, {**body, name: value})
        assert error["param"] == name
    assert probe.runs.total() == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("background", True),
        ("store", True),
        ("previous_response_id", "resp_1"),
        ("include", ["reasoning.encrypted_content"]),
        ("parallel_tool_calls", False),
        ("truncation", "auto"),
        ("service_tier", "flex"),
        ("reasoning", {"effort": "low"}),
        ("temperature", 1),
        ("max_output_tokens", 5),
        ("stream_options", {"include_obfuscation": False}),
        ("tool_choice", {"type": "function", "name": "absent"}),
        ("metadata", {"k": "v" * 513}),
        ("metadata", {"k" * 65: "v"}),
        ("metadata", {str(k): "v" for k in range(17)}),
        ("text", {"format": {"type": "json_object"}}),
        ("input", []),
        ("no_such_field", 1),
    ],
)
async def test_fields_outside_the_subset_are_refused_by_name(
    http: httpx.AsyncClient, probe: Probe, field: str, value: Any
) -> None:
    error = await refused(http, {"model": "echo", "input": "hi", field: value})

    assert error["param"].startswith(field)
    assert field in error["message"]
    assert probe.runs.total() == 0


async def test_stream_unknown_model(http: httpx.AsyncClient) -> None:
    answer = await http.post("/responses", json={"model": "missing", "stream": True, "input": "hi"})

    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["error"] == {
        "message": "Graph 'missing' not found in registry.",
        "type": "invalid_request_error",
        "param": "model",
        "code": None,
    }


async def test_classifier_not_leaked(http: httpx.AsyncClient) -> None:
    events = await stream(http, "classifier_then_answer")

    assert "category" not in json.dumps(events)
    assert sse.text_of(events) == "Yes"
    assert events[-1]["type"] == "response.completed"


async def test_recursion_limit(http: httpx.AsyncClient) -> None:
    answer = await http.post(
        "/responses", json={"model": "loop_forever", "stream": True, "input": "hi"}
    )

    assert sse.events(answer.content)[-1]["type"] == "response.failed"
    assert "Recursion" not in answer.text
    assert "Traceback" not in answer.text


async def test_parallel_text_branches(http: httpx.AsyncClient) -> None:
    for _ in range(20):
        events = await stream(http, "parallel_text")
        last = events[-1]
        if last["type"] == "response.completed":
            [item] = last["response"]["output"]
            assert sse.text_of(events) == item["content"][0]["text"] == "A1A2B1B2"
        else:
            assert last["type"] == "response.failed"


async def test_text_that_differs_from_the_final_message_fails_the_run(
    http: httpx.AsyncClient,
) -> None:
    events = await stream(http, "other_text")

    assert events[-1]["type"] == "response.failed"
    assert events[-1]["response"]["output"][0]["content"][0]["text"] == "One thing"


async def test_private_tool_calls_stay_private(http: httpx.AsyncClient) -> None:
    answer = await http.post("/responses", json={"model": "two_calls", "input": "x", "tools": FLAT})
    names = [i["name"] for i in answer.json()["output"] if i["type"] == "function_call"]

    assert names == ["get_weather", "get_time"]
