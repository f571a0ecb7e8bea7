"""`open_platform`: everything that a process with a PostgreSQL database gives to its graphs."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from langgraph.store.postgres.aio import AsyncPostgresStore
from psycopg_pool import PoolTimeout

from langgraph_openai_serve.errors import ConfigurationError, CoordinatorUnavailable, RunBusy
from langgraph_openai_serve.graph.resources import PlatformResources
from langgraph_openai_serve.integrations.postgres.connections import Pool, connect, pool_of
from langgraph_openai_serve.integrations.postgres.coordinator import (
    DEFAULT_TTL,
    PostgresRunCoordinator,
)
from langgraph_openai_serve.integrations.postgres.paused import PausedRuns
from langgraph_openai_serve.integrations.postgres.saver import (
    OPERATION_SECONDS,
    FencedPostgresSaver,
)
from langgraph_openai_serve.ports.coordinator import RunKey
from langgraph_openai_serve.ports.observer import LeaseObserver, RunObserver

POOL_SIZE: Final = 10
ACQUIRE_SECONDS: Final = 10.0
SETUP_SECONDS: Final = 90.0
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
    connections: int = POOL_SIZE,
    wait_seconds: float = ACQUIRE_SECONDS,
    operation_seconds: float = OPERATION_SECONDS,
) -> AsyncGenerator[PostgresPlatform, None]:
    """Open the pools, and make the tables that are missing; several processes may do so at once.

    Args:
        dsn: PostgreSQL's connection string; a pooler in transaction mode may be behind it.
        observer: Told about refused writes.
        leases: Told about renewals of leases.
        ttl: How long a lease lives without a renewal.
        connections: Most connections for checkpoints; there is one more for leases.
        wait_seconds: How long a request waits for one of them, and the start for the first.
        operation_seconds: How long an operation on checkpoints may take, the wait included.

    Raises:
        ConfigurationError: The database cannot be used; one sentence says why.
    """
    pool = pool_of(
        dsn,
        name="lgos-checkpoints",
        min_size=1,
        max_size=connections,
        timeout=wait_seconds,
        check=True,
    )
    coordinator = PostgresRunCoordinator(dsn, ttl=ttl, observer=leases)
    async with AsyncExitStack() as opened:
        try:
            opened.push_async_callback(pool.close)
            await _open(pool, dsn, wait_seconds)
            await opened.enter_async_context(coordinator)
            saver = FencedPostgresSaver(pool, observer, seconds=operation_seconds)
            store = AsyncPostgresStore(pool)
            await _set_up(coordinator, saver, store)
        except Exception as error:
            raise _unusable(error) from error
        yield PostgresPlatform(
            checkpointer=saver, store=store, coordinator=coordinator, paused=PausedRuns(pool)
        )


async def _open(pool: Pool, dsn: str, seconds: float) -> None:
    """Open the pool; when it cannot connect, which it does not give a reason for, find the reason."""
    try:
        await pool.open(wait=True, timeout=seconds)
    except PoolTimeout:
        await (await connect(dsn, name="lgos-checkpoints")).close()
        raise


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
    if isinstance(error, CoordinatorUnavailable) and isinstance(error.__cause__, Exception):
        error = error.__cause__
    first = str(error).strip().partition("\n")[0] or type(error).__name__
    return ConfigurationError(
        f"PostgreSQL cannot be used: {first}; is LGOS_POSTGRES_DSN right, and may its user create tables?"
    )
