"""A Chat Completions body → `GraphRequest`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import Any, assert_never

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langgraph_openai_serve.errors import RequestError
from langgraph_openai_serve.graph.config import GraphFeature
from langgraph_openai_serve.graph.registry import GraphRegistry
from langgraph_openai_serve.graph.request import GraphRequest, NamedTool, ToolChoice
from langgraph_openai_serve.ports.observer import Api
from langgraph_openai_serve.protocols.chat.exchange import ChatExchange
from langgraph_openai_serve.protocols.codec import Caller
from langgraph_openai_serve.protocols.metadata import check_metadata
from langgraph_openai_serve.protocols.read import read
from langgraph_openai_serve.protocols.tools import (
    CallLedger,
    OfferedTool,
    bindable,
    check_tools,
    name_of_the_graphs_own,
    replayed_call,
)
from langgraph_openai_serve.wire import chat as wire
from langgraph_openai_serve.wire.fields import Mode


def decode(raw: bytes, registry: GraphRegistry, caller: Caller) -> ChatExchange:
    """Validate a body and return the exchange.

    Raises:
        RequestError: The body is outside the subset, the model is unknown, or calls and results do not match.
    """
    body, ignored = read(wire.ChatCompletionCreate, raw, registry)
    model = registry.get(body.model)
    check_metadata(body.metadata or {})
    if GraphFeature.INTERRUPTS in model.features:
        msg = f"Model '{model.id}' can pause for answers; use the Responses API for it."
        raise RequestError(msg, param="model")
    if body.stream_options is not None and not body.stream:
        msg = "stream_options is only allowed with stream: true."
        raise RequestError(msg, param="stream_options")
    tools = tuple(
        bindable(
            t.function.name, t.function.description, t.function.parameters, strict=t.function.strict
        )
        for t in body.tools or ()
    )
    choice = _choice(body.tool_choice)
    check_tools(_offered(body.tools or (), model.config.server_tools), choice)
    request = GraphRequest(
        model=body.model,
        api=Api.CHAT_COMPLETIONS,
        messages=tuple(_messages(body.messages)),
        tools=tools,
        tool_choice=choice,
        metadata=body.metadata or {},
        user=body.user,
        scope=caller.scope,
        request_id=caller.request_id,
    )
    include_usage = bool(body.stream_options and body.stream_options.include_usage)
    return ChatExchange(
        model=model,
        request=request,
        stream=bool(body.stream),
        ignored=ignored,
        include_usage=include_usage,
        mint=caller.mint,
    )


def _offered(tools: Sequence[wire.FunctionTool], registered: Set[str]) -> Iterator[OfferedTool]:
    for index, tool in enumerate(tools):
        param = f"tools[{index}].function.name"
        if tool.function.name in registered:
            raise name_of_the_graphs_own(tool.function.name, param)
        yield OfferedTool(tool.type, tool.function.name, param)


def _choice(choice: wire.NamedChoice | Mode | None) -> ToolChoice:
    if isinstance(choice, wire.NamedChoice):
        return NamedTool("function", choice.function.name)
    return choice or "auto"


def _messages(messages: list[wire.Message]) -> list[BaseMessage]:
    ledger = CallLedger()
    decoded = [
        _message(message, f"messages[{index}]", ledger) for index, message in enumerate(messages)
    ]
    ledger.close()
    return decoded


def _message(message: wire.Message, param: str, ledger: CallLedger) -> BaseMessage:
    match message:
        case wire.InstructionMessage():
            return SystemMessage(content=_content(message.content), name=message.name)
        case wire.UserMessage():
            return HumanMessage(content=_content(message.content), name=message.name)
        case wire.ToolMessage():
            ledger.result(message.tool_call_id, f"{param}.tool_call_id")
            return ToolMessage(content=_content(message.content), tool_call_id=message.tool_call_id)
        case wire.AssistantMessage():
            return _assistant(message, param, ledger)
        case _:
            assert_never(message)


def _assistant(message: wire.AssistantMessage, param: str, ledger: CallLedger) -> AIMessage:
    if message.content is None and not message.tool_calls and message.refusal is None:
        msg = "An assistant message needs content, tool_calls or a refusal."
        raise RequestError(msg, param=f"{param}.content")
    calls = []
    for index, call in enumerate(message.tool_calls or ()):
        place = f"{param}.tool_calls[{index}]"
        ledger.call(call.id, f"{place}.id")
        calls.append(
            replayed_call(
                call.id, call.function.name, call.function.arguments, f"{place}.function.arguments"
            )
        )
    content = _content(message.content or "")
    if message.refusal is not None:
        blocks: list[Any] = (
            content
            if isinstance(content, list)
            else [{"type": "text", "text": content}]
            if content
            else []
        )
        content = [*blocks, {"type": "refusal", "refusal": message.refusal}]
    return AIMessage(content=content, tool_calls=calls, name=message.name)


def _content(content: Any) -> Any:
    if isinstance(content, str):
        return content
    return [_block(part) for part in content]


def _block(part: wire.TextPart | wire.RefusalPart | wire.FilePart) -> dict[str, Any]:
    match part:
        case wire.TextPart():
            return {"type": "text", "text": part.text}
        case wire.RefusalPart():
            return {"type": "refusal", "refusal": part.refusal}
        case wire.FilePart():
            return {"type": "file", "file_id": part.file.file_id}
        case _:
            assert_never(part)
