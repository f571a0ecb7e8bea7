"""Loads the graph that a declaration names, whatever the attribute is, as a `GraphConfig`.

The attribute is a compiled graph, a `GraphConfig`, or a function that gives one of them: sync, async, or an async or sync
context manager. Its parameters are the platform's resources by name. What a context manager opens stays open until the
caller's stack closes.
"""

from __future__ import annotations

import dataclasses
import inspect
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack
from dataclasses import dataclass
from typing import Any

from langgraph.graph import StateGraph
from langgraph.pregel import Pregel

from langgraph_openai_serve.deploy.imports import described, load_attribute
from langgraph_openai_serve.errors import ConfigurationError
from langgraph_openai_serve.graph.config import GraphConfig
from langgraph_openai_serve.graph.resources import PlatformResources


@dataclass(frozen=True, slots=True)
class LoadedGraph:
    """A graph with its config, ready to be declared."""

    config: GraphConfig
    """Its `graph` is compiled."""
    is_bare: bool
    """Whether the attribute gave a graph without a config."""


async def load_graph(
    target: str, opened: AsyncExitStack, platform: PlatformResources | None = None
) -> LoadedGraph:
    """Load `module:attribute`.

    Args:
        target: The graph's name.
        opened: Takes what a context manager factory opens.
        platform: What factories with parameters get; left out, resources of this process.

    Raises:
        ConfigurationError: It cannot be had; one sentence says why and what to do.
    """
    platform = platform or PlatformResources()
    value = await _made(target, load_attribute(target), opened, platform)
    if isinstance(value, Pregel):
        return LoadedGraph(GraphConfig(graph=value, description=""), is_bare=True)
    if not isinstance(value, GraphConfig):
        raise ConfigurationError(_wrong_type(target, value))
    graph = await _made(f"{target}.graph", value.graph, opened, platform)
    if not isinstance(graph, Pregel):
        raise ConfigurationError(_wrong_type(f"{target}.graph", graph))
    return LoadedGraph(dataclasses.replace(value, graph=graph), is_bare=False)


def asks_for_resources(target: str) -> bool:
    """Return whether a graph's factory names a resource of the platform.

    Raises:
        ConfigurationError: The graph cannot be imported.
    """
    value = load_attribute(target)
    factories = [value, value.graph] if isinstance(value, GraphConfig) else [value]
    return any(
        _arguments(target, factory, PlatformResources())
        for factory in factories
        if callable(factory) and not isinstance(factory, Pregel | GraphConfig | type)
    )


async def _made(
    target: str, value: Any, opened: AsyncExitStack, platform: PlatformResources
) -> Any:
    """Return `value`, or what it gives when it is a factory."""
    if isinstance(value, Pregel | GraphConfig | type) or not callable(value):
        return value
    arguments = _arguments(target, value, platform)
    try:
        made = value(**arguments)
        if inspect.isawaitable(made):
            made = await made
        if isinstance(made, Pregel | GraphConfig):
            return made
        if isinstance(made, AbstractAsyncContextManager):
            return await opened.enter_async_context(made)
        if isinstance(made, AbstractContextManager):
            return opened.enter_context(made)
    except ConfigurationError as error:
        msg = f"the factory '{target}' cannot make a graph: {error.message}"
        raise ConfigurationError(msg) from error
    except Exception as error:
        msg = f"the factory '{target}' failed: {described(error)}"
        raise ConfigurationError(msg) from error
    return made


def _arguments(target: str, factory: Any, platform: PlatformResources) -> dict[str, Any]:
    """Return the resources that a factory's parameters name.

    Raises:
        ConfigurationError: It needs something else.
    """
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):  # a callable without a signature says by itself what it misses
        return {}
    arguments = {}
    for parameter in parameters:
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            continue
        try:
            arguments[parameter.name] = platform.named(parameter.name)
        except KeyError:
            if parameter.default is parameter.empty:
                raise ConfigurationError(_unknown_parameter(target, parameter.name)) from None
    return arguments


def _unknown_parameter(target: str, name: str) -> str:
    return (
        f"the factory '{target}' takes the parameter '{name}', which the platform does not have;"
        " it has checkpointer, store, coordinator and resources (all of them): take one of these"
        f" or give '{name}' a default"
    )


def _wrong_type(target: str, value: Any) -> str:
    if isinstance(value, StateGraph):
        return f"'{target}' is a StateGraph that is not compiled; add .compile()"
    if inspect.isasyncgen(value) or inspect.isgenerator(value):
        decorator = "asynccontextmanager" if inspect.isasyncgen(value) else "contextmanager"
        return f"'{target}' is a generator function; decorate it with @contextlib.{decorator}"
    kind = (
        f"the class {value.__name__}"
        if isinstance(value, type)
        else f"of type {type(value).__name__}"
    )
    return (
        f"'{target}' is {kind}; it must be a compiled LangGraph graph, a GraphConfig,"
        " or a function that returns one of them"
    )
