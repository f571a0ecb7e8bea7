"""The models of the how-to pages do what the pages say, beyond what the pages' own clients show."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest

WEATHER: Any = {
    "type": "function",
    "name": "get_weather",
    "strict": False,
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}
TIME: Any = {**WEATHER, "name": "get_time"}
NESTED: Any = [
    {"type": "function", "function": {key: tool[key] for key in ("name", "parameters")}}
    for tool in (WEATHER, TIME)
]
VERSION: Any = {"type": "custom", "name": "package_version"}
SEARCH: Any = {"type": "web_search"}
OVERVIEW = "https://docs.langchain.com/oss/python/langgraph/overview"


def settings_of(client: openai.OpenAI, chosen: dict[str, Any]) -> str:
    metadata = {"lgos_settings": json.dumps(chosen)}
    return client.responses.create(model="settings", input="?", metadata=metadata).output_text


def cited(part: Any) -> list[tuple[str, str]]:
    """Each citation's URL and the text that it stands on."""
    return [(a.url, part.text[a.start_index : a.end_index + 1]) for a in part.annotations]


def test_settings_say_in_their_schema_what_fits(client: openai.OpenAI) -> None:
    descriptor = client.models.retrieve("settings").model_extra["lgos"]["client_settings"]
    schema = descriptor["json_schema"]
    assert schema["properties"]["audience"]["enum"] == ["general", "beginner", "expert"]
    assert schema["$defs"]["Layout"]["properties"]["facts"]["maximum"] == 3
    assert descriptor["defaults"] == {
        "audience": "beginner",
        "layout": {"bullets": False, "facts": 2},
    }


def test_a_nested_setting_replaces_the_whole_default(client: openai.OpenAI) -> None:
    assert settings_of(client, {"audience": "expert"}).count(".") == 3
    # The manifest says two facts; a layout without the number has the class's three.
    assert settings_of(client, {"layout": {"bullets": True}}).count("\n- ") == 4


def test_settings_of_one_request_are_gone_in_the_next(client: openai.OpenAI) -> None:
    assert settings_of(client, {"audience": "expert"}).startswith("In short:")
    assert settings_of(client, {}).startswith("In plain words:")


@pytest.mark.parametrize(
    "chosen",
    [{"layout": {"facts": 4}}, {"layout": {"colour": "red"}}, {"plan": "paid"}, {"audience": "me"}],
)
def test_settings_that_do_not_fit_are_refused(
    client: openai.OpenAI, chosen: dict[str, Any]
) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        settings_of(client, chosen)
    assert caught.value.param == "metadata.lgos_settings"


def test_a_retrieved_page_is_cited_where_it_is_linked(client: openai.OpenAI) -> None:
    question = "How do agents and events work?"
    with client.responses.stream(model="citations", input=question) as stream:
        events = list(stream)
        part: Any = stream.get_final_response().output[0]
    [text] = part.content
    assert len([event for event in events if event.type == "response.output_text.delta"]) > 10
    added = [event for event in events if event.type == "response.output_text.annotation.added"]
    assert len(added) == len(text.annotations) == 2
    assert [span for _, span in cited(text)] == [
        f"[LangGraph overview]({OVERVIEW})",
        "[OpenAI Responses](https://platform.openai.com/docs/api-reference/responses)",
    ]


def test_what_no_page_is_about_has_no_citation(client: openai.OpenAI) -> None:
    message: Any = client.responses.create(model="citations", input="Weather?").output[0]
    assert message.content[0].text == "I have no page about that."
    assert message.content[0].annotations == []


def test_chat_has_the_citations_too(client: openai.OpenAI) -> None:
    completion = client.chat.completions.create(
        model="citations", messages=[{"role": "user", "content": "agents"}]
    )
    message = completion.choices[0].message
    [annotation] = message.annotations or []
    span = annotation.url_citation
    assert span.url == OVERVIEW
    assert (message.content or "")[span.start_index : span.end_index + 1].endswith(f"({OVERVIEW})")


def test_status_comes_apart_from_the_answer_and_only_in_streams(client: openai.OpenAI) -> None:
    with client.responses.stream(model="writer", input="rain") as stream:
        items: list[Any] = stream.until_done().get_final_response().output
    assert [item.phase for item in items] == ["commentary", "commentary", "final_answer"]
    whole = client.responses.create(model="writer", input="rain").output
    assert len(whole) == 1


