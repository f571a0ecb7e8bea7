"""Stateless continuation through the real SDK: what came out goes in again, and nothing is kept in between."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from support.adapted_graphs import adapted_configs
from support.asking import BOTH_APIS, BOTH_WAYS, ask, client_of
from support.graphs import Probe, configs
from support.tool_graphs import tool_configs
from support.transcripts import FLAT, SELECTED

USER = {"role": "user", "content": "x"}
CALL = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"}
RESULT = {"type": "function_call_output", "call_id": "call_1", "output": "1"}
CUSTOM = {"type": "custom_tool_call", "call_id": "call_1", "name": "t", "input": "x"}
CUSTOM_RESULT = {"type": "custom_tool_call_output", "call_id": "call_1", "output": "1"}
TEXT = {"type": "output_text", "text": "a", "annotations": [], "logprobs": None, "parsed": None}
SAID = {"type": "message", "role": "assistant", "content": [TEXT]}


@pytest.fixture
async def client() -> AsyncIterator[AsyncOpenAI]:
    async with client_of({**configs(Probe()), **tool_configs(), **adapted_configs()}) as made:
        yield made


async def output_of(client: AsyncOpenAI, model: str, streamed: bool, **fields: Any) -> list[Any]:
    """The output items as the SDK dumps them, those of its stream helper with what it adds."""
    if not streamed:
        response: Any = await client.responses.create(model=model, input="hi", **fields)
        return [item.model_dump() for item in response.output]
    async with client.responses.stream(model=model, input="hi", **fields) as stream:
        async for event in stream:
            if event.type in {"response.completed", "response.incomplete"}:
                ended = event.response
    return [item.model_dump() for item in ended.output]


async def seen_of(client: AsyncOpenAI, items: list[Any]) -> list[dict[str, Any]]:
    """The messages that a graph gets for input items."""
    answer = await ask(client, "responses", "request_probe", items, streamed=False)
    seen: list[dict[str, Any]] = answer.json()["messages"]
    return seen


@BOTH_WAYS
async def test_messages_keep_id_phase_and_refusal(client: AsyncOpenAI, streamed: bool) -> None:
    for model, kinds in (("refuses_after_text", ["text", "refusal"]), ("echo", ["text"])):
        items = await output_of(client, model, streamed)
        [message] = await seen_of(client, items)

        assert message["type"] == "ai"
        assert message["id"] == items[0]["id"]
        assert [block["type"] for block in message["content"]] == kinds
        assert {block["phase"] for block in message["content"]} == {"final_answer"}
        assert {block["id"] for block in message["content"]} == {items[0]["id"]}


async def test_commentary_is_replayed_as_commentary(client: AsyncOpenAI) -> None:
    items = await output_of(client, "status", streamed=True)
    phases = [m["content"][0]["phase"] for m in await seen_of(client, items)]

    assert phases == ["commentary", "commentary", "final_answer"]


@BOTH_WAYS
async def test_citations_come_back_as_the_graph_made_them(
    client: AsyncOpenAI, streamed: bool
) -> None:
    [message] = await seen_of(client, await output_of(client, "cited", streamed))
    [citation] = message["content"][0]["annotations"]

    assert citation == {
        "type": "citation",
        "url": "https://example.org/p",
        "title": "P",
        "start_index": 0,
        "end_index": 4,
    }


@BOTH_WAYS
async def test_custom_pair_and_search_keep_ids_action_and_status(
    client: AsyncOpenAI, streamed: bool
) -> None:
    items = await output_of(client, "parallel_tools", streamed, tools=SELECTED)
    custom, search, _, _ = items
    calls, result, answer = await seen_of(client, items)

    assert calls["calls"] == [["call_v", "lgos_package_version", {"__arg1": "lgos"}]]
    assert [block["type"] for block in calls["content"]] == ["custom_tool_call", "web_search_call"]
    assert calls["content"][0]["id"] == custom["id"]
    assert calls["content"][1]["id"] == search["id"]
    assert calls["content"][1]["status"] == "completed"
    assert calls["content"][1]["action"]["query"] == "langgraph"
    assert (result["type"], result["result_of"], result["content"]) == ("tool", "call_v", "1.2.3")
    assert answer["content"][0]["text"] == "Version 1.2.3."


@BOTH_WAYS
async def test_function_calls_keep_their_call_ids(client: AsyncOpenAI, streamed: bool) -> None:
    items = await output_of(client, "two_calls", streamed, tools=FLAT)
    outputs = [
        {"type": "function_call_output", "call_id": item["call_id"], "output": item["name"]}
        for item in items
    ]
    calls, *results = await seen_of(client, [*items, *outputs])

    assert [call[0] for call in calls["calls"]] == ["call_w", "call_t"]
    assert [(r["result_of"], r["content"]) for r in results] == [
        ("call_w", "get_weather"),
        ("call_t", "get_time"),
    ]


@BOTH_WAYS
async def test_incomplete_messages_can_be_replayed(client: AsyncOpenAI, streamed: bool) -> None:
    items = await output_of(client, "length_stop", streamed)
    [message] = await seen_of(client, items)

    assert items[0]["status"] == "incomplete"
    assert message["content"][0]["text"] == "Once upon"


@pytest.mark.parametrize(
    "items",
    [
        [{**CALL, "id": None, "caller": None, "namespace": None, "async": None}, RESULT],
        [{**CUSTOM, "id": None, "caller": None, "namespace": None}, CUSTOM_RESULT],
        [CALL, {**RESULT, "caller": None, "name": None, "namespace": None, "status": None}],
        [CUSTOM, {**CUSTOM_RESULT, "id": None, "status": None, "caller": None}],
        [{**SAID, "id": None, "status": None, "phase": None}],
        [{**SAID, "status": "in_progress"}],
    ],
)
async def test_nulls_of_the_sdk_are_taken(client: AsyncOpenAI, items: list[Any]) -> None:
    assert await seen_of(client, [USER, *items])


@BOTH_WAYS
@pytest.mark.parametrize(
    ("items", "param"),
    [
        ([{**CALL, "caller": {"type": "program"}}, RESULT], "input[1].caller"),
        ([{**CALL, "namespace": "n"}, RESULT], "input[1].namespace"),
        ([{**CUSTOM, "namespace": "n"}, CUSTOM_RESULT], "input[1].namespace"),
        ([{**SAID, "content": [{**TEXT, "parsed": {"a": 1}}]}], "input[1].content[0].parsed"),
        ([{**SAID, "content": [{**TEXT, "logprobs": [{}]}]}], "input[1].content[0].logprobs"),
        ([{**SAID, "phase": "thinking"}], "input[1].phase"),
        ([{"type": "reasoning", "summary": []}], "input[1].type"),
        ([{"type": "item_reference", "id": "msg_1"}], "input[1].type"),
    ],
)
async def test_what_a_replay_cannot_mean_is_refused(
    client: AsyncOpenAI, streamed: bool, items: list[Any], param: str
) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        await ask(client, "responses", "request_probe", [USER, *items], streamed=streamed)

    assert caught.value.param == param


@BOTH_WAYS
@pytest.mark.parametrize(
    ("items", "param"),
    [
        ([CALL], "input[1].call_id"),
        ([CUSTOM], "input[1].call_id"),
        ([RESULT], "input[1].call_id"),
        ([CUSTOM_RESULT], "input[1].call_id"),
        ([RESULT, CALL], "input[1].call_id"),
        ([CALL, CUSTOM_RESULT], "input[2].call_id"),
        ([CUSTOM, RESULT], "input[2].call_id"),
        ([CALL, {**RESULT, "call_id": "call_2"}], "input[2].call_id"),
        ([CALL, RESULT, RESULT], "input[3].call_id"),
        ([CUSTOM, CUSTOM_RESULT, CUSTOM_RESULT], "input[3].call_id"),
        ([CALL, CALL, RESULT], "input[2].call_id"),
        ([{**CALL, "arguments": '{"a'}, RESULT], "input[1].arguments"),
        ([CALL, {**RESULT, "output": [{"type": "input_text", "text": "1"}]}], "input[2].output"),
    ],
)
async def test_each_call_needs_one_result_of_its_type_before_anything_runs(
    streamed: bool, items: list[Any], param: str
) -> None:
    probe = Probe()
    async with client_of(configs(probe)) as client:
        with pytest.raises(openai.BadRequestError) as caught:
            await ask(client, "responses", "echo", [USER, *items], streamed=streamed)

    assert caught.value.param == param
    assert probe.runs.total() == 0


CHAT_CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    ],
}
CHAT_RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "1"}


@BOTH_WAYS
@pytest.mark.parametrize(
    ("messages", "param"),
    [
        ([CHAT_CALL], "messages[1].tool_calls[0].id"),
        ([CHAT_RESULT], "messages[1].tool_call_id"),
        ([CHAT_CALL, CHAT_RESULT, CHAT_RESULT], "messages[3].tool_call_id"),
        ([CHAT_CALL, CHAT_CALL, CHAT_RESULT], "messages[2].tool_calls[0].id"),
    ],
)
async def test_chat_results_have_their_calls(
    streamed: bool, messages: list[Any], param: str
) -> None:
    probe = Probe()
    async with client_of(configs(probe)) as client:
        with pytest.raises(openai.BadRequestError) as caught:
            await ask(client, "chat", "echo", [USER, *messages], streamed=streamed)

    assert caught.value.param == param
    assert probe.runs.total() == 0


@BOTH_APIS
async def test_a_message_of_the_sdk_is_replayed_as_it_is(client: AsyncOpenAI, api: str) -> None:
    if api == "responses":
        first = await client.responses.create(model="echo", input="hi")
        ledger: list[Any] = [USER, *first.output]
    else:
        whole = await client.chat.completions.create(model="cited", messages=[USER])  # type: ignore[list-item] # a plain dict
        ledger = [USER, whole.choices[0].message]
    answer = await ask(client, api, "request_probe", [*ledger, USER], streamed=False)

    assert [m["type"] for m in answer.json()["messages"]] == ["human", "ai", "human"]


async def test_nothing_is_kept_and_no_route_pretends_it_were(client: AsyncOpenAI) -> None:
    kept = await client.responses.create(model="echo", input="hi")
    asked: list[Any] = [
        client.responses.retrieve(kept.id),
        client.responses.cancel(kept.id),
        client.responses.delete(kept.id),
        client.responses.compact(model="echo", input="hi"),
        client.responses.input_items.list(kept.id),
        client.conversations.create(),
        client.files.list(),
    ]
    for asking in asked:
        with pytest.raises(openai.NotFoundError) as caught:
            await asking
        assert caught.value.type == "invalid_request_error"


@BOTH_WAYS
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("previous_response_id", "resp_1"),
        ("conversation", "conv_1"),
        ("store", True),
        ("background", True),
    ],
)
async def test_what_would_need_a_store_is_refused(
    client: AsyncOpenAI, streamed: bool, field: str, value: Any
) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        await ask(client, "responses", "echo", streamed=streamed, **{field: value})

    assert caught.value.param == field
