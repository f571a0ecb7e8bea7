"""Declarations to a `GraphRegistry`, and the mounted registry entry to a declaration."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from langgraph_openai_serve.deploy.declaration import Declaration
from langgraph_openai_serve.deploy.loader import load_graph
from langgraph_openai_serve.errors import ConfigurationError
from langgraph_openai_serve.graph.config import GraphConfig, GraphFeature
from langgraph_openai_serve.graph.registry import GraphRegistry
from langgraph_openai_serve.graph.resources import PlatformResources
from langgraph_openai_serve.ports.observer import RunObserver
from lgos_contract.registry import RegistryEntry, load_entry, registry_key

logger = logging.getLogger(__name__)

POLL_SECONDS: Final = 0.25


async def build_registry(
    declarations: Iterable[Declaration],
    opened: AsyncExitStack,
    *,
    platform: PlatformResources | None = None,
    observer: RunObserver | None = None,
) -> GraphRegistry:
    """Load the declared graphs and register them.

    Args:
        declarations: The models.
        opened: Takes what the graphs' factories open.
        platform: What graphs pause in and are coordinated by; left out, resources of this process.
        observer: Told about every run.

    Raises:
        ConfigurationError: One of them cannot be served; the message names it.
    """
    platform = platform or PlatformResources()
    configs, infos = {}, {}
    for declared in declarations:
        loaded = await load_graph(declared.graph, opened, platform)
        config = declared.over(loaded.config, is_bare=loaded.is_bare)
        configs[declared.id] = with_checkpointer(config, platform)
        infos[declared.id] = declared.info
    return GraphRegistry(
        graphs=configs, models=infos, observer=observer, run_coordinator=platform.coordinator
    )


def with_checkpointer(config: GraphConfig, platform: PlatformResources) -> GraphConfig:
    """Give a graph that pauses the platform's checkpointer, if it has none of its own."""
    graph = config.compiled()
    if GraphFeature.INTERRUPTS not in config.features or graph.checkpointer is not None:
        return config
    return dataclasses.replace(config, graph=graph.copy({"checkpointer": platform.checkpointer}))


async def mounted_declaration(
    folder: Path, name: str, *, revision: str, wait_seconds: float
) -> Declaration:
    """Read the entry of the model `name` from the mounted registry ConfigMap.

    A pod can start before the kubelet has the ConfigMap that its revision was made from, so this waits for that
    revision. When it does not come, what is there is served: the model is then one change behind, not away.

    Args:
        folder: Where the ConfigMap is mounted.
        name: `metadata.name` of the LanggraphModel.
        revision: The revision that the pod was rendered for; empty takes any.
        wait_seconds: How long to wait for it.

    Raises:
        ConfigurationError: There is no entry, or it cannot be read.
    """
    path = folder / registry_key(name)
    try:
        async with asyncio.timeout(wait_seconds):
            while not _has_revision(path, revision):  # noqa: ASYNC110 - a file of the kubelet, nobody sets an event
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        logger.warning("%s did not get revision %s within %s s", path, revision, wait_seconds)
    return Declaration.from_entry(_read(path))


def _has_revision(path: Path, revision: str) -> bool:
    try:
        entry = _read(path)
    except ConfigurationError as error:
        logger.debug("waiting: %s", error)
        return False
    if revision in {"", entry.revision}:
        return True
    logger.debug("waiting: %s has revision %s, not %s", path, entry.revision, revision)
    return False


def _read(path: Path) -> RegistryEntry:
    try:
        return load_entry(path.read_bytes())
    except OSError as error:
        msg = (
            f"the model registry has no readable entry {path} ({error.strerror});"
            " is the ConfigMap mounted there, and is LGOS_MODEL the name of the LanggraphModel?"
        )
        raise ConfigurationError(msg) from error
    except ValueError as error:
        first = str(error).partition("\n")[0]
        msg = f"the registry entry {path} cannot be read: {first}; do operator and image have the same version?"
        raise ConfigurationError(msg) from error
