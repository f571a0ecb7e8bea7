"""What a graph gets and gives: adapters, states, nested graphs and requests, through the real SDK."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from openai import AsyncOpenAI

from support.adapted_graphs import adapted_configs
from support.asking import BOTH_APIS, BOTH_WAYS, ask, client_of, functions

VERSION: Any = {"type": "custom", "name": "lgos_package_version"}
SEARCH: Any = {"type": "web_search"}


@pytest.fixture
async def client() -> AsyncIterator[AsyncOpenAI]:
    async with client_of(adapted_configs()) as made:
        yield made


@BOTH_APIS
@BOTH_WAYS
@pytest.mark.parametrize("model", ["shout", "shout_later"])
async def test_a_state_without_messages_is_adapted(
    client: AsyncOpenAI, api: str, streamed: bool, model: str
) -> None:
    answer = await ask(client, api, model, "hey", streamed=streamed)

    assert answer.text == "HEY"
    assert answer.deltas == (["H", "E", "Y"] if streamed else [])


@BOTH_APIS
@BOTH_WAYS
async def test_a_nested_graph_streams_the_answer(
    client: AsyncOpenAI, api: str, streamed: bool
) -> None:
    answer = await ask(client, api, "nested", streamed=streamed)

    assert answer.text == "from inside"
    assert answer.deltas == (["from ", "inside"] if streamed else [])


@BOTH_APIS
@BOTH_WAYS
async def test_two_streamed_calls_are_rendered_in_their_order(
    client: AsyncOpenAI, api: str, streamed: bool
) -> None:
    assert (await ask(client, api, "two_parts", streamed=streamed)).text == "one two "


@BOTH_APIS
@BOTH_WAYS
async def test_an_output_adapter_keeps_or_loses_why_the_answer_stopped(
    client: AsyncOpenAI, api: str, streamed: bool
) -> None:
    kept = await ask(client, api, "keeps_metadata", streamed=streamed)
    lost = await ask(client, api, "drops_metadata", streamed=streamed)

    assert kept.ended in {"length", "max_output_tokens"}
    assert lost.ended in {"stop", "completed"}


@BOTH_APIS
async def test_nothing_is_remembered_of_a_graph_with_a_checkpointer(
    client: AsyncOpenAI, api: str
) -> None:
    for _ in range(2):
        metadata = {"conversation_id": "same"}
        answer = await ask(client, api, "remembers", streamed=False, metadata=metadata)
        assert answer.text == "1 messages"


@BOTH_APIS
@pytest.mark.parametrize("choice", [None, "none", "auto", "required"])
async def test_functions_and_choice_reach_the_graph_alike(
    client: AsyncOpenAI, api: str, choice: str | None
) -> None:
    fields: Any = {} if choice is None else {"tool_choice": choice}
    tools = functions(api, "f", "g")
    facts = (await ask(client, api, "request_probe", streamed=False, tools=tools, **fields)).json()

    assert [tool["function"]["name"] for tool in facts["tools"]] == ["f", "g"]
    assert facts["tools"][0] == {
        "type": "function",
        "function": {"name": "f", "parameters": {"type": "object"}},
    }
    assert facts["tool_choice"] == (choice or "auto")
    assert facts["server_tools"] == []


@BOTH_APIS
async def test_a_named_function_reaches_the_graph(client: AsyncOpenAI, api: str) -> None:
    named = {"type": "function", "function": {"name": "g"}}
    choice: Any = named if api == "chat" else {"type": "function", "name": "g"}
    tools = functions(api, "f", "g")
    answer = await ask(
        client, api, "request_probe", streamed=False, tools=tools, tool_choice=choice
    )

    assert answer.json()["tool_choice"] == ["function", "g"]


@pytest.mark.parametrize(
    ("tools", "choice", "selected", "chosen"),
    [
        ([VERSION], "auto", ["lgos_package_version"], "auto"),
        ([SEARCH], "required", ["web_search"], "required"),
        ([VERSION, SEARCH], "none", ["lgos_package_version", "web_search"], "none"),
        ([VERSION], VERSION, ["lgos_package_version"], ["custom", "lgos_package_version"]),
        ([], "auto", [], "auto"),
    ],
)
async def test_only_selected_server_tools_reach_the_graph(
    client: AsyncOpenAI, tools: list[Any], choice: Any, selected: list[str], chosen: Any
) -> None:
    offered = [*tools, *functions("responses", "f")]
    answer = await ask(
        client, "responses", "request_probe", streamed=False, tools=offered, tool_choice=choice
    )
    facts = answer.json()

    assert facts["server_tools"] == selected
    assert facts["tool_choice"] == chosen
    assert [tool["function"]["name"] for tool in facts["tools"]] == ["f"]


@BOTH_APIS
@BOTH_WAYS
async def test_instructions_of_the_client_are_ordinary_messages(
    client: AsyncOpenAI, api: str, streamed: bool
) -> None:
    messages = [
        {"role": "system", "content": "S"},
        {"role": "developer", "content": "D"},
        {"role": "user", "content": "U"},
    ]
    answer = await ask(client, api, "request_probe", messages, streamed=streamed)

    seen = [(message["type"], message["content"]) for message in answer.json()["messages"]]
    assert seen == [("system", "S"), ("system", "D"), ("human", "U")]
