"""Pieces of Chat Completions objects that bodies and chunks share."""

from __future__ import annotations

from typing import Any, Final

from langgraph_openai_serve.protocols.codec import Mint
from langgraph_openai_serve.run.events import (
    IncompleteReason,
    MessageCompleted,
    RunEnded,
    ToolCalled,
    Usage,
)
from langgraph_openai_serve.wire.errors import clean

_REASONS: Final = {
    IncompleteReason.MAX_OUTPUT_TOKENS: "length",
    IncompleteReason.CONTENT_FILTER: "content_filter",
}


def finish_reason(ended: RunEnded, *, has_calls: bool) -> str:
    """Return the choice's `finish_reason`; stopping early outranks calls, which may be cut."""
    if ended.incomplete is not None:
        return _REASONS[ended.incomplete]
    return "tool_calls" if has_calls else "stop"


def call_object(call: ToolCalled, mint: Mint) -> dict[str, Any]:
    """Return an assistant message's tool call."""
    function = {"name": call.name, "arguments": clean(call.arguments)}
    call_id = clean(call.call_id) or mint.new_id("call_")
    return {"id": call_id, "type": "function", "function": function}


def annotation_objects(message: MessageCompleted) -> list[dict[str, Any]]:
    """Return the `annotations` of a message."""
    return [
        {
            "type": "url_citation",
            "url_citation": {
                "url": clean(citation.url),
                "title": clean(citation.title),
                "start_index": citation.start,
                "end_index": citation.end,
            },
        }
        for citation in message.citations
    ]


def usage_object(usage: Usage) -> dict[str, Any]:
    """Return the `usage` object."""
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }
