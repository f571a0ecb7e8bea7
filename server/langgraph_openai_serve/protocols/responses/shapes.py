"""The Response object and its items.

Source: OpenAI API reference, "The response object", and the Open Responses schema, which requires more keys; a key that
LGOS has nothing to say about carries OpenAI's default.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from langgraph_openai_serve.errors import LgosError, RequestError
from langgraph_openai_serve.protocols.codec import dump_json
from langgraph_openai_serve.protocols.responses.resume import INTERRUPT_TOOL, call_id
from langgraph_openai_serve.run.events import (
    Interrupted,
    MessageCompleted,
    ServerToolCalled,
    ServerToolReturned,
    ToolCalled,
    Usage,
)
from langgraph_openai_serve.wire.errors import clean, public_message
from langgraph_openai_serve.wire.fields import Mode
from langgraph_openai_serve.wire.responses import (
    CustomTool,
    NamedChoice,
    ResponseCreate,
    Tool,
    WebSearchTool,
)

Status = Literal["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"]
Phase = Literal["commentary", "final_answer"]


class ResponseFrame:
    """Everything of a Response object that does not change while it is made."""

    def __init__(self, response_id: str, created: int, model: str, request: ResponseCreate) -> None:
        self.id = response_id
        self._head = {
            "id": response_id,
            "object": "response",
            "created_at": created,
            "background": bool(request.background),
            "instructions": request.instructions,
            "max_output_tokens": None,
            "max_tool_calls": None,
            "metadata": request.metadata or {},
            "model": model,
            "parallel_tool_calls": True,
            "previous_response_id": request.previous_response_id,
            "prompt_cache_key": None,
            "reasoning": None,
            "safety_identifier": None,
            "service_tier": "default",
            "store": bool(request.background),
            "temperature": 1.0,
            "text": {"format": {"type": "text"}},
            "tool_choice": _choice(request.tool_choice),
            "tools": [_tool(tool) for tool in request.tools or ()],
            "top_logprobs": 0,
            "top_p": 1.0,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
            "truncation": "disabled",
        }
        if request.user is not None:
            self._head["user"] = request.user

    def render(
        self,
        status: Status,
        output: list[dict[str, Any]],
        *,
        completed_at: int | None = None,
        usage: Usage | None = None,
        incomplete: str | None = None,
        error: LgosError | None = None,
    ) -> dict[str, Any]:
        """Return the Response object in one of its states."""
        return {
            **self._head,
            "status": status,
            "completed_at": completed_at,
            "error": None
            if error is None
            else {"code": _error_code(error), "message": public_message(error)},
            "incomplete_details": None if incomplete is None else {"reason": incomplete},
            "output": output,
            "usage": None if usage is None else _usage(usage),
        }


def text_part(text: str, annotations: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """Return an `output_text` part."""
    return {"type": "output_text", "text": text, "annotations": [*annotations], "logprobs": []}


def annotations_of(message: MessageCompleted) -> list[dict[str, Any]]:
    """Return the `url_citation`s of a message."""
    return [
        {
            "type": "url_citation",
            "url": clean(citation.url),
            "title": clean(citation.title),
            "start_index": citation.start,
            "end_index": citation.end,
        }
        for citation in message.citations
    ]


def refusal_part(refusal: str) -> dict[str, Any]:
    """Return a `refusal` part."""
    return {"type": "refusal", "refusal": refusal}


def message_item(
    item_id: str, status: str, content: list[dict[str, Any]], phase: Phase
) -> dict[str, Any]:
    """Return an assistant message item."""
    return {
        "id": item_id,
        "type": "message",
        "role": "assistant",
        "status": status,
        "phase": phase,
        "content": content,
    }


def message_content(message: MessageCompleted) -> list[dict[str, Any]]:
    """Return the parts of a finished message: its text, then its refusal; never none at all."""
    parts = []
    if message.text or message.refusal is None:
        parts.append(text_part(clean(message.text), annotations_of(message)))
    if message.refusal is not None:
        parts.append(refusal_part(clean(message.refusal)))
    return parts


def call_item(item_id: str, call: ToolCalled, call_id: str) -> dict[str, Any]:
    """Return a function call item."""
    return {
        "id": item_id,
        "type": "function_call",
        "status": "completed" if call.complete else "incomplete",
        "call_id": clean(call_id),
        "name": call.name,
        "arguments": clean(call.arguments),
    }


def interrupt_item(item_id: str, interrupt: Interrupted, shown_by: str) -> dict[str, Any]:
    """Return an interrupt as the function call that asks for its answer.

    Args:
        item_id: Id of the item.
        interrupt: What the run waits for.
        shown_by: Id of the Response that has the item.
    """
    return {
        "id": item_id,
        "type": "function_call",
        "status": "completed",
        "call_id": call_id(shown_by, interrupt.state, interrupt.interrupt_id),
        "name": INTERRUPT_TOOL,
        "arguments": clean(interrupt.payload),
    }


def custom_call_item(item_id: str, call: ServerToolCalled) -> dict[str, Any]:
    """Return the call of a registered custom tool."""
    return {
        "id": item_id,
        "type": "custom_tool_call",
        "call_id": clean(call.call_id),
        "name": call.name,
        "input": clean(call.input),
    }


def custom_output_item(item_id: str, result: ServerToolReturned) -> dict[str, Any]:
    """Return the result of a registered custom tool."""
    return {
        "id": item_id,
        "type": "custom_tool_call_output",
        "status": "completed",
        "call_id": clean(result.call_id),
        "output": clean(result.output),
    }


def search_item(item_id: str, status: str, call: ServerToolCalled) -> dict[str, Any]:
    """Return a web search; what it found stays private."""
    query = clean(call.input)
    action = {"type": "search", "query": query, "queries": [query]}
    return {"id": item_id, "type": "web_search_call", "status": status, "action": action}


def _error_code(error: LgosError) -> str:
    """Return one of the codes that OpenAI's schema has for a Response's error."""
    return "invalid_prompt" if isinstance(error, RequestError) else "server_error"


def _choice(choice: NamedChoice | Mode | None) -> Any:
    return (
        {"type": choice.type, "name": choice.name}
        if isinstance(choice, NamedChoice)
        else choice or "auto"
    )


def _tool(tool: Tool) -> dict[str, Any]:
    if isinstance(tool, CustomTool):
        return {"type": "custom", "name": tool.name}
    if isinstance(tool, WebSearchTool):
        return {"type": "web_search"}
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": None if tool.parameters is None else dump_json(tool.parameters),
        "strict": tool.strict,
    }


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }
