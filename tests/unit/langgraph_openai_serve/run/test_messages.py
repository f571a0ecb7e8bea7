from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_openai_serve.errors import RunError
from langgraph_openai_serve.run.events import IncompleteReason, ToolCalled, Usage
from langgraph_openai_serve.run.messages import (
    incomplete_reason,
    last_message,
    refusal_of,
    text_of,
    tool_calls,
    total_usage,
)

ANSWER = AIMessage(content="a")


@pytest.mark.parametrize(
    "output",
    [
        {"messages": [HumanMessage("q"), ANSWER]},
        {"messages": (ANSWER,)},
        {"messages": ANSWER},
        SimpleNamespace(messages=[ANSWER]),
        [ANSWER],
        ANSWER,
    ],
)
def test_assistant_message_is_the_last_of_the_output(output: Any) -> None:
    assert last_message(output) is ANSWER


@pytest.mark.parametrize("output", [None, {}, {"messages": []}, {"messages": [HumanMessage("q")]}])
def test_output_without_an_assistant_message_names_the_fix(output: Any) -> None:
    with pytest.raises(RunError, match="output_to_message"):
        last_message(output)


def test_text_leaves_other_blocks_out() -> None:
    blocks: list[Any] = [{"type": "text", "text": "a"}, {"type": "reasoning"}, "b"]

    assert text_of(AIMessage(content=blocks)) == "ab"
    assert text_of(ANSWER) == "a"


@pytest.mark.parametrize(
    ("message", "refusal"),
    [
        (
            AIMessage(
                content=[{"type": "text", "text": ""}, {"type": "refusal", "refusal": "No."}]
            ),
            "No.",
        ),
        (AIMessage(content=["x", {"type": "refusal"}]), ""),
        (AIMessage(content=[{"type": "text", "text": "x"}]), None),
        (AIMessage(content="", additional_kwargs={"refusal": "No."}), "No."),
        (AIMessage(content="", additional_kwargs={"refusal": None}), None),
        (AIMessage(content="", additional_kwargs={"refusal": ""}), None),
    ],
)
def test_refusal_is_read_from_block_or_field(message: AIMessage, refusal: str | None) -> None:
    assert refusal_of(message) == refusal


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({"finish_reason": "length"}, IncompleteReason.MAX_OUTPUT_TOKENS),
        ({"finish_reason": "content_filter"}, IncompleteReason.CONTENT_FILTER),
        ({"finish_reason": "stop"}, None),
        ({"finish_reason": 7}, None),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            IncompleteReason.MAX_OUTPUT_TOKENS,
        ),
        ({"status": "incomplete", "incomplete_details": None}, None),
        ({"status": "completed"}, None),
        ({}, None),
    ],
)
def test_early_stop_is_read_from_either_apis_metadata(
    metadata: dict[str, Any], reason: IncompleteReason | None
) -> None:
    assert incomplete_reason(AIMessage(content="", response_metadata=metadata)) == reason


def test_only_offered_functions_are_called() -> None:
    message = AIMessage(
        content="",
        tool_calls=[
            {"id": "1", "name": "f", "args": {"a": 1}},
            {"id": None, "name": "g", "args": {}},
            {"id": "3", "name": "private", "args": {}},
        ],
        invalid_tool_calls=[
            {"id": "4", "name": "f", "args": '{"a', "error": None},
            {"id": None, "name": "g", "args": None, "error": None},
            {"id": "6", "name": None, "args": "", "error": None},
        ],
    )

    assert list(tool_calls(message, frozenset("fg"), complete=True)) == [
        ToolCalled("1", "f", '{"a":1}'),
        ToolCalled("", "g", "{}"),
        ToolCalled("4", "f", '{"a', complete=False),
        ToolCalled("", "g", "", complete=False),
    ]


def calling(*calls: tuple[str | None, Any]) -> AIMessage:
    made = [{"id": call_id, "name": "f", "args": args} for call_id, args in calls]
    return AIMessage(content="", tool_calls=made)


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ({"a": "\ud800"}, '{"a":"\ud800"}'),
        ({"a": "\u5317"}, '{"a":"\u5317"}'),
        ({"a": 2**70}, '{"a":1180591620717411303424}'),
        ({"a": [None, True, 1.5]}, '{"a":[null,true,1.5]}'),
    ],
)
def test_arguments_are_json_text(args: Any, text: str) -> None:
    [call] = tool_calls(calling(("1", args)), frozenset("f"), complete=True)

    assert call.arguments == text


LOOP: dict[str, Any] = {}
LOOP["self"] = LOOP


@pytest.mark.parametrize(
    "args", [{"a": object()}, {"a": float("nan")}, {"a": float("-inf")}, {"a": {1}}, LOOP]
)
def test_arguments_that_are_no_json_fail_the_run(args: Any) -> None:
    message = calling(("1", {}))
    message.tool_calls[0]["args"] = args

    with pytest.raises(RunError, match="arguments of the call of 'f' are no JSON"):
        list(tool_calls(message, frozenset("f"), complete=True))
    assert list(tool_calls(message, frozenset("g"), complete=True)) == []


def test_call_id_is_emitted_once() -> None:
    with pytest.raises(RunError, match="call id '1' of function 'f' twice"):
        list(tool_calls(calling(("1", {}), ("1", {})), frozenset("f"), complete=True))

    assert (
        len(list(tool_calls(calling((None, {}), (None, {})), frozenset("f"), complete=True))) == 2
    )


def test_usage_is_summed_and_never_estimated() -> None:
    first: Any = {
        "input_tokens": 1,
        "output_tokens": 2,
        "total_tokens": 3,
        "input_token_details": {"cache_read": 1},
        "output_token_details": {"reasoning": 2},
    }
    second: Any = {
        "input_tokens": 10,
        "output_tokens": 20,
        "total_tokens": 30,
        "input_token_details": {"cache_read": None},
    }

    assert total_usage([first, second]) == Usage(11, 22, 33, 1, 2)
    assert total_usage([]) is None
