"""Rules for tools and for replayed tool calls that both protocols share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import ToolCall as LangChainToolCall
from pydantic_core import from_json

from langgraph_openai_serve.errors import RequestError
from langgraph_openai_serve.graph.request import NamedTool, ToolChoice


def bindable(
    name: str, description: str | None, parameters: dict[str, Any] | None, *, strict: bool | None
) -> dict[str, Any]:
    """Return a function tool as LangChain's `bind_tools` takes it."""
    function: dict[str, Any] = {
        "name": name,
        "parameters": parameters or {"type": "object", "properties": {}},
    }
    if description is not None:
        function["description"] = description
    if strict is not None:
        function["strict"] = strict
    return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool of a request: its type and name, and the request's field that holds the name."""

    type: str
    name: str
    param: str


def check_tools(tools: Iterable[OfferedTool], choice: ToolChoice) -> None:
    """Refuse repeated tool names and a choice that is not offered; a choice has the type of its tool.

    Raises:
        RequestError: With the param of the second tool, or `tool_choice`.
    """
    types: dict[str, str] = {}
    for tool in tools:
        if tool.name in types:
            msg = f"Tool '{tool.name}' is declared twice."
            raise RequestError(msg, param=tool.param)
        types[tool.name] = tool.type
    if isinstance(choice, NamedTool) and types.get(choice.name) != choice.type:
        msg = f"tool_choice names the {choice.type} '{choice.name}', which is not in tools."
        raise RequestError(msg, param="tool_choice")


def name_of_the_graphs_own(name: str, param: str) -> RequestError:
    """Return the refusal of a function that is named like a tool that the graph executes."""
    msg = f"Function '{name}' has the name of a tool that the graph executes itself."
    return RequestError(msg, param=param)


def replayed_call(call_id: str, name: str, arguments: str, param: str) -> LangChainToolCall:
    """Return a replayed function call for LangChain.

    Raises:
        RequestError: The arguments are no JSON object.
    """
    try:
        parsed = from_json(arguments, allow_inf_nan=False)
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        msg = f"The arguments of function call '{call_id[:80]}' are not a JSON object."
        raise RequestError(msg, param=param)
    return LangChainToolCall(name=name, args=parsed, id=call_id, type="tool_call")


class CallLedger:
    """Checks that each replayed call has exactly one result, and each result its call.

    Args:
        kind: What the calls are, for messages.
    """

    def __init__(self, kind: str = "tool_call") -> None:
        self._kind = kind
        self._calls: dict[str, str] = {}
        self._answered: set[str] = set()

    def call(self, call_id: str, param: str) -> None:
        """Note a call.

        Raises:
            RequestError: The id was used before.
        """
        if call_id in self._calls:
            msg = f"{self._kind} '{call_id[:80]}' appears twice."
            raise RequestError(msg, param=param)
        self._calls[call_id] = param

    def result(self, call_id: str, param: str) -> None:
        """Note a result.

        Raises:
            RequestError: It has no call before it, or is the second one.
        """
        if call_id not in self._calls:
            msg = f"No {self._kind} found for the result with call id '{call_id[:80]}'."
            raise RequestError(msg, param=param)
        if call_id in self._answered:
            msg = f"{self._kind} '{call_id[:80]}' has two results."
            raise RequestError(msg, param=param)
        self._answered.add(call_id)

    def close(self) -> None:
        """Check that nothing is left open.

        Raises:
            RequestError: A call has no result.
        """
        for call_id, param in self._calls.items():
            if call_id not in self._answered:
                msg = f"No result found for {self._kind} '{call_id[:80]}'."
                raise RequestError(msg, param=param)
