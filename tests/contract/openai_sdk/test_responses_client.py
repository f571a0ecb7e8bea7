"""`POST /v1/responses` through the real SDK over a real socket."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI, OpenAI

from support.graphs import Probe
from support.transcripts import FLAT

TOOLS: Any = FLAT


async def test_text_is_answered(client: AsyncOpenAI) -> None:
    response = await client.responses.create(model="echo", input="hello")

    assert response.output_text == "hello"
    assert response.status == "completed"
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.output_tokens) == (7, 3)
    assert response.created_at == int(response.created_at)


async def test_text_is_streamed_and_the_final_response_is_the_terminal_one(
    client: AsyncOpenAI,
) -> None:
    deltas = []
    terminal = None
    async with client.responses.stream(model="echo", input="hello") as stream:
        async for event in stream:
            if event.type == "response.output_text.delta":
                deltas.append(event.delta)
                assert event.snapshot == "".join(deltas)
            elif event.type == "response.completed":
                terminal = event.response
        final = await stream.get_final_response()

    assert "".join(deltas) == "hello"
    assert final == terminal
    assert final.output_text == "hello"


async def test_synchronous_client_streams_too(base_url: str) -> None:
    def ask() -> str:
        with (
            OpenAI(base_url=base_url, api_key="none", max_retries=0) as client,
            client.responses.stream(model="two_tokens", input="hi") as stream,
        ):
            return stream.get_final_response().output_text

    assert await asyncio.to_thread(ask) == "Hello"


@pytest.mark.parametrize("streamed", [False, True])
async def test_tool_loop_ends_with_the_answer(client: AsyncOpenAI, streamed: bool) -> None:
    ledger: list[Any] = [{"role": "user", "content": "weather?"}]
    first = await _ask(client, ledger, streamed)
    [message, call] = first.output

    assert message.type == "message"
    assert message.phase == "final_answer"
    assert call.type == "function_call"
    assert json.loads(call.arguments) == {"city": "Paris"}

    ledger += [item.model_dump() for item in first.output]
    ledger.append({"type": "function_call_output", "call_id": call.call_id, "output": "21"})
    second = await _ask(client, ledger, streamed)

    assert second.output_text == "It is 21 degrees."


async def _ask(client: AsyncOpenAI, ledger: list[Any], streamed: bool) -> Any:
    if not streamed:
        return await client.responses.create(model="text_then_call", input=ledger, tools=TOOLS)
    async with client.responses.stream(model="text_then_call", input=ledger, tools=TOOLS) as stream:
        return await stream.get_final_response()


async def test_commentary_and_answer_are_told_apart_by_phase(client: AsyncOpenAI) -> None:
    async with client.responses.stream(model="status", input="hi") as stream:
        final = await stream.get_final_response()

    said = [(i.phase, i.content[0].text) for i in final.output if i.type == "message"]
    assert said == [
        ("commentary", "Reading the question"),
        ("commentary", "Writing"),
        ("final_answer", "Done"),
    ]


@pytest.mark.parametrize(("model", "stream"), [("status", False), ("silent_status", True)])
async def test_commentary_needs_a_stream_and_the_feature(
    client: AsyncOpenAI, model: str, stream: bool
) -> None:
    if stream:
        async with client.responses.stream(model=model, input="hi") as events:
            response: Any = await events.get_final_response()
    else:
        response = await client.responses.create(model=model, input="hi")

    assert [item.phase for item in response.output] == ["final_answer"]
    assert response.output_text == "Done"


async def test_refusal_and_early_stop_reach_the_caller(client: AsyncOpenAI) -> None:
    refused: Any = await client.responses.create(model="refuses", input="hi")
    cut = await client.responses.create(model="length_stop", input="hi")

    assert refused.output[0].content[0].refusal == "I cannot help with that."
    assert cut.status == "incomplete"
    assert cut.incomplete_details is not None
    assert cut.incomplete_details.reason == "max_output_tokens"
    assert cut.output_text == "Once upon"


async def test_unknown_model_is_not_found(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        await client.responses.create(model="missing", input="hi")

    assert caught.value.body == {
        "message": "Graph 'missing' not found in registry.",
        "type": "invalid_request_error",
        "param": "model",
        "code": None,
    }


async def test_unsupported_field_is_a_bad_request_that_names_it(
    client: AsyncOpenAI, probe: Probe
) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        await client.responses.create(model="echo", input="hi", temperature=0.2)

    assert (caught.value.param, caught.value.code) == ("temperature", "unsupported_parameter")
    assert caught.value.type == "invalid_request_error"
    assert probe.runs.total() == 0


async def test_failed_run_is_an_internal_error_without_details(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.InternalServerError) as caught:
        await client.responses.create(model="fails_after_two", input="hi")

    assert caught.value.type == "server_error"
    assert "hunter2" not in str(caught.value)


async def test_failure_in_mid_stream_keeps_the_partial_answer(client: AsyncOpenAI) -> None:
    stream = await client.responses.create(model="fails_after_two", input="hi", stream=True)
    events = [event async for event in stream]
    last: Any = events[-1]

    assert last.type == "response.failed"
    assert last.response.error.code == "server_error"
    assert last.response.output[0].status == "incomplete"
    assert last.response.output_text == "Hello"


async def test_settings_and_conversation_reach_the_graph(client: AsyncOpenAI) -> None:
    response = await client.responses.create(
        model="settings_probe",
        input="hi",
        metadata={
            "lgos_settings": json.dumps({"audience": "expert", "tags": {"b": 2}}),
            "conversation_id": "c-1",
            "other": "kept",
        },
        extra_headers={"x-request-id": "req-7"},
    )
    seen = json.loads(response.output_text)

    assert seen["settings"] == {"audience": "expert", "tags": {"b": 2}}
    assert seen["metadata"] == {"langfuse_session_id": "c-1"}
    assert response.metadata is not None
    assert response.metadata["other"] == "kept"
    assert response._request_id == "req-7"


@pytest.mark.parametrize("text", ["[]", "{", '{"audience": 7}', '{"unknown": 1}'])
async def test_wrong_settings_are_refused_by_name(client: AsyncOpenAI, text: str) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        await client.responses.create(
            model="settings_probe", input="hi", stream=True, metadata={"lgos_settings": text}
        )

    assert caught.value.param == "metadata.lgos_settings"


async def test_settings_of_a_graph_without_any_are_refused(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="has no client settings"):
        await client.responses.create(model="echo", input="hi", metadata={"lgos_settings": "{}"})


async def test_response_that_nobody_keeps_is_not_found(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        await client.responses.retrieve("resp_x")
    with pytest.raises(openai.NotFoundError):
        await client.responses.cancel("resp_x")

    assert caught.value.param == "response_id"
