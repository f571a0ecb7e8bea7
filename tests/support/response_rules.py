"""What the Open Responses schema asks of a Response object beyond the types of the `openai` package.

The package's types take floats for timestamps and null for whatever is optional. The schema says which keys have to be
there, which of them may be null, and where a number is a whole one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

WHOLE = {"created_at", "top_logprobs"}
NUMBER = {"temperature", "top_p", "presence_penalty", "frequency_penalty"}
TEXT = {"id", "object", "model", "status", "service_tier", "truncation"}
YES_OR_NO = {"parallel_tool_calls", "store", "background"}
OBJECT = {"text", "metadata"}
LIST = {"output", "tools"}
NULLABLE = {
    "completed_at", "error", "incomplete_details", "instructions", "max_output_tokens", "max_tool_calls",
    "previous_response_id", "prompt_cache_key", "reasoning", "safety_identifier", "usage",
}  # fmt: skip
KEYS = WHOLE | NUMBER | TEXT | YES_OR_NO | OBJECT | LIST | NULLABLE | {"tool_choice"}
ITEMS = {
    "message": {"id", "type", "status", "role", "content"},
    "function_call": {"id", "type", "status", "call_id", "name", "arguments"},
    "custom_tool_call": {"id", "type", "call_id", "name", "input"},
    "custom_tool_call_output": {"id", "type", "call_id", "output"},
    "web_search_call": {"id", "type", "status", "action"},
}
PARTS = {
    "output_text": {"type", "text", "annotations", "logprobs"},
    "refusal": {"type", "refusal"},
}
CITATION = {"type", "url", "title", "start_index", "end_index"}
USAGE = {
    "input_tokens", "input_tokens_details", "output_tokens", "output_tokens_details", "total_tokens",
}  # fmt: skip
KINDS = [
    (WHOLE, int),
    (NUMBER, float),
    (TEXT, str),
    (YES_OR_NO, bool),
    (OBJECT, dict),
    (LIST, list),
]


def broken(response: dict[str, Any]) -> list[str]:
    """Return a sentence for each rule that a Response object breaks."""
    found = [f"{key} is missing" for key in sorted(KEYS - response.keys())]
    for keys, kind in KINDS:
        found += [
            f"{key} is {response[key]!r}"
            for key in sorted(keys & response.keys())
            if not _is(response[key], kind)
        ]
    if not _is(response.get("completed_at"), int, None):
        found.append("completed_at is no whole number")
    if response.get("status") == "completed" and response.get("completed_at") is None:
        found.append("completed without completed_at")
    found += [f"null at {place}" for place in _nulls(response.get("output"), "output")]
    for item in response.get("output", ()):
        found += _item(item)
    if response.get("usage") is not None:
        found += _usage(response["usage"])
    return found


def _item(item: dict[str, Any]) -> Iterator[str]:
    kind = item.get("type", "")
    if kind not in ITEMS:
        yield f"no such item: {kind}"
        return
    yield from (f"{kind} without {key}" for key in sorted(ITEMS[kind] - item.keys()))
    for part in item.get("content", ()):
        yield from (
            f"{part['type']} without {key}" for key in sorted(PARTS[part["type"]] - part.keys())
        )
        for citation in part.get("annotations", ()):
            yield from (f"citation without {key}" for key in sorted(CITATION - citation.keys()))


def _usage(usage: dict[str, Any]) -> Iterator[str]:
    yield from (f"usage without {key}" for key in sorted(USAGE - usage.keys()))
    if not _is(usage.get("input_tokens_details", {}).get("cached_tokens"), int):
        yield "usage without cached_tokens"
    if not _is(usage.get("output_tokens_details", {}).get("reasoning_tokens"), int):
        yield "usage without reasoning_tokens"


def _nulls(value: Any, place: str) -> Iterator[str]:
    if value is None:
        yield place
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _nulls(each, f"{place}.{key}")
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _nulls(each, f"{place}[{number}]")


def _is(value: Any, *kinds: type | None) -> bool:
    """Whether the JSON value has one of the kinds; a bool is no number, and a whole number is a number."""
    if value is None or isinstance(value, bool):
        return (None if value is None else bool) in kinds
    return any(
        isinstance(value, (int, float) if kind is float else kind)
        for kind in kinds
        if kind is not None and kind is not bool
    )
