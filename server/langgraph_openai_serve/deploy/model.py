"""The one model of a pod: its declaration, its resources and its graph, the same for API and worker."""

from __future__ import annotations

from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Final

from langgraph_openai_serve.deploy.declaration import Declaration
from langgraph_openai_serve.deploy.registry import build_registry, mounted_declaration
from langgraph_openai_serve.deploy.resources import Observer, open_resources
from langgraph_openai_serve.deploy.settings import ServeSettings
from langgraph_openai_serve.graph.registry import GraphRegistry

REVISION_WAIT_SECONDS: Final = 20.0


async def declared_model(settings: ServeSettings) -> Declaration:
    """Return what the mounted registry says of the pod's model.

    Raises:
        ConfigurationError: There is no entry, or it cannot be read.
    """
    return await mounted_declaration(
        settings.registry_dir,
        settings.model,
        revision=settings.revision,
        wait_seconds=REVISION_WAIT_SECONDS,
    )


async def load_model(
    declaration: Declaration, settings: ServeSettings, opened: AsyncExitStack, observer: Observer
) -> GraphRegistry:
    """Open the model's resources and load its graph.

    Args:
        declaration: The model.
        settings: The pod's settings.
        opened: Closes what is opened.
        observer: Told about runs and leases.

    Raises:
        ConfigurationError: The graph or what it needs cannot be had.
    """
    platform = await open_resources(
        [declaration],
        settings.postgres_dsn,
        opened,
        observer=observer,
        ttl=timedelta(seconds=settings.lease_ttl_seconds),
        lasting=True,
    )
    return await build_registry([declaration], opened, platform=platform, observer=observer)
