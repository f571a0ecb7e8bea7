"""`GraphRequest`: one request as a graph's adapters see it, the same for both protocols."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from langchain_core.messages import BaseMessage

from langgraph_openai_serve.ports.observer import Api


@dataclass(frozen=True, slots=True)
class NamedTool:
    """A `tool_choice` that names one tool."""

    type: Literal["function", "custom"]
    name: str


ToolChoice = Literal["none", "auto", "required"] | NamedTool


@dataclass(frozen=True, slots=True)
class GraphRequest:
    """A decoded request.

    `tools` are the caller's functions as LangChain's `bind_tools` takes them:
    `{"type": "function", "function": {"name": …, "description": …, "parameters": …}}`.
    """

    model: str
    api: Api
    messages: tuple[BaseMessage, ...]
    tools: tuple[dict[str, Any], ...] = ()
    tool_choice: ToolChoice = "auto"
    server_tools: frozenset[str] = frozenset()
    metadata: Mapping[str, str] = field(default_factory=dict)
    """The caller's metadata, unchanged."""
    user: str | None = None
    scope: str = "shared"
    """The server-trusted owner of the request."""
    request_id: str = ""

    @property
    def conversation_id(self) -> str | None:
        """The caller's correlation value `metadata.conversation_id`."""
        return self.metadata.get("conversation_id")

    @property
    def tool_names(self) -> frozenset[str]:
        """Names of the caller's functions."""
        return frozenset(tool["function"]["name"] for tool in self.tools)
