"""A Responses body → `GraphRequest`.

Input items are replayed in order: messages become LangChain messages, neighbouring function calls one assistant message
with all of them, results tool messages. Each call needs exactly one result; that is checked before anything runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langgraph_openai_serve.errors import RequestError
from langgraph_openai_serve.graph.registry import GraphRegistry
from langgraph_openai_serve.graph.request import GraphRequest, NamedTool, ToolChoice
from langgraph_openai_serve.ports.observer import Api
from langgraph_openai_serve.protocols.codec import Caller
from langgraph_openai_serve.protocols.responses.exchange import ResponseExchange
from langgraph_openai_serve.protocols.tools import CallLedger, bindable, check_tools, replayed_call
from langgraph_openai_serve.wire import responses as wire
from langgraph_openai_serve.wire.errors import parse
from langgraph_openai_serve.wire.fields import Mode


def decode(raw: bytes, registry: GraphRegistry, caller: Caller) -> ResponseExchange:
    """Validate a body and return the exchange.

    Raises:
        RequestError: The body is outside the subset, the model is unknown, or calls and results do not match.
    """
    body = parse(wire.ResponseCreate, raw)
    model = registry.get(body.model)
    _check_unserved(body)
    tools = tuple(
        bindable(tool.name, tool.description, tool.parameters, strict=tool.strict)
        for tool in body.tools or ()
    )
    choice = _choice(body.tool_choice)
    check_tools((tool["function"]["name"] for tool in tools), choice)
    request = GraphRequest(
        model=body.model,
        api=Api.RESPONSES,
        messages=tuple(_messages(body)),
        tools=tools,
        tool_choice=choice,
        metadata=body.metadata or {},
        user=body.user,
        scope=caller.scope,
        request_id=caller.request_id,
    )
    return ResponseExchange(
        model=model, request=request, stream=bool(body.stream), wire=body, mint=caller.mint
    )


def _check_unserved(body: wire.ResponseCreate) -> None:
    if body.background:
        msg = "background is not available: this server has no background engine."
        raise RequestError(msg, param="background")
    if body.store:
        msg = "store must be false or left out: this server does not keep Responses."
        raise RequestError(msg, param="store")
    if body.previous_response_id is not None:
        msg = (
            "previous_response_id is not supported by this model; send the earlier items as input."
        )
        raise RequestError(msg, param="previous_response_id")


def _choice(choice: wire.NamedChoice | Mode | None) -> ToolChoice:
    if isinstance(choice, wire.NamedChoice):
        return NamedTool("function", choice.name)
    return choice or "auto"


def _messages(body: wire.ResponseCreate) -> list[BaseMessage]:
    decoded: list[BaseMessage] = []
    if body.instructions is not None:
        decoded.append(SystemMessage(content=body.instructions))
    if isinstance(body.input, str):
        decoded.append(HumanMessage(content=body.input))
    else:
        decoded += _items(body.input)
    return decoded


def _items(items: Sequence[wire.Item]) -> list[BaseMessage]:
    ledger = CallLedger()
    decoded: list[BaseMessage] = []
    calls: list[Any] = []
    for index, item in enumerate(items):
        param = f"input[{index}]"
        if isinstance(item, wire.FunctionCall):
            ledger.call(item.call_id, f"{param}.call_id")
            calls.append(
                replayed_call(item.call_id, item.name, item.arguments, f"{param}.arguments")
            )
            continue
        if calls:
            decoded.append(AIMessage(content="", tool_calls=calls))
            calls = []
        decoded.append(_item(item, param, ledger))
    ledger.close()
    return decoded


def _item(
    item: wire.InputMessage | wire.AssistantMessage | wire.FunctionCallOutput,
    param: str,
    ledger: CallLedger,
) -> BaseMessage:
    match item:
        case wire.FunctionCallOutput():
            ledger.result(item.call_id, f"{param}.call_id")
            return ToolMessage(content=item.output, tool_call_id=item.call_id)
        case wire.AssistantMessage():
            return AIMessage(content=_content(item.content, item.phase), id=item.id)
        case wire.InputMessage():
            kind = HumanMessage if item.role == "user" else SystemMessage
            return kind(content=_content(item.content, None))


def _content(content: Any, phase: str | None) -> Any:
    if isinstance(content, str):
        return content if phase is None else [{"type": "text", "text": content, "phase": phase}]
    blocks = [_block(part) for part in content]
    if phase is not None:
        for block in blocks:
            block["phase"] = phase
    return blocks


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
                block["annotations"] = part.annotations
            return block
        case wire.OutputRefusal():
            return {"type": "refusal", "refusal": part.refusal}
