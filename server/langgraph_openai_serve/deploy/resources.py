"""What a process gives to its graphs: PostgreSQL's resources where it has a database and needs one, else its own memory."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Protocol

from langgraph_openai_serve.deploy.declaration import Declaration
from langgraph_openai_serve.deploy.loader import asks_for_resources
from langgraph_openai_serve.errors import ConfigurationError
from langgraph_openai_serve.graph.config import GraphFeature
from langgraph_openai_serve.graph.resources import PlatformResources
from langgraph_openai_serve.ports.observer import LeaseObserver, PauseObserver, RunObserver
from lgos_contract.environment import ENV_POSTGRES_DSN


class Observer(RunObserver, LeaseObserver, PauseObserver, Protocol):
    """Told about runs, those that wait, and the leases of the process."""


async def open_resources(
    declarations: Sequence[Declaration],
    dsn: str | None,
    opened: AsyncExitStack,
    *,
    observer: Observer | None = None,
    ttl: timedelta | None = None,
    lasting: bool,
) -> PlatformResources:
    """Return the resources of a process; a database that nobody needs is not asked for anything.

    Args:
        declarations: The models that the process serves.
        dsn: Connection string of the database, if there is one.
        opened: Closes what is opened.
        observer: Told about leases.
        ttl: How long a run lease lives without a renewal; left out, the default.
        lasting: Whether runs that pause must outlive the process.

    Raises:
        ConfigurationError: The database cannot be used, or models that pause have none.
    """
    pausing = [one.id for one in declarations if GraphFeature.INTERRUPTS in one.features]
    if dsn is None:
        if pausing and lasting:
            msg = (
                f"model '{pausing[0]}' pauses runs (feature interrupts), which takes a database: set"
                f" {ENV_POSTGRES_DSN}, on Kubernetes in the Secret lgos-platform of the model's namespace"
            )
            raise ConfigurationError(msg)
        return PlatformResources()
    if not pausing and not any(asks_for_resources(one.graph) for one in declarations):
        return PlatformResources()
    try:
        from langgraph_openai_serve.integrations.postgres import (
            DEFAULT_TTL,
            open_platform,
            watched_pauses,
        )
    except ImportError as error:
        msg = (
            f"{ENV_POSTGRES_DSN} is set, but {error.name} is not installed; add"
            " langgraph-openai-serve[postgres] to the image"
        )
        raise ConfigurationError(msg) from error
    platform = await opened.enter_async_context(
        open_platform(dsn, observer=observer, leases=observer, ttl=ttl or DEFAULT_TTL)
    )
    if observer is not None and pausing:
        await opened.enter_async_context(watched_pauses(platform.paused, pausing, observer))
    return platform