@pytest.mark.parametrize(
    ("choice", "called"),
    [
        ("auto", ["get_weather", "get_weather"]),
        ("required", ["get_weather", "get_weather"]),
        ({"type": "function", "name": "get_time"}, ["get_time", "get_time"]),
        ("none", []),
    ],
    ids=str,
)
@pytest.mark.parametrize("streamed", [False, True])
def test_tool_choice_holds_in_responses(
    client: openai.OpenAI, choice: Any, called: list[str], streamed: bool
) -> None:
    asked: Any = {
        "model": "tools",
        "input": "Oslo and Rome",
        "tools": [WEATHER, TIME],
        "tool_choice": choice,
    }
    if streamed:
        with client.responses.stream(**asked) as stream:
            response: Any = stream.until_done().get_final_response()
    else:
        response = client.responses.create(**asked)
    calls = [item for item in response.output if item.type == "function_call"]
    assert [call.name for call in calls] == called
    assert [json.loads(call.arguments)["city"] for call in calls] == ["Oslo", "Rome"][: len(called)]
    assert len({call.call_id for call in calls}) == len(called)
    assert bool(response.output_text) is (called == [])


@pytest.mark.parametrize(
    ("choice", "called"),
    [
        ("auto", ["get_weather", "get_weather"]),
        ({"type": "function", "function": {"name": "get_time"}}, ["get_time", "get_time"]),
        ("none", []),
    ],
    ids=str,
)
def test_tool_choice_holds_in_chat(client: openai.OpenAI, choice: Any, called: list[str]) -> None:
    chunks = client.chat.completions.create(
        model="tools",
        messages=[{"role": "user", "content": "Oslo and Rome"}],
        tools=NESTED,
        tool_choice=choice,
        stream=True,
    )
    choices = [chunk.choices[0] for chunk in chunks if chunk.choices]
    calls = [call for choice in choices for call in choice.delta.tool_calls or []]
    assert [call.function.name for call in calls if call.function and call.function.name] == called
    assert {call.index for call in calls} == set(range(len(called)))
    assert choices[-1].finish_reason == ("tool_calls" if called else "stop")


def test_selected_tools_run_and_what_selects_them_is_private(client: openai.OpenAI) -> None:
    asked: Any = {"model": "research", "input": "What does LangGraph build?"}
    with client.responses.stream(**asked, tools=[VERSION, SEARCH]) as stream:
        events = list(stream)
        response = stream.get_final_response()
    assert [item.type for item in response.output] == [
        "custom_tool_call",
        "web_search_call",
        "custom_tool_call_output",
        "message",
    ]
    assert response.output_text.startswith("langgraph ")
    assert "work for my tools" not in repr(events)
    message: Any = response.output[-1]
    assert cited(message.content[0]) == [(OVERVIEW, f"[LangGraph overview]({OVERVIEW})")]
    # The selecting model reports its tokens, too.
    assert response.usage is not None
    assert response.usage.output_tokens > len(response.output_text.split())


@pytest.mark.parametrize(
    ("tools", "choice", "types"),
    [
        ([SEARCH], "required", ["web_search_call", "message"]),
        ([VERSION, SEARCH], "none", ["message"]),
        ([VERSION, SEARCH], VERSION, ["custom_tool_call", "custom_tool_call_output", "message"]),
        ([], "auto", ["message"]),
    ],
    ids=["required", "none", "named", "nothing selected"],
)
def test_research_keeps_to_the_requests_choice(
    client: openai.OpenAI, tools: Any, choice: Any, types: list[str]
) -> None:
    response = client.responses.create(
        model="research", input="agents?", tools=tools, tool_choice=choice
    )
    assert [item.type for item in response.output] == types


def test_a_replayed_exchange_is_not_answered_again(client: openai.OpenAI) -> None:
    items: list[Any] = [{"role": "user", "content": "agents?"}]
    first = client.responses.create(model="research", input=items, tools=[VERSION, SEARCH])
    items += [*first.output, {"role": "user", "content": "Thanks."}]
    second = client.responses.create(model="research", input=items)
    assert [item.type for item in second.output] == ["message"]
    assert second.output_text == "Select a tool and ask again."


def test_chat_runs_research_without_its_tools(client: openai.OpenAI) -> None:
    completion = client.chat.completions.create(
        model="research", messages=[{"role": "user", "content": "agents?"}]
    )
    assert completion.choices[0].message.content == "Select a tool and ask again."


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([{"type": "input_file", "file_id": "file-a"}], "Start me with FILES_BASE_URL, and I read file-a."),
        ([{"type": "input_text", "text": "hi"}], "Send a file by its id."),
    ],
)  # fmt: skip
def test_files_says_what_is_missing(client: openai.OpenAI, parts: Any, text: str) -> None:
    items: Any = [{"role": "user", "content": parts}]
    assert client.responses.create(model="files", input=items).output_text == text
