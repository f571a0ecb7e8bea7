from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_openai_serve.integrations.postgres import open_platform
from support.pausing import Stage, staged
from tools.postgres import PostgresServer

TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "lgos_run_leases")


@pytest.fixture(scope="session")
def shared_dsn(postgres: PostgresServer) -> str:
    """A database for all tests of this folder."""
    return postgres.create_database("interrupts")


@asynccontextmanager
async def in_postgres(postgres: PostgresServer, dsn: str) -> AsyncIterator[Stage]:
    """A server whose pauses are in PostgreSQL, and a store that is empty at first."""
    async with open_platform(dsn) as platform:
        postgres.execute(f"TRUNCATE {', '.join(TABLES)}", "interrupts")
        async with staged(platform.checkpointer, coordinator=platform.coordinator) as made:
            yield made


@pytest.fixture(params=["memory", "postgres"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Stage]:
    """A server of graphs that pause, in memory and in PostgreSQL."""
    if request.param == "memory":
        async with staged(InMemorySaver()) as made:
            yield made
        return
    server = request.getfixturevalue("postgres")
    async with in_postgres(server, request.getfixturevalue("shared_dsn")) as made:
        yield made


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def stage(request: pytest.FixtureRequest, store: Stage) -> Stage:
    """The server, asked whole and streamed."""
    store.streamed = request.param
    return store
