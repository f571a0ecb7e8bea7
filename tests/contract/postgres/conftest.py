from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import uuid4

import pytest

from langgraph_openai_serve.integrations.postgres import PostgresRunCoordinator
from support.observing import LeaseLedger
from tools.postgres import PostgresServer

TTL = timedelta(seconds=1.5)


@pytest.fixture
def server(postgres: PostgresServer) -> PostgresServer:
    """The PostgreSQL server that all tests share."""
    return postgres


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
