"""`lgos check`: imports a graph and tells its facts in the words of a `GraphConfig`."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

from langgraph_openai_serve.cli.search_path import import_from, search_path
from langgraph_openai_serve.deploy.loader import LoadedGraph, load_graph
from langgraph_openai_serve.deploy.registry import with_checkpointer
from langgraph_openai_serve.errors import ConfigurationError
from langgraph_openai_serve.graph.registry import GraphRegistry, RegisteredModel
from langgraph_openai_serve.graph.resources import PlatformResources

NO_DESCRIPTION: Final = "none: set spec.description in the manifest"


def check(target: str, paths: Iterable[Path]) -> str:
    """Load a graph as a pod would, without running it.

    Args:
        target: `module:attribute`.
        paths: More folders to import from.

    Returns:
        The facts, for people.

    Raises:
        ConfigurationError: The graph cannot be served; one sentence says why.
    """
    import_from(search_path([], paths))
    return asyncio.run(_check(target))


async def _check(target: str) -> str:
    async with AsyncExitStack() as opened:
        platform = PlatformResources()
        loaded = await load_graph(target, opened, platform)
        config = with_checkpointer(loaded.config, platform)
        named = dataclasses.replace(config, description=config.description or NO_DESCRIPTION)
        registry = GraphRegistry(graphs={target: named})
        return "\n".join(_facts(target, loaded, registry.get(target)))


def _facts(target: str, loaded: LoadedGraph, model: RegisteredModel) -> list[str]:
    config = loaded.config
    kind = "a compiled graph" if loaded.is_bare else "a GraphConfig"
    rows = [
        ("description", model.config.description),
        ("features", ", ".join(sorted(model.features)) or "none"),
        ("input", _input(model)),
        ("output", "output_to_message" if config.output_to_message else "the last of messages"),
        ("streaming", "text as the graph's chat models produce it, else the whole answer at once"),
        ("server tools", ", ".join(sorted(config.server_tools)) or "none"),
        *_settings(model),
    ]
    return [
        f"{target} is {kind} that can be served.",
        *(f"  {name:<13}{text}" for name, text in rows),
    ]


def _input(model: RegisteredModel) -> str:
    if model.config.request_to_input is not None:
        return "request_to_input"
    if "messages" not in model.graph.channels:
        msg = (
            f"the state of '{model.id}' has no 'messages', which is what a graph gets by default;"
            " add them or give the GraphConfig a request_to_input"
        )
        raise ConfigurationError(msg)
    return '{"messages": [...]}'


def _settings(model: RegisteredModel) -> list[tuple[str, str]]:
    if model.settings is None:
        return [("settings", "none")]
    descriptor = model.settings.descriptor()
    fields: dict[str, Any] = descriptor["json_schema"].get("properties", {})
    rows: list[tuple[str, str]] = []
    for name, schema in fields.items():
        default = json.dumps(descriptor["defaults"].get(name), ensure_ascii=False)
        kind = schema.get("type", "any of its schema")
        rows.append(("" if rows else "settings", f"{name}: {kind} = {default}"))
    return rows or [("settings", "a class without fields")]
