"""Replayed input items → LangChain messages.

Items are replayed in order: messages become LangChain messages, neighbouring calls one assistant message with all of
them, results tool messages. What a model adapter needs to send an item on again is kept in the content blocks: message
id, phase, citations, refusals, and searches as they are. Each call needs exactly one result of its own type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langgraph_openai_serve.protocols.tools import CallLedger, replayed_call
from langgraph_openai_serve.run.server_tools import CUSTOM_ARGUMENT
from langgraph_openai_serve.wire import responses as wire


def replay(items: Sequence[wire.Item]) -> list[BaseMessage]:
    """Return the messages of an item list.

    Raises:
        RequestError: A call or result has no counterpart, has two, or one of another type.
    """
    functions, customs = CallLedger("function_call"), CallLedger("custom_tool_call")
    decoded: list[BaseMessage] = []
    pending = _Calls()
    for index, item in enumerate(items):
        param = f"input[{index}]"
        match item:
            case wire.FunctionCall():
                functions.call(item.call_id, f"{param}.call_id")
                pending.function(item, f"{param}.arguments")
            case wire.CustomToolCall():
                customs.call(item.call_id, f"{param}.call_id")
                pending.custom(item)
            case wire.WebSearchCall():
                pending.search(item)
            case _:
                pending.flush(decoded)
                decoded.append(_message(item, param, functions, customs))
    pending.flush(decoded)
    functions.close()
    customs.close()
    return decoded


class _Calls:
    """Neighbouring calls, which are one assistant message."""

    def __init__(self) -> None:
        self._blocks: list[Any] = []
        self._calls: list[Any] = []

    def function(self, item: wire.FunctionCall, param: str) -> None:
        self._calls.append(replayed_call(item.call_id, item.name, item.arguments, param))

    def custom(self, item: wire.CustomToolCall) -> None:
        call = {"name": item.name, "args": {CUSTOM_ARGUMENT: item.input}, "id": item.call_id}
        self._calls.append({**call, "type": "tool_call"})
        block = {"type": "custom_tool_call", "call_id": item.call_id, "name": item.name}
        self._blocks.append({**block, "input": item.input, **_known(id=item.id)})

    def search(self, item: wire.WebSearchCall) -> None:
        action = item.action.model_dump(exclude_none=True)
        block = {"type": "web_search_call", "action": action}
        self._blocks.append({**block, **_known(id=item.id, status=item.status)})

    def flush(self, decoded: list[BaseMessage]) -> None:
        if self._calls or self._blocks:
            decoded.append(AIMessage(content=self._blocks or "", tool_calls=self._calls))
            self._blocks, self._calls = [], []


def _message(
    item: wire.InputMessage
    | wire.AssistantMessage
    | wire.FunctionCallOutput
    | wire.CustomToolCallOutput,
    param: str,
    functions: CallLedger,
    customs: CallLedger,
) -> BaseMessage:
    match item:
        case wire.FunctionCallOutput():
            functions.result(item.call_id, f"{param}.call_id")
            return ToolMessage(content=item.output, tool_call_id=item.call_id)
        case wire.CustomToolCallOutput():
            customs.result(item.call_id, f"{param}.call_id")
            kind = {"type": "custom_tool_call_output"}
            return ToolMessage(
                content=item.output, tool_call_id=item.call_id, additional_kwargs=kind
            )
        case wire.AssistantMessage():
            marks = _known(id=item.id, phase=item.phase)
            return AIMessage(content=content_of(item.content, marks), id=item.id)
        case wire.InputMessage():
            message = HumanMessage if item.role == "user" else SystemMessage
            return message(content=content_of(item.content, {}))
        case _:
            assert_never(item)


def content_of(content: Any, marks: dict[str, Any]) -> Any:
    """Return LangChain content; plain text without marks stays a string."""
    if isinstance(content, str):
        return [{"type": "text", "text": content, **marks}] if marks else content
    return [{**_block(part), **marks} for part in content]


def _block(
    part: wire.InputText | wire.InputFile | wire.OutputText | wire.OutputRefusal,
) -> dict[str, Any]:
    match part:
        case wire.InputText():
            return {"type": "text", "text": part.text}
        case wire.InputFile():
            return {"type": "file", "file_id": part.file_id}
        case wire.OutputText():
            block: dict[str, Any] = {"type": "text", "text": part.text}
            if part.annotations:
                block["annotations"] = [_annotation(annotation) for annotation in part.annotations]
            return block
        case wire.OutputRefusal():
            return {"type": "refusal", "refusal": part.refusal}
        case _:
            assert_never(part)


def _annotation(annotation: dict[str, Any]) -> dict[str, Any]:
    if annotation.get("type") == "url_citation":
        return {**annotation, "type": "citation"}
    return annotation


def _known(**values: str | None) -> dict[str, str]:
    return {key: value for key, value in values.items() if value is not None}
