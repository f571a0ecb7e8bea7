"""What an answer says besides its text: calls, refusals, early stops, usage and failures, through the real SDK."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from support.adapted_graphs import adapted_configs
from support.asking import BOTH_APIS, BOTH_WAYS, ask, client_of, functions
from support.graphs import Probe, configs
from support.transcripts import FLAT

INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


@pytest.fixture
async def client() -> AsyncIterator[AsyncOpenAI]:
    async with client_of({**configs(Probe()), **adapted_configs()}) as made:
        yield made


async def events_of(client: AsyncOpenAI, model: str, **fields: Any) -> list[Any]:
    stream: Any = await client.responses.create(model=model, input="hi", stream=True, **fields)
    return [event async for event in stream]


async def test_arguments_come_as_one_delta_before_done(client: AsyncOpenAI) -> None:
    events = await events_of(client, "two_calls", tools=FLAT)
    items = {e.item.id: e for e in events if e.type == "response.output_item.added"}

    assert len(items) == 2
    for item_id, added in items.items():
        own = [e for e in events if getattr(e, "item_id", None) == item_id]
        assert [e.type for e in own] == [
            "response.function_call_arguments.delta",
            "response.function_call_arguments.done",
        ]
        assert own[0].delta == own[1].arguments
        assert isinstance(json.loads(own[1].arguments), dict)
        assert {e.output_index for e in own} == {added.output_index}
        assert (added.item.status, added.item.arguments) == ("in_progress", "")


@BOTH_WAYS
@pytest.mark.parametrize(
    ("model", "status", "reason"),
    [("truncated", "incomplete", "max_output_tokens"), ("malformed", "completed", None)],
)
async def test_truncated_arguments_stay_raw_on_an_incomplete_item(
    client: AsyncOpenAI, streamed: bool, model: str, status: str, reason: str | None
) -> None:
    tools: Any = functions("responses", "f")
    if streamed:
        response = (await events_of(client, model, tools=tools))[-1].response
    else:
        response = await client.responses.create(model=model, input="hi", tools=tools)

    assert response.status == status
    assert (response.incomplete_details and response.incomplete_details.reason) == reason
    call = response.output[-1]
    assert (call.type, call.status, call.arguments) == (
        "function_call",
        "incomplete",
        '{"city":"Pa',
    )


@BOTH_WAYS
async def test_truncated_arguments_stay_raw_in_chat(client: AsyncOpenAI, streamed: bool) -> None:
    answer = await ask(client, "chat", "truncated", streamed=streamed, tools=functions("chat", "f"))

    assert answer.calls == [("f", '{"city":"Pa')]
    assert answer.ended == "length"


@BOTH_APIS
@BOTH_WAYS
@pytest.mark.parametrize("model", ["refuses_in_block", "refuses_in_field"])
async def test_refusals_are_read_from_block_and_field(
    client: AsyncOpenAI, api: str, streamed: bool, model: str
) -> None:
    answer = await ask(client, api, model, streamed=streamed)

    assert (answer.text, answer.refusal) == ("", "I cannot.")


@BOTH_APIS
@BOTH_WAYS
async def test_refusal_stays_apart_from_text(client: AsyncOpenAI, api: str, streamed: bool) -> None:
    answer = await ask(client, api, "refuses_after_text", streamed=streamed)

    assert (answer.text, answer.refusal) == ("Hm. ", "I cannot.")


@BOTH_APIS
@BOTH_WAYS
@pytest.mark.parametrize("provider", ["chat", "responses"])
@pytest.mark.parametrize(("kind", "reason"), [("length", "length"), ("filter", "content_filter")])
async def test_early_stop_is_read_from_either_providers_metadata(
    client: AsyncOpenAI, api: str, streamed: bool, provider: str, kind: str, reason: str
) -> None:
    answer = await ask(client, api, f"{provider}_{kind}", streamed=streamed)

    assert answer.text == "cut"
    assert answer.ended == (reason if api == "chat" else INCOMPLETE[reason])


@BOTH_APIS
@BOTH_WAYS
async def test_usage_is_the_sum_of_the_runs_model_calls(
    client: AsyncOpenAI, api: str, streamed: bool
) -> None:
    options = {"include_usage": True}
    fields: Any = {"stream_options": options} if api == "chat" and streamed else {}
    answer = await ask(client, api, "two_models", streamed=streamed, **fields)
    used = answer.usage

    assert answer.text == "ab"
    assert used.total_tokens == 120
    assert getattr(used, "input_tokens", None) or used.prompt_tokens == 107


@BOTH_APIS
@BOTH_WAYS
async def test_usage_is_absent_when_no_model_reports_it(
    client: AsyncOpenAI, api: str, streamed: bool
) -> None:
    options = {"include_usage": True}
    fields: Any = {"stream_options": options} if api == "chat" and streamed else {}

    assert (await ask(client, api, "no_usage", streamed=streamed, **fields)).usage is None


async def test_usage_of_a_stream_is_on_its_terminal_object_only(client: AsyncOpenAI) -> None:
    complete = await events_of(client, "two_models")
    cut = await events_of(client, "length_stop")

    assert [e.type for e in complete if getattr(e, "response", None) and e.response.usage] == [
        "response.completed"
    ]
    assert cut[-1].type == "response.incomplete"


async def test_chat_streams_usage_on_request_only(client: AsyncOpenAI) -> None:
    asked = await ask(
        client, "chat", "two_models", streamed=True, stream_options={"include_usage": True}
    )
    unasked = await ask(client, "chat", "two_models", streamed=True)

    assert asked.usage.prompt_tokens == 107
    assert unasked.usage is None


@BOTH_APIS
async def test_answer_that_never_streamed_comes_as_one_delta(client: AsyncOpenAI, api: str) -> None:
    answer = await ask(client, api, "no_usage", streamed=True)

    assert answer.deltas == ["plain"]


@BOTH_APIS
@BOTH_WAYS
async def test_private_model_calls_never_show(
    client: AsyncOpenAI, api: str, streamed: bool
) -> None:
    for model, text in (("two_models", "ab"), ("classifier_then_answer", "Yes")):
        assert (await ask(client, api, model, streamed=streamed)).text == text


async def test_text_that_differs_from_the_final_message_fails_a_stream_only(
    client: AsyncOpenAI,
) -> None:
    last = (await events_of(client, "other_text"))[-1]
    with pytest.raises(openai.APIError, match="The graph failed"):
        await ask(client, "chat", "other_text", streamed=True)

    assert (last.type, last.response.status) == ("response.failed", "failed")
    assert last.response.output[0].status == "incomplete"
    assert last.response.output_text == "One thing"
    for api in ("responses", "chat"):
        assert (await ask(client, api, "other_text", streamed=False)).text == "Another thing"


@BOTH_APIS
@BOTH_WAYS
async def test_private_client_events_never_show(
    client: AsyncOpenAI, api: str, streamed: bool
) -> None:
    answer = await ask(client, api, "whispers", streamed=streamed)

    assert answer.text == "quiet"


@BOTH_WAYS
async def test_commentary_is_of_streamed_responses_only(
    client: AsyncOpenAI, streamed: bool
) -> None:
    if streamed:
        events = await events_of(client, "status")
        output = events[-1].response.output
        shown = "".join(event.model_dump_json() for event in events)
        assert not [
            word for word in ("lgos.status", "hidden", '"done"', "not for") if word in shown
        ]
    else:
        output = (await client.responses.create(model="status", input="hi")).output
    said = [(item.phase, item.status) for item in output]

    commentary = [("commentary", "completed")] * 2 if streamed else []
    assert said == [*commentary, ("final_answer", "completed")]
    assert (await ask(client, "chat", "status", streamed=streamed)).text == "Done"


@BOTH_APIS
@BOTH_WAYS
@pytest.mark.parametrize(
    ("model", "arguments"),
    [
        ("surrogate_args", '{"city":"\ufffdParis"}'),
        ("big_args", '{"n":1180591620717411303424}'),
    ],
)
async def test_arguments_are_what_json_can_carry(
    client: AsyncOpenAI, api: str, streamed: bool, model: str, arguments: str
) -> None:
    answer = await ask(client, api, model, streamed=streamed, tools=functions(api, "f"))

    assert answer.calls == [("f", arguments)]


@BOTH_APIS
@BOTH_WAYS
@pytest.mark.parametrize("model", ["object_args", "nan_args"])
async def test_arguments_that_are_no_json_fail_the_run(
    client: AsyncOpenAI, api: str, streamed: bool, model: str
) -> None:
    tools = functions(api, "f")
    if api == "responses" and streamed:
        answer = await ask(client, api, model, streamed=True, tools=tools)
        assert (answer.ended, answer.calls) == ("failed", [])
        return
    with pytest.raises(openai.APIError) as caught:
        await ask(client, api, model, streamed=streamed, tools=tools)
    assert caught.value.type == "server_error"
    assert "JSON" not in str(caught.value)


@BOTH_APIS
@BOTH_WAYS
async def test_functions_that_were_not_offered_stay_private(
    client: AsyncOpenAI, api: str, streamed: bool
) -> None:
    answer = await ask(
        client, api, "two_calls", streamed=streamed, tools=functions(api, "get_time")
    )

    assert answer.calls == [("get_time", '{"zone":"UTC"}')]


async def test_every_response_has_an_id_of_its_own(client: AsyncOpenAI) -> None:
    ids = {(await client.responses.create(model="echo", input="hi")).id for _ in range(3)}

    assert len(ids) == 3
    assert all(response_id.startswith("resp_") for response_id in ids)
