"""The one model of a pod: its declaration, metrics, resources and graph, the same for API and worker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from datetime import timedelta
from typing import Final

from langgraph_openai_serve.deploy.declaration import Declaration
from langgraph_openai_serve.deploy.registry import build_registry, mounted_declaration
from langgraph_openai_serve.deploy.resources import Observer, open_resources
from langgraph_openai_serve.deploy.server import listen_problem
from langgraph_openai_serve.deploy.settings import ServeSettings
from langgraph_openai_serve.errors import ConfigurationError
from langgraph_openai_serve.graph.registry import GraphRegistry
from langgraph_openai_serve.integrations.prometheus import (
    PrometheusObserver,
    process_registry,
    served_metrics,
)
from lgos_contract.environment import ENV_METRICS_PORT

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


@contextmanager
def observed_model(
    declaration: Declaration, settings: ServeSettings
) -> Iterator[PrometheusObserver]:
    """Answer scrapes of the pod's metrics, and give what is told about its runs.

    Raises:
        ConfigurationError: The metrics' port cannot be listened on.
    """
    registry = process_registry()
    observer = PrometheusObserver(registry, [declaration.id])
    with ExitStack() as served:
        try:
            served.enter_context(
                served_metrics(registry, host=settings.host, port=settings.metrics_port)
            )
        except OSError as error:
            raise ConfigurationError(
                listen_problem(error, settings.host, settings.metrics_port, ENV_METRICS_PORT)
            ) from error
        yield observer


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
