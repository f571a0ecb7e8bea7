"""A Responses body → `GraphRequest`. Whatever can be refused is refused here, before anything runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from langgraph_openai_serve.errors import RequestError
from langgraph_openai_serve.graph.config import GraphFeature, UnsupportedFields
from langgraph_openai_serve.graph.registry import GraphRegistry, RegisteredModel
from langgraph_openai_serve.graph.request import GraphRequest, NamedTool, ToolChoice
from langgraph_openai_serve.ports.observer import Api
from langgraph_openai_serve.protocols.codec import Caller
from langgraph_openai_serve.protocols.metadata import check_metadata
from langgraph_openai_serve.protocols.read import read
from langgraph_openai_serve.protocols.responses.exchange import ResponseExchange
from langgraph_openai_serve.protocols.responses.replay import replay
from langgraph_openai_serve.protocols.responses.resume import operation_of
from langgraph_openai_serve.protocols.tools import (
    OfferedTool,
    bindable,
    check_tools,
    name_of_the_graphs_own,
)
from langgraph_openai_serve.run.interrupts import Operation
from langgraph_openai_serve.run.server_tools import WEB_SEARCH
from langgraph_openai_serve.wire import responses as wire
from langgraph_openai_serve.wire.fields import Mode


def decode(raw: bytes, registry: GraphRegistry, caller: Caller) -> ResponseExchange:
    """Validate a body and return the exchange.

    Raises:
        RequestError: The body is outside the subset, the model is unknown, or calls and results do not match.
    """
    body, ignored = read(wire.ResponseCreate, raw, registry)
    model = registry.get(body.model)
    check_metadata(body.metadata or {})
    _check_keeping(body, model, caller)
    operation = operation_of(body, model, caller)
    tools, left_out = _available(
        body.tools or (),
        model.config.server_tools,
        ignoring=model.config.unsupported_fields is UnsupportedFields.IGNORE,
    )
    choice = _choice(body.tool_choice)
    check_tools(_offered(tools), choice)
    selected = frozenset(_name(tool) for tool in tools if not isinstance(tool, wire.FunctionTool))
    request = GraphRequest(
        model=body.model,
        api=Api.RESPONSES,
        messages=tuple(_messages(body, operation)),
        tools=_functions(tools),
        tool_choice=choice,
        server_tools=selected,
        metadata=body.metadata or {},
        user=body.user,
        scope=caller.scope,
        request_id=caller.request_id,
    )
    return ResponseExchange(
        model=model,
        request=request,
        stream=bool(body.stream),
        ignored=(*ignored, *left_out),
        wire=body,
        mint=caller.mint,
        operation=operation,
    )


def _check_keeping(body: wire.ResponseCreate, model: RegisteredModel, caller: Caller) -> None:
    """Refuse what only an engine could do where there is none, and what no engine does."""
    if not body.background:
        if body.store:
            msg = "store must be false or left out: only background Responses are kept."
            raise RequestError(msg, param="store")
        return
    if not caller.background:
        msg = "background is not available: this server has no background engine."
        raise RequestError(msg, param="background")
    if GraphFeature.BACKGROUND not in model.features:
        msg = f"Model '{model.id}' does not run in the background."
        raise RequestError(msg, param="background")
    if body.stream:
        msg = "stream is not available with background: poll the Response instead."
        raise RequestError(msg, param="stream")
    if body.store is False:
        msg = (
            "store must be true or left out with background: the Response is kept until it is read."
        )
        raise RequestError(msg, param="store")


def _available(
    tools: Sequence[wire.Tool], registered: Set[str], *, ignoring: bool
) -> tuple[list[wire.Tool], list[str]]:
    """Return the tools that the graph can offer, and the names of those that a lenient model leaves out.

    Raises:
        RequestError: A tool is not available, and the model is strict.
    """
    kept: list[wire.Tool] = []
    left_out: list[str] = []
    for index, tool in enumerate(tools):
        problem = _problem(tool, registered, f"tools[{index}]")
        if problem is None:
            kept.append(tool)
        elif ignoring and not isinstance(tool, wire.FunctionTool):
            left_out.append(f"tools[{index}]")
        else:
            raise problem
    return kept, left_out


def _problem(tool: wire.Tool, registered: Set[str], param: str) -> RequestError | None:
    match tool:
        case wire.FunctionTool() if tool.name in registered:
            return name_of_the_graphs_own(tool.name, f"{param}.name")
        case wire.CustomTool() if tool.name not in registered or tool.name == WEB_SEARCH:
            msg = f"Custom tool '{tool.name}' is not registered for this model."
            return RequestError(msg, param=f"{param}.name")
        case wire.WebSearchTool() if WEB_SEARCH not in registered:
            msg = "web_search is not available for this model."
            return RequestError(msg, param=f"{param}.type")
        case _:
            return None


def _functions(tools: Sequence[wire.Tool]) -> tuple[dict[str, Any], ...]:
    return tuple(
        bindable(tool.name, tool.description, tool.parameters, strict=tool.strict)
        for tool in tools
        if isinstance(tool, wire.FunctionTool)
    )


def _offered(tools: Sequence[wire.Tool]) -> Iterator[OfferedTool]:
    for index, tool in enumerate(tools):
        field = "type" if isinstance(tool, wire.WebSearchTool) else "name"
        yield OfferedTool(tool.type, _name(tool), f"tools[{index}].{field}")


def _name(tool: wire.Tool) -> str:
    return WEB_SEARCH if isinstance(tool, wire.WebSearchTool) else tool.name


def _choice(choice: wire.NamedChoice | Mode | None) -> ToolChoice:
    if isinstance(choice, wire.NamedChoice):
        return NamedTool(choice.type, choice.name)
    return choice or "auto"


def _messages(body: wire.ResponseCreate, operation: Operation | None) -> list[BaseMessage]:
    decoded: list[BaseMessage] = []
    if body.instructions is not None:
        decoded.append(SystemMessage(content=body.instructions))
    if operation is not None and operation.answers:
        return decoded  # the answers go to the interrupts that wait for them
    if isinstance(body.input, str):
        decoded.append(HumanMessage(content=body.input))
    else:
        decoded += replay(body.input)
    return decoded
