"""Everything behind pgbouncer in transaction mode, with fewer connections to the server than clients."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from uuid import uuid4

import pytest

from langgraph_openai_serve import RunKey
from langgraph_openai_serve.errors import RunBusy
from langgraph_openai_serve.integrations.postgres import open_platform
from langgraph_openai_serve.integrations.postgres.platform import PostgresPlatform
from langgraph_openai_serve.ports.coordinator import run_key
from langgraph_openai_serve.testing.coordinators import COORDINATOR_CHECKS
from support.observing import eventually
from support.pausing import calls, staged
from tools.pgbouncer import POOL_SIZE, Pooler, pooler, program
from tools.postgres import PostgresServer

TTL = timedelta(seconds=1.5)


@pytest.fixture(scope="module")
def pgbouncer(postgres: PostgresServer) -> Iterator[Pooler]:
    """pgbouncer; skipped where it is not installed, which CI does not accept."""
    if program() is None:
        if os.environ.get("CI"):
            pytest.fail("pgbouncer is not installed")
        pytest.skip("pgbouncer is not installed: apt-get install pgbouncer")
    with pooler(postgres) as started:
        yield started


@pytest.fixture
async def platform(pgbouncer: Pooler, database: str) -> AsyncIterator[PostgresPlatform]:
    async with open_platform(pgbouncer.dsn(database), ttl=TTL) as opened:
        yield opened


def key() -> RunKey:
    return run_key("tests", "m", uuid4())


async def test_contract_of_a_coordinator_holds_behind_a_pooler(platform: PostgresPlatform) -> None:
    for check in COORDINATOR_CHECKS:
        await check(platform.coordinator)


async def test_hundred_runs_through_two_replicas_leave_nothing_in_the_database(
    pgbouncer: Pooler, database: str, platform: PostgresPlatform, server: PostgresServer
) -> None:
    async with (
        open_platform(pgbouncer.dsn(database), ttl=TTL) as second,
        staged(platform.checkpointer, coordinator=platform.coordinator) as one,
        staged(second.checkpointer, coordinator=second.coordinator) as other,
    ):

        async def pass_on(index: int) -> str:
            paused = await one.ask("ask_once")
            assert len(calls(paused)) == 1
            return (await other.resume(paused, str(index))).output_text

        assert await asyncio.gather(*[pass_on(index) for index in range(50)]) == [
            f"got:'{index}'" for index in range(50)
        ]
        assert await one.threads() == set()

    held = server.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'", database)
    assert held == [(0,)]
    assert server.execute("SELECT count(*) FROM lgos_run_leases", database) == [(0,)]
    [pool] = [one for one in pgbouncer.show("pools") if one["database"] == database]
    assert pool["pool_mode"] == "transaction"
    assert pool["sv_active"] == 0
    assert pool["sv_idle"] + pool["sv_used"] + pool["sv_tested"] <= POOL_SIZE


async def test_lease_outlives_every_connection_behind_the_pooler(
    pgbouncer: Pooler, database: str, platform: PostgresPlatform, server: PostgresServer
) -> None:
    wanted = key()
    async with (
        open_platform(pgbouncer.dsn(database), ttl=TTL) as other,
        platform.coordinator.lease(wanted) as lease,
    ):
        for _ in range(2):
            server.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()",
                database,
            )
            before = lease.deadline
            await eventually(lambda: lease.deadline > before)  # noqa: B023 - asked in this round only
            with pytest.raises(RunBusy):
                async with other.coordinator.lease(wanted):
                    pass
        lease.check()
