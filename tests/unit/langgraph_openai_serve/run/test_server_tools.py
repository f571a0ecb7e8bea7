from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langgraph_openai_serve.errors import RunError
from langgraph_openai_serve.run.events import ServerToolCalled, ServerToolReturned
from langgraph_openai_serve.run.server_tools import ServerToolTracker, output_text, tool_input


def call(call_id: str | None, name: str = "search", **args: Any) -> AIMessage:
    return AIMessage(content="", tool_calls=[{"id": call_id, "name": name, "args": args}])


def read(tracker: ServerToolTracker, *messages: Any) -> list[Any]:
    return list(tracker.read({"node": {"messages": list(messages)}}))


def test_selected_call_and_its_result_are_public() -> None:
    tracker = ServerToolTracker(frozenset({"search"}))
    events = read(
        tracker,
        HumanMessage("q"),
        call("1", query="x"),
        call("2", name="private", query="y"),
        ToolMessage("found", tool_call_id="1"),
        ToolMessage("secret", tool_call_id="2"),
    )
    tracker.close()

    assert events == [ServerToolCalled("1", "search", "x"), ServerToolReturned("1", "found")]


def test_failed_result_is_told() -> None:
    tracker = ServerToolTracker(frozenset({"search"}))
    result = ToolMessage("no", tool_call_id="1", status="error")

    assert read(tracker, call("1"), result)[1] == ServerToolReturned("1", "no", failed=True)


@pytest.mark.parametrize("ids", [["1", "1"], [None], [""]])
def test_call_id_must_be_there_and_new(ids: list[str | None]) -> None:
    tracker = ServerToolTracker(frozenset({"search"}))

    with pytest.raises(RunError, match="twice, or left it out"):
        read(tracker, *map(call, ids))


def test_call_without_a_result_fails_the_run() -> None:
    tracker = ServerToolTracker(frozenset({"search"}))
    read(tracker, call("1"))

    with pytest.raises(RunError, match="gave no result"):
        tracker.close()


@pytest.mark.parametrize(
    "update",
    [
        {"node": {"messages": [call("1")]}},
        {"node": {"answer": call("1")}},
        {"node": [{"messages": [call("1")]}]},
        {"node": call("1")},
        {"node": [call("1")]},
    ],
)
def test_messages_are_found_wherever_an_update_has_them(update: Any) -> None:
    assert len(list(ServerToolTracker(frozenset({"search"})).read(update))) == 1


@pytest.mark.parametrize("update", [None, {}, {"node": None}, {"node": {"n": 1}}, {"node": ["x"]}])
def test_update_without_messages_says_nothing(update: Any) -> None:
    assert list(ServerToolTracker(frozenset({"search"})).read(update)) == []


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ({"__arg1": "x"}, "x"),
        ({"n": 1}, '{"n":1}'),
        ({"a": "x", "b": "y"}, '{"a":"x","b":"y"}'),
        ({}, "{}"),
    ],
)
def test_input_is_the_only_string_or_json(args: dict[str, Any], text: str) -> None:
    assert tool_input("t", args) == text


def test_input_that_is_no_json_fails_the_run() -> None:
    with pytest.raises(RunError, match="arguments of the call of 't' are no JSON"):
        tool_input("t", {"a": object()})


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("x", "x"),
        (
            [
                "a",
                {"type": "text", "text": "b"},
                {"type": "custom_tool_call_output", "output": "c"},
            ],
            "abc",
        ),
        ([{"type": "image"}], ""),
    ],
)
def test_output_is_text(content: Any, text: str) -> None:
    assert output_text(content) == text
