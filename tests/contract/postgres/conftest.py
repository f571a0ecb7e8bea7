from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from uuid import uuid4

import pytest

from langgraph_openai_serve.integrations.postgres import PostgresRunCoordinator
from support.observing import LeaseLedger
from tools.postgres import PostgresServer, postgres_server, programs

TTL = timedelta(seconds=1.5)


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    """A PostgreSQL server; skipped where it is not installed, which CI does not accept."""
    if programs() is None:
        if os.environ.get("CI"):
            pytest.fail("PostgreSQL is not installed")
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    with postgres_server() as started:
        yield started


@pytest.fixture
def database(server: PostgresServer) -> str:
    """Name of an empty database."""
    name = f"t{uuid4().hex[:12]}"
    server.create_database(name)
    return name


@pytest.fixture
def dsn(server: PostgresServer, database: str) -> str:
    return server.dsn(database)


@pytest.fixture
def lease_ledger() -> LeaseLedger:
    return LeaseLedger()


@pytest.fixture
async def coordinator(dsn: str, lease_ledger: LeaseLedger) -> AsyncIterator[PostgresRunCoordinator]:
    async with PostgresRunCoordinator(dsn, ttl=TTL, observer=lease_ledger) as started:
        yield started
