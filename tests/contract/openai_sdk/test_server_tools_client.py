"""Server tools and citations through the real SDK, streamed and not."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from langgraph_openai_serve import citation_slice
from support.adapted_graphs import adapted_configs
from support.asking import ask as answer_of
from support.asking import client_of
from support.tool_graphs import CITED, GLOBE, LINKED, PAYLOAD, RESULT, VERSION, tool_configs

CUSTOM: Any = {"type": "custom", "name": VERSION}
SEARCH: Any = {"type": "web_search"}
FUNCTION: Any = {"type": "function", "name": "f", "parameters": {"type": "object"}}


@pytest.fixture
async def client() -> AsyncIterator[AsyncOpenAI]:
    async with client_of({**tool_configs(), **adapted_configs()}) as made:
        yield made


async def ask(
    client: AsyncOpenAI, model: str, tools: list[Any], streamed: bool, **body: Any
) -> Any:
    """Return the finished Response; a streamed one must list what its events announced, in their order."""
    asked = {"model": model, "input": "hi", "tools": tools, **body}
    if not streamed:
        return await client.responses.create(**asked)
    announced: dict[int, str] = {}
    events = []
    async for event in await client.responses.create(**asked, stream=True):
        events.append(event)
        if event.type == "response.output_item.added":
            announced[event.output_index] = event.item.id
    terminal = events[-1]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert [item.id for item in terminal.response.output] == [
        announced[i] for i in sorted(announced)
    ]
    assert list(announced) == list(range(len(announced)))
    return terminal.response


@pytest.mark.parametrize("streamed", [False, True])
async def test_custom_pair_distinct_ids(client: AsyncOpenAI, streamed: bool) -> None:
    response = await ask(client, "custom_tool", [CUSTOM], streamed)

    called, result, message = response.output
    assert (called.type, called.name, called.input) == ("custom_tool_call", VERSION, "lgos")
    assert (result.type, result.output) == ("custom_tool_call_output", RESULT)
    assert called.call_id == result.call_id
    assert called.id != result.id
    assert message.content[0].text == f"Version {RESULT}."
    assert response.tools[0].model_dump(exclude_none=True) == CUSTOM


async def test_a_custom_call_streams_one_input_delta_and_done(client: AsyncOpenAI) -> None:
    events = [
        event
        async for event in await client.responses.create(
            model="custom_tool", input="hi", tools=[CUSTOM], stream=True
        )
    ]
    counts = Counter(event.type for event in events)
    assert counts["response.custom_tool_call_input.delta"] == 1
    assert counts["response.custom_tool_call_input.done"] == 1
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert deltas == ["Version ", RESULT, "."]
    assert events[-1].type == "response.completed"


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_search_shows_its_query_and_nothing_that_it_found(
    client: AsyncOpenAI, streamed: bool
) -> None:
    response = await ask(client, "searches", [SEARCH], streamed)

    search, message = response.output
    assert (search.type, search.status) == ("web_search_call", "completed")
    assert (search.action.type, search.action.query) == ("search", "langgraph")
    assert message.content[0].text == "done"
    assert PAYLOAD not in response.model_dump_json()


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_search_that_failed_says_so(client: AsyncOpenAI, streamed: bool) -> None:
    response = await ask(client, "search_fails", [SEARCH], streamed)
    assert response.output[0].status == "failed"
    assert response.status == "completed"


@pytest.mark.parametrize("streamed", [False, True])
async def test_parallel_calls_show_and_unselected_tools_stay_private(
    client: AsyncOpenAI, streamed: bool
) -> None:
    response = await ask(client, "parallel_tools", [CUSTOM, SEARCH], streamed)
    kinds = [item.type for item in response.output]
    assert kinds == ["custom_tool_call", "web_search_call", "custom_tool_call_output", "message"]
    assert "secret" not in response.model_dump_json()

    only_custom = await ask(client, "parallel_tools", [CUSTOM], streamed)
    assert [item.type for item in only_custom.output] == [
        "custom_tool_call",
        "custom_tool_call_output",
        "message",
    ]


@pytest.mark.parametrize("streamed", [False, True])
async def test_without_a_selection_no_tool_shows(client: AsyncOpenAI, streamed: bool) -> None:
    response = await ask(client, "custom_tool", [], streamed)
    assert [item.type for item in response.output] == ["message"]


@pytest.mark.parametrize("streamed", [False, True])
async def test_updates_of_a_nested_graph_are_private(client: AsyncOpenAI, streamed: bool) -> None:
    response = await ask(client, "nested_tools", [CUSTOM], streamed)
    assert [item.type for item in response.output] == ["message"]


@pytest.mark.parametrize("streamed", [False, True])
async def test_status_and_tools_go_together(client: AsyncOpenAI, streamed: bool) -> None:
    response = await ask(client, "status_and_tools", [CUSTOM], streamed)
    told = ["commentary"] if streamed else []
    assert [getattr(item, "phase", item.type) for item in response.output] == [
        *told,
        "custom_tool_call",
        "custom_tool_call_output",
        "final_answer",
    ]
    assert response.output[-1].content[0].text == f"Version {RESULT}."


@pytest.mark.parametrize("model", ["no_result", "same_id_twice"])
async def test_a_call_needs_one_result_and_a_new_id(client: AsyncOpenAI, model: str) -> None:
    with pytest.raises(openai.InternalServerError):
        await ask(client, model, [CUSTOM], streamed=False)
    failed = await ask(client, model, [CUSTOM], streamed=True)
    assert failed.status == "failed"
    assert failed.error.code == "server_error"
    assert failed.output[0].type == "custom_tool_call"


async def test_a_failure_keeps_the_activity_so_far(client: AsyncOpenAI) -> None:
    failed = await ask(client, "tool_breaks", [CUSTOM, SEARCH], streamed=True)
    assert failed.status == "failed"
    assert [item.type for item in failed.output] == [
        "custom_tool_call",
        "custom_tool_call_output",
        "web_search_call",
    ]
    assert failed.output[2].status == "failed"
    assert "no search today" not in failed.model_dump_json()


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_completed_exchange_can_be_replayed_unchanged(
    client: AsyncOpenAI, streamed: bool
) -> None:
    first = await ask(client, "parallel_tools", [CUSTOM, SEARCH], streamed)
    ledger: list[Any] = [
        {"role": "user", "content": "hi"},
        *(item.model_dump() for item in first.output),
        {"role": "user", "content": "and now?"},
    ]
    second = await ask(client, "cited", [], streamed, input=ledger)
    assert second.output_text == CITED


@pytest.mark.parametrize(
    ("tools", "param"),
    [
        ([{"type": "custom", "name": "apply_patch"}], "tools[0].name"),
        ([{**CUSTOM, "description": "mine"}], "tools[0].description"),
        ([{**CUSTOM, "format": {"type": "text"}}], "tools[0].format"),
        ([{"type": "function", "name": VERSION, "parameters": {}}], "tools[0].name"),
        ([CUSTOM, CUSTOM], "tools[1].name"),
        ([SEARCH], "tools[0].type"),
        ([CUSTOM, {"type": "file_search"}], "tools[1].type"),
        ([{**CUSTOM, "input_schema": {}}], "tools[0].input_schema"),
        ([{"type": "custom", "name": "web_search"}], "tools[0].name"),
        ([{**SEARCH, "filters": {"allowed_domains": ["a"]}}], "tools[0].filters"),
        ([{**SEARCH, "search_context_size": "low"}], "tools[0].search_context_size"),
        ([{"type": "web_search_preview"}], "tools[0].type"),
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_selection_that_is_not_on_offer_is_refused(
    client: AsyncOpenAI, tools: list[Any], param: str, streamed: bool
) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        await ask(client, "custom_tool", tools, streamed)
    assert caught.value.param == param


@pytest.mark.parametrize("streamed", [False, True])
async def test_text_of_a_private_choice_never_shows(client: AsyncOpenAI, streamed: bool) -> None:
    response = await ask(client, "chooses_in_private", [CUSTOM], streamed)

    assert response.output_text == f"Version {RESULT}."
    assert "better look" not in response.model_dump_json()
    for api in ("responses", "chat"):
        answer = await answer_of(client, api, "chooses_in_private", streamed=streamed)
        assert answer.text == f"Version {RESULT}."


async def test_tool_choice_names_a_selected_custom_tool(client: AsyncOpenAI) -> None:
    choice: Any = {"type": "custom", "name": VERSION}
    response = await ask(client, "custom_tool", [CUSTOM], streamed=False, tool_choice=choice)
    assert response.tool_choice.model_dump() == choice
    with pytest.raises(openai.BadRequestError) as caught:
        await ask(client, "custom_tool", [], streamed=False, tool_choice=choice)
    assert caught.value.param == "tool_choice"


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("choice", "param"),
    [
        ({"type": "web_search"}, "tool_choice.type"),
        ({"type": "function", "name": "web_search"}, "tool_choice"),
        ({"type": "custom", "name": "web_search"}, "tool_choice"),
        ({"type": "function", "name": VERSION}, "tool_choice"),
        ({"type": "custom", "name": "f"}, "tool_choice"),
        ({"type": "custom", "name": "absent"}, "tool_choice"),
        ({"type": "custom", "name": VERSION, "input": "x"}, "tool_choice.input"),
        ("sometimes", "tool_choice"),
    ],
)
async def test_a_choice_has_the_type_and_name_of_its_tool(
    client: AsyncOpenAI, streamed: bool, choice: Any, param: str
) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        await ask(client, "request_probe", [CUSTOM, SEARCH, FUNCTION], streamed, tool_choice=choice)
    assert caught.value.param == param


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_function_stays_the_clients_beside_a_server_tool(
    client: AsyncOpenAI, streamed: bool
) -> None:
    response = await ask(client, "mixed", [CUSTOM, FUNCTION], streamed)

    called, result, function = response.output
    assert (called.type, result.type) == ("custom_tool_call", "custom_tool_call_output")
    assert (function.type, function.name, function.arguments) == ("function_call", "f", '{"a":1}')


@pytest.mark.parametrize("streamed", [False, True])
async def test_an_exchange_goes_on_with_the_replayed_pair_and_a_function_output(
    client: AsyncOpenAI, streamed: bool
) -> None:
    first = await ask(client, "mixed", [CUSTOM, FUNCTION], streamed)
    output = {"type": "function_call_output", "call_id": first.output[-1].call_id, "output": "9"}
    ledger = [*(item.model_dump() for item in first.output), output]
    second = await ask(client, "custom_tool", [], streamed, input=ledger)

    assert [item.type for item in second.output] == ["message"]


async def test_a_search_is_typed_events_with_one_completion(client: AsyncOpenAI) -> None:
    events = [
        event
        async for event in await client.responses.create(
            model="searches", input="hi", tools=[SEARCH], stream=True
        )
    ]
    kinds = [event.type.removeprefix("response.") for event in events]

    assert kinds[2:7] == [
        "output_item.added",
        "web_search_call.in_progress",
        "web_search_call.searching",
        "web_search_call.completed",
        "output_item.done",
    ]
    assert PAYLOAD not in "".join(event.model_dump_json() for event in events)


async def test_a_failed_run_is_generic_and_shows_no_partial_activity_when_whole(
    client: AsyncOpenAI,
) -> None:
    with pytest.raises(openai.InternalServerError) as caught:
        await ask(client, "tool_breaks", [CUSTOM, SEARCH], streamed=False)
    assert "no search today" not in str(caught.value)


async def test_chat_runs_the_graph_but_cannot_select_its_tools(client: AsyncOpenAI) -> None:
    messages: Any = [{"role": "user", "content": "hi"}]
    answer = await client.chat.completions.create(model="custom_tool", messages=messages)
    assert answer.choices[0].message.content == f"Version {RESULT}."
    assert answer.choices[0].message.tool_calls is None
    with pytest.raises(openai.BadRequestError) as caught:
        await client.chat.completions.create(
            model="custom_tool",
            messages=messages,
            tools=[{"type": "custom", "custom": {"name": VERSION}}],
        )
    assert caught.value.param == "tools[0].type"


@pytest.mark.parametrize("streamed", [False, True])
async def test_citation_both_protocols(client: AsyncOpenAI, streamed: bool) -> None:
    response = await ask(client, "cited", [], streamed)
    [annotation] = response.output[-1].content[0].annotations
    expected = {"url": "https://example.org/p", "title": "P", "start_index": 0, "end_index": 4}
    assert annotation.model_dump() == {"type": "url_citation", **expected}
    assert CITED[citation_slice(annotation, CITED)] == "Paris"

    messages: Any = [{"role": "user", "content": "hi"}]
    if not streamed:
        answer = await client.chat.completions.create(model="cited", messages=messages)
        [annotation] = answer.choices[0].message.annotations or []
        assert annotation.model_dump() == {"type": "url_citation", "url_citation": expected}
        assert CITED[citation_slice(annotation, CITED)] == "Paris"
        return
    chunks = [
        c
        async for c in await client.chat.completions.create(
            model="cited", messages=messages, stream=True
        )
    ]
    extensions = [(chunk.choices[0].delta.model_extra or {}).get("annotations") for chunk in chunks]
    assert extensions[:-1] == [None] * (len(chunks) - 1)
    assert extensions[-1] == [{"type": "url_citation", "url_citation": expected}]


async def test_a_citation_is_announced_before_its_message_is_done(client: AsyncOpenAI) -> None:
    kinds = [
        e.type async for e in await client.responses.create(model="cited", input="hi", stream=True)
    ]
    added = kinds.index("response.output_text.annotation.added")
    assert (
        kinds.index("response.output_text.delta") < added < kinds.index("response.output_text.done")
    )


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("model", "text", "cited"),
    [
        ("cited_in_characters", GLOBE, [(GLOBE, "P")]),
        ("cited_in_second_block", f"First. Then. {CITED}", [("Paris", "P")]),
        (
            "cited_twice_with_links",
            LINKED,
            [("Paris", "https://example.org/p"), ("[", "P")],
        ),
    ],
)
async def test_a_citation_counts_characters_of_the_answer(
    client: AsyncOpenAI, streamed: bool, model: str, text: str, cited: list[Any]
) -> None:
    response = await ask(client, model, [], streamed)
    [part] = response.output[-1].content

    assert part.text == text
    assert [(text[citation_slice(a, text)], a.title) for a in part.annotations] == cited


@pytest.mark.parametrize(
    "model",
    ["cited_too_far", "cited_wrongly", "cited_backwards", "cited_before", "cited_nowhere"],
)
async def test_a_bad_span_fails_the_run(client: AsyncOpenAI, model: str) -> None:
    for api in ("responses", "chat"):
        with pytest.raises(openai.InternalServerError):
            await answer_of(client, api, model, streamed=False)
    with pytest.raises(openai.APIError, match="The graph failed"):
        await answer_of(client, "chat", model, streamed=True)
    failed = await ask(client, model, [], streamed=True)
    assert failed.status == "failed"
    assert failed.output[0].status == "incomplete"
    assert failed.output[0].content[0].text == CITED
