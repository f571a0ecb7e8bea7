"""`GraphConfig`: a compiled graph and what the server may do with it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.pregel import Pregel

from langgraph_openai_serve.errors import ConfigurationError
from langgraph_openai_serve.graph.request import GraphRequest
from langgraph_openai_serve.graph.settings import ClientSettings


class UnsupportedFields(StrEnum):
    """What happens to OpenAI request fields outside the subset."""

    REJECT = "Reject"
    """The request is refused, and the field is named."""
    IGNORE = "Ignore"
    """The field is left out, and named in the answer's headers and in a metric."""


Graph = Pregel[Any, Any, Any, Any]
GraphFactory = Callable[[], Graph]
RequestToInput = Callable[[GraphRequest, list[BaseMessage]], Any | Awaitable[Any]]
ContextFactory = Callable[[GraphRequest, Any], Any | Awaitable[Any]]
OutputToMessage = Callable[[Any], AIMessage | Awaitable[AIMessage]]


class GraphFeature(StrEnum):
    """Optional abilities of a graph; the values are the ones that model discovery shows."""

    BACKGROUND = "background"
    INTERRUPTS = "interrupts"
    CLIENT_EVENTS = "client_events"


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphConfig:
    """One graph to serve."""

    graph: Graph | GraphFactory
    """A compiled graph, or a function without parameters that returns one; called once, at registration."""
    description: str
    """`lgos.description` of the model: presentation text for people."""
    features: frozenset[GraphFeature] | set[GraphFeature] = frozenset()
    client_settings: type[ClientSettings] | None = None
    """Public settings that a request may change; without `context_factory` they are the graph's runtime context."""
    settings_overrides: Mapping[str, Any] = field(default_factory=dict)
    """Values that the deployment lays over the defaults of `client_settings`."""
    context_factory: ContextFactory | None = None
    """`(request, settings) -> context`, sync or async: the graph's LangGraph runtime context."""
    request_to_input: RequestToInput | None = None
    """`(request, messages) -> input`, sync or async; without it the input is `{"messages": messages}`."""
    output_to_message: OutputToMessage | None = None
    """`(output) -> AIMessage`, sync or async; without it the last message of the output's `messages`."""
    server_tools: frozenset[str] | set[str] = frozenset()
    """Names of tools that the graph executes itself and a request may select."""
    unsupported_fields: UnsupportedFields = UnsupportedFields.REJECT
    """What happens to OpenAI request fields outside the subset."""

    def compiled(self) -> Graph:
        """Return the compiled graph.

        Raises:
            ConfigurationError: `graph` is neither a compiled graph nor a function that returns one.
        """
        graph = self.graph if isinstance(self.graph, Pregel) else self._build()
        if not isinstance(graph, Pregel):
            msg = f"graph must be a compiled LangGraph graph, not {type(graph).__name__}; call .compile() on a StateGraph"
            raise ConfigurationError(msg)
        return graph

    def _build(self) -> Any:
        if not callable(self.graph):
            return self.graph
        return self.graph()
