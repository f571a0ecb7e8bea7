"""`POST /v1/chat/completions` through the real SDK over a real socket."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from support.transcripts import NESTED

HI: Any = [{"role": "user", "content": "hello"}]
TOOLS: Any = NESTED


async def test_text_is_answered(client: AsyncOpenAI) -> None:
    completion = await client.chat.completions.create(model="echo", messages=HI)
    [choice] = completion.choices

    assert choice.message.content == "hello"
    assert choice.finish_reason == "stop"
    assert completion.usage is not None
    assert completion.usage.total_tokens == 10


async def test_accumulated_stream_is_the_answer(client: AsyncOpenAI) -> None:
    async with client.chat.completions.stream(
        model="echo", messages=HI, stream_options={"include_usage": True}
    ) as stream:
        deltas = [event.delta async for event in stream if event.type == "content.delta"]
        final = await stream.get_final_completion()

    assert "".join(deltas) == "hello"
    assert final.choices[0].message.content == "hello"
    assert final.choices[0].finish_reason == "stop"
    assert final.usage is not None
    assert final.usage.total_tokens == 10


async def test_stream_without_the_option_has_no_usage(client: AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(model="echo", messages=HI, stream=True)

    assert [chunk.usage async for chunk in stream if chunk.usage is not None] == []


@pytest.mark.parametrize("streamed", [False, True])
async def test_tool_loop_ends_with_the_answer(client: AsyncOpenAI, streamed: bool) -> None:
    ledger: list[Any] = [{"role": "user", "content": "weather?"}]
    choice = await _ask(client, ledger, streamed)
    [call] = choice.message.tool_calls

    assert choice.finish_reason == "tool_calls"
    assert choice.message.content == "Let me check."
    assert json.loads(call.function.arguments) == {"city": "Paris"}

    ledger.append(choice.message.model_dump())
    ledger.append({"role": "tool", "tool_call_id": call.id, "content": "21"})
    choice = await _ask(client, ledger, streamed)

    assert choice.message.content == "It is 21 degrees."
    assert choice.finish_reason == "stop"


async def _ask(client: AsyncOpenAI, ledger: list[Any], streamed: bool) -> Any:
    request: Any = {"model": "text_then_call", "messages": ledger, "tools": TOOLS}
    if not streamed:
        return (await client.chat.completions.create(**request)).choices[0]
    async with client.chat.completions.stream(**request) as stream:
        return (await stream.get_final_completion()).choices[0]


async def test_status_is_not_part_of_chat(client: AsyncOpenAI) -> None:
    async with client.chat.completions.stream(model="status", messages=HI) as stream:
        final = await stream.get_final_completion()

    assert final.choices[0].message.content == "Done"


async def test_refusal_reaches_the_caller(client: AsyncOpenAI) -> None:
    whole = await client.chat.completions.create(model="refuses", messages=HI)
    async with client.chat.completions.stream(model="refuses", messages=HI) as stream:
        streamed = await stream.get_final_completion()

    assert whole.choices[0].message.refusal == "I cannot help with that."
    assert whole.choices[0].message.content is None
    assert streamed.choices[0].message.refusal == "I cannot help with that."


@pytest.mark.parametrize(
    ("model", "reason"), [("length_stop", "length"), ("filtered", "content_filter")]
)
async def test_early_stop_is_the_finish_reason(
    client: AsyncOpenAI, model: str, reason: str
) -> None:
    whole = await client.chat.completions.create(model=model, messages=HI)
    stream = await client.chat.completions.create(model=model, messages=HI, stream=True)
    reasons = [c.choices[0].finish_reason async for c in stream if c.choices[0].finish_reason]

    assert whole.choices[0].finish_reason == reason
    assert reasons == [reason]


async def test_failure_in_mid_stream_raises(client: AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(model="fails_after_two", messages=HI, stream=True)
    chunks: list[Any] = []
    with pytest.raises(openai.APIError) as caught:
        await _read(stream, chunks.append)

    assert "".join(c.choices[0].delta.content or "" for c in chunks) == "Hello"
    assert caught.value.type == "server_error"
    assert "hunter2" not in str(caught.value)


async def _read(stream: Any, take: Callable[[Any], None]) -> None:
    async for chunk in stream:
        take(chunk)


async def test_failed_run_is_an_internal_error(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.InternalServerError) as caught:
        await client.chat.completions.create(model="fails_at_once", messages=HI)

    assert "hunter2" not in str(caught.value)


async def test_unknown_model_is_not_found_even_when_streaming(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        await client.chat.completions.create(model="missing", messages=HI, stream=True)

    assert caught.value.param == "model"


async def test_wrong_message_is_a_bad_request_that_names_it(client: AsyncOpenAI) -> None:
    picture: Any = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]
    with pytest.raises(openai.BadRequestError) as caught:
        await client.chat.completions.create(model="echo", messages=picture)

    assert caught.value.param == "messages[0].content[0].type"


async def test_settings_and_conversation_reach_the_graph(client: AsyncOpenAI) -> None:
    completion = await client.chat.completions.create(
        model="settings_probe",
        messages=HI,
        metadata={"lgos_settings": '{"audience": "expert"}', "conversation_id": "c-2"},
    )
    seen = json.loads(completion.choices[0].message.content or "")

    assert seen["settings"] == {"audience": "expert", "tags": {"a": 1}}
    assert seen["metadata"] == {"langfuse_session_id": "c-2"}
    assert completion._request_id
