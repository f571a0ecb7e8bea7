"""Reads text, refusal, tool calls, finish reason and usage off LangChain messages."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata

from langgraph_openai_serve.errors import RunError
from langgraph_openai_serve.run.events import IncompleteReason, ToolCalled, Usage

_INCOMPLETE: Final = {
    "length": IncompleteReason.MAX_OUTPUT_TOKENS,
    "max_output_tokens": IncompleteReason.MAX_OUTPUT_TOKENS,
    "content_filter": IncompleteReason.CONTENT_FILTER,
}


def last_message(output: Any) -> AIMessage:
    """Return the assistant message of a graph's output: the last one of its `messages`.

    Raises:
        RunError: The output has none.
    """
    messages = (
        output.get("messages") if isinstance(output, dict) else getattr(output, "messages", output)
    )
    if isinstance(messages, list | tuple) and messages:
        messages = messages[-1]
    if not isinstance(messages, AIMessage):
        msg = "the graph's output has no assistant message; give GraphConfig an output_to_message"
        raise RunError(msg)
    return messages


def text_of(message: BaseMessage) -> str:
    """Return the text of a message or a chunk, without its other content blocks."""
    content = message.content
    return content if type(content) is str else str(message.text)


def refusal_of(message: AIMessage) -> str | None:
    """Return the model's refusal, from a content block or from the OpenAI Chat provider's field."""
    if isinstance(message.content, list):
        for block in message.content:
            if isinstance(block, dict) and block.get("type") == "refusal":
                return str(block.get("refusal") or "")
    refusal = message.additional_kwargs.get("refusal")
    return refusal if isinstance(refusal, str) and refusal else None


def incomplete_reason(message: AIMessage) -> IncompleteReason | None:
    """Return why the message stopped early, from Chat or Responses metadata; `None` when it did not."""
    metadata = message.response_metadata
    reason = metadata.get("finish_reason")
    if reason is None and metadata.get("status") == "incomplete":
        reason = (metadata.get("incomplete_details") or {}).get("reason")
    return _INCOMPLETE.get(reason) if isinstance(reason, str) else None


def tool_calls(
    message: AIMessage, offered: frozenset[str], *, complete: bool
) -> Iterable[ToolCalled]:
    """Yield the calls of functions that the caller offered; calls of other tools are the graph's own business.

    Raises:
        RunError: Two calls have one id, or arguments are nothing that JSON has.
    """
    seen: set[str] = set()
    for call in _calls(message, offered, complete=complete):
        if call.call_id in seen:
            msg = f"the graph emitted the call id '{call.call_id}' of function '{call.name}' twice"
            raise RunError(msg)
        if call.call_id:
            seen.add(call.call_id)
        yield call


def _calls(message: AIMessage, offered: frozenset[str], *, complete: bool) -> Iterable[ToolCalled]:
    for call in message.tool_calls:
        name = call["name"]
        if name in offered:
            yield ToolCalled(call["id"] or "", name, arguments_text(name, call["args"]), complete)
    for broken in message.invalid_tool_calls:
        name = broken["name"] or ""
        if name in offered:
            yield ToolCalled(broken["id"] or "", name, broken["args"] or "", complete=False)


def arguments_text(name: str, args: dict[str, Any]) -> str:
    """Return the arguments of a call as JSON text; lone surrogates are left to the one who writes it.

    Raises:
        RunError: They hold what JSON does not have.
    """
    try:
        return json.dumps(args, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        msg = f"the arguments of the call of '{name}' are no JSON: {error}"
        raise RunError(msg) from error


def total_usage(reports: Iterable[UsageMetadata]) -> Usage | None:
    """Return the sum of the models' usage reports; `None` when there is none."""
    tokens = [0, 0, 0, 0, 0]
    reported = False
    for report in reports:
        reported = True
        tokens[0] += report["input_tokens"]
        tokens[1] += report["output_tokens"]
        tokens[2] += report["total_tokens"]
        tokens[3] += report.get("input_token_details", {}).get("cache_read") or 0
        tokens[4] += report.get("output_token_details", {}).get("reasoning") or 0
    return Usage(*tokens) if reported else None
