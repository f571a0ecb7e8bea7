"""`open_platform`: everything that a process with a PostgreSQL database gives to its graphs."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from langgraph.store.postgres.aio import AsyncPostgresStore

from langgraph_openai_serve.errors import ConfigurationError, LgosError, RunBusy
from langgraph_openai_serve.graph.resources import PlatformResources
from langgraph_openai_serve.integrations.postgres.connections import pool_of
from langgraph_openai_serve.integrations.postgres.coordinator import (
    DEFAULT_TTL,
    PostgresRunCoordinator,
)
from langgraph_openai_serve.integrations.postgres.paused import PausedRuns
from langgraph_openai_serve.integrations.postgres.saver import FencedPostgresSaver
from langgraph_openai_serve.ports.coordinator import RunKey
from langgraph_openai_serve.ports.observer import LeaseObserver, RunObserver

POOL_SIZE: Final = 10
ACQUIRE_SECONDS: Final = 10.0
"""How long a request waits for a connection to its checkpoints."""
SETUP_SECONDS: Final = 60.0
SETUP_KEY: Final = RunKey(hashlib.sha256(b"lgos-setup-1").hexdigest(), "lgos-setup")
"""Under this lease one process at a time makes LangGraph's tables: it does not do so safely by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresPlatform(PlatformResources):
    """The platform's resources, and the paused runs among its checkpoints."""

    paused: PausedRuns


@asynccontextmanager
async def open_platform(
    dsn: str,
    *,
    observer: RunObserver | None = None,
    leases: LeaseObserver | None = None,
    ttl: timedelta = DEFAULT_TTL,
) -> AsyncGenerator[PostgresPlatform, None]:
    """Open the pools, and make the tables that are missing; several processes may do so at once.

    Args:
        dsn: PostgreSQL's connection string; a pooler in transaction mode may be behind it.
        observer: Told about refused writes.
        leases: Told about renewals of leases.
        ttl: How long a lease lives without a renewal.

    Raises:
        ConfigurationError: The database cannot be used; one sentence says why.
    """
    pool = pool_of(
        dsn,
        name="lgos-checkpoints",
        min_size=1,
        max_size=POOL_SIZE,
        timeout=ACQUIRE_SECONDS,
        check=True,
    )
    try:
        await pool.open(wait=True, timeout=ACQUIRE_SECONDS)
    except Exception as error:
        await pool.close()
        raise _unusable(error) from error
    async with pool, PostgresRunCoordinator(dsn, ttl=ttl, observer=leases) as coordinator:
        saver, store = FencedPostgresSaver(pool, observer), AsyncPostgresStore(pool)
        try:
            await _set_up(coordinator, saver, store)
        except Exception as error:
            raise _unusable(error) from error
        yield PostgresPlatform(
            checkpointer=saver, store=store, coordinator=coordinator, paused=PausedRuns(pool)
        )


async def _set_up(
    coordinator: PostgresRunCoordinator, saver: FencedPostgresSaver, store: AsyncPostgresStore
) -> None:
    async with asyncio.timeout(SETUP_SECONDS):
        while True:
            try:
                async with coordinator.lease(SETUP_KEY):
                    await saver.setup()
                    await store.setup()
                    return
            except RunBusy:
                await asyncio.sleep(0.1)


def _unusable(error: Exception) -> ConfigurationError:
    if isinstance(error, ConfigurationError):
        return error
    reason = error.message if isinstance(error, LgosError) else str(error).strip()
    first = reason.partition("\n")[0] or type(error).__name__
    return ConfigurationError(
        f"PostgreSQL cannot be used: {first}; is LGOS_POSTGRES_DSN right, and may its user create tables?"
    )
