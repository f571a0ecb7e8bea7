"""A Responses body → `GraphRequest`. Whatever can be refused is refused here, before anything runs."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from langgraph_openai_serve.errors import RequestError
from langgraph_openai_serve.graph.registry import GraphRegistry
from langgraph_openai_serve.graph.request import GraphRequest, NamedTool, ToolChoice
from langgraph_openai_serve.ports.observer import Api
from langgraph_openai_serve.protocols.codec import Caller
from langgraph_openai_serve.protocols.responses.exchange import ResponseExchange
from langgraph_openai_serve.protocols.responses.replay import replay
from langgraph_openai_serve.protocols.tools import bindable, check_tools
from langgraph_openai_serve.run.server_tools import WEB_SEARCH
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
    functions, selected = _tools(body.tools or (), model.config.server_tools)
    choice = _choice(body.tool_choice)
    names = [getattr(tool, "name", WEB_SEARCH) for tool in body.tools or ()]
    check_tools(names, choice)
    request = GraphRequest(
        model=body.model,
        api=Api.RESPONSES,
        messages=tuple(_messages(body)),
        tools=functions,
        tool_choice=choice,
        server_tools=selected,
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


def _tools(
    tools: Sequence[wire.Tool], registered: Set[str]
) -> tuple[tuple[dict[str, Any], ...], frozenset[str]]:
    """Return the caller's functions and the names of the selected server tools."""
    functions: list[dict[str, Any]] = []
    selected: set[str] = set()
    for index, tool in enumerate(tools):
        match tool:
            case wire.FunctionTool() if tool.name in registered:
                msg = (
                    f"Function '{tool.name}' has the name of a tool that the graph executes itself."
                )
                raise RequestError(msg, param=f"tools[{index}].name")
            case wire.FunctionTool():
                functions.append(
                    bindable(tool.name, tool.description, tool.parameters, strict=tool.strict)
                )
            case wire.CustomTool() if tool.name not in registered or tool.name == WEB_SEARCH:
                msg = f"Custom tool '{tool.name}' is not registered for this model."
                raise RequestError(msg, param=f"tools[{index}].name")
            case wire.CustomTool():
                selected.add(tool.name)
            case wire.WebSearchTool() if WEB_SEARCH not in registered:
                msg = "web_search is not available for this model."
                raise RequestError(msg, param=f"tools[{index}].type")
            case wire.WebSearchTool():
                selected.add(WEB_SEARCH)
    return tuple(functions), frozenset(selected)


def _choice(choice: wire.NamedChoice | Mode | None) -> ToolChoice:
    if isinstance(choice, wire.NamedChoice):
        return NamedTool(choice.type, choice.name)
    return choice or "auto"


def _messages(body: wire.ResponseCreate) -> list[BaseMessage]:
    decoded: list[BaseMessage] = []
    if body.instructions is not None:
        decoded.append(SystemMessage(content=body.instructions))
    if isinstance(body.input, str):
        decoded.append(HumanMessage(content=body.input))
    else:
        decoded += replay(body.input)
    return decoded
