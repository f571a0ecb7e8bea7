"""Run leases on a real PostgreSQL server: the contract, and what connections and processes do to it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import uuid4

import psycopg
import pytest

from langgraph_openai_serve import InMemoryRunCoordinator, RunCoordinator, RunKey
from langgraph_openai_serve.errors import (
    ConfigurationError,
    CoordinatorUnavailable,
    LeaseLost,
    RunBusy,
)
from langgraph_openai_serve.integrations.postgres import PostgresRunCoordinator
from langgraph_openai_serve.ports.coordinator import run_key
from langgraph_openai_serve.ports.observer import RenewalResult
from langgraph_openai_serve.testing.coordinators import COORDINATOR_CHECKS, CoordinatorCheck
from support.observing import LeaseLedger, becomes, eventually
from support.programs import ROOT
from tools.postgres import PostgresServer

TTL = timedelta(seconds=1.5)
APPLICATION = "lgos-leases"
HOLD = f"""
import asyncio, sys
from datetime import timedelta
from langgraph_openai_serve import RunKey
from langgraph_openai_serve.errors import LeaseLost
from langgraph_openai_serve.integrations.postgres import PostgresRunCoordinator

async def hold():
    async with PostgresRunCoordinator(sys.argv[1], ttl=timedelta(seconds={TTL.total_seconds()})) as c:
        try:
            async with c.lease(RunKey(sys.argv[2], "m")) as lease:
                print(lease.token, flush=True)
                await asyncio.sleep(60)
        except LeaseLost:
            print("lost", flush=True)

asyncio.run(hold())
"""


def key() -> RunKey:
    return run_key("tests", "m", uuid4())


def rows(server: PostgresServer, database: str) -> int:
    [(count,)] = server.execute("SELECT count(*) FROM lgos_run_leases", database)
    assert isinstance(count, int)
    return count


async def holder(dsn: str, wanted: RunKey) -> asyncio.subprocess.Process:
    """A process that takes a lease, prints its token, and holds it."""
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOLD, dsn, wanted.digest, stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )


async def is_free(coordinator: RunCoordinator, wanted: RunKey) -> bool:
    try:
        async with coordinator.lease(wanted):
            return True
    except RunBusy:
        return False


@pytest.fixture(params=["memory", "postgres"])
async def checked(
    request: pytest.FixtureRequest, coordinator: PostgresRunCoordinator
) -> AsyncIterator[RunCoordinator]:
    if request.param == "memory":
        yield InMemoryRunCoordinator()
    else:
        yield coordinator


@pytest.mark.parametrize("check", COORDINATOR_CHECKS, ids=lambda check: check.__name__)
async def test_contract_of_a_coordinator_holds(
    check: CoordinatorCheck, checked: RunCoordinator
) -> None:
    await check(checked)


async def test_other_process_is_refused_until_the_lease_ends(
    dsn: str, coordinator: PostgresRunCoordinator
) -> None:
    wanted = key()
    async with PostgresRunCoordinator(dsn, ttl=TTL) as other:
        async with coordinator.lease(wanted):
            assert not await is_free(other, wanted)
        assert await is_free(other, wanted)


async def test_held_lease_is_renewed_for_longer_than_its_ttl(
    dsn: str, coordinator: PostgresRunCoordinator, lease_ledger: LeaseLedger
) -> None:
    wanted = key()
    async with PostgresRunCoordinator(dsn, ttl=TTL) as other, coordinator.lease(wanted) as lease:
        ends = time.monotonic() + 2 * TTL.total_seconds()
        while time.monotonic() < ends:
            assert not await is_free(other, wanted)
            await asyncio.sleep(0.1)
        lease.check()

    assert lease_ledger.renewed[RenewalResult.OK] >= 5
    assert lease_ledger.renewed[RenewalResult.LOST] == 0
    assert max(lease_ledger.delays) < TTL.total_seconds()


async def test_many_leases_need_one_connection_and_one_statement_to_renew(
    server: PostgresServer, database: str, coordinator: PostgresRunCoordinator
) -> None:
    count = 1000
    async with contextlib.AsyncExitStack() as held:

        async def take() -> None:
            await held.enter_async_context(coordinator.lease(key()))

        entered = asyncio.Event()
        release = asyncio.Event()
        inside = 0

        async def hold() -> None:
            nonlocal inside
            async with coordinator.lease(key()) as lease:
                inside += 1
                if inside == count:
                    entered.set()
                await release.wait()
                lease.check()

        tasks = [asyncio.create_task(hold()) for _ in range(count)]
        async with asyncio.timeout(10):
            await entered.wait()
        assert rows(server, database) == count
        assert server.backends(APPLICATION, database) == 1
        await asyncio.sleep(TTL.total_seconds() * 1.2)
        release.set()
        await asyncio.gather(*tasks)

    assert rows(server, database) == 0


async def test_lease_survives_the_loss_of_its_connection(
    server: PostgresServer, database: str, dsn: str, coordinator: PostgresRunCoordinator
) -> None:
    wanted = key()
    async with PostgresRunCoordinator(dsn, ttl=TTL) as other, coordinator.lease(wanted) as lease:
        for _ in range(4):
            server.terminate_backends(APPLICATION, database)
            await asyncio.sleep(TTL.total_seconds() / 2)
            assert not await is_free(other, wanted)
        lease.check()


async def test_lease_survives_a_restart_of_the_database(
    dsn: str, server: PostgresServer, coordinator: PostgresRunCoordinator
) -> None:
    wanted = key()
    async with coordinator.lease(wanted) as lease:
        await asyncio.to_thread(server.restart)
        await asyncio.sleep(TTL.total_seconds())
        lease.check()
        async with PostgresRunCoordinator(dsn, ttl=TTL) as other:
            assert not await is_free(other, wanted)
    assert await is_free(coordinator, wanted)


async def test_lease_that_cannot_be_renewed_ends_before_it_expires(
    server: PostgresServer, coordinator: PostgresRunCoordinator, lease_ledger: LeaseLedger
) -> None:
    async def hold() -> None:
        async with coordinator.lease(key()):
            await asyncio.to_thread(server.stop)
            await asyncio.sleep(60)

    try:
        async with asyncio.timeout(2 * TTL.total_seconds()):
            with pytest.raises(LeaseLost):
                await hold()
        await eventually(lambda: lease_ledger.renewed[RenewalResult.ERROR] > 0, 10)
    finally:
        await asyncio.to_thread(server.start)


async def test_database_that_is_away_refuses_leases_within_seconds(
    server: PostgresServer, coordinator: PostgresRunCoordinator
) -> None:
    await asyncio.to_thread(server.stop)
    try:
        started = time.monotonic()
        with pytest.raises(CoordinatorUnavailable):
            async with coordinator.lease(key()):
                pass
        assert time.monotonic() - started < 12
    finally:
        await asyncio.to_thread(server.start)

    async def answers() -> bool:
        with contextlib.suppress(CoordinatorUnavailable):
            return await is_free(coordinator, key())
        return False

    await becomes(answers, 15)


async def test_key_of_a_killed_process_is_free_after_the_ttl(
    dsn: str, coordinator: PostgresRunCoordinator, lease_ledger: LeaseLedger
) -> None:
    wanted = key()
    process = await holder(dsn, wanted)
    assert process.stdout is not None
    token = int(await process.stdout.readline())
    process.kill()
    await process.wait()
    killed = time.monotonic()

    assert not await is_free(coordinator, wanted)
    await becomes(lambda: is_free(coordinator, wanted), 2 * TTL.total_seconds())

    assert time.monotonic() - killed <= TTL.total_seconds() + 0.5
    assert lease_ledger.expired == ["m"]
    async with coordinator.lease(wanted) as lease:
        assert lease.token > token


async def test_process_that_stood_still_knows_that_it_lost_its_lease(
    dsn: str, coordinator: PostgresRunCoordinator
) -> None:
    wanted = key()
    process = await holder(dsn, wanted)
    assert process.stdout is not None
    try:
        await process.stdout.readline()
        process.send_signal(signal.SIGSTOP)
        await becomes(lambda: is_free(coordinator, wanted), 3 * TTL.total_seconds())
        async with coordinator.lease(wanted) as lease:
            process.send_signal(signal.SIGCONT)
            said = await process.stdout.readline()
            assert said.strip() == b"lost"
            lease.check()
    finally:
        process.kill()
        await process.wait()


async def test_stolen_row_ends_the_block_at_the_next_renewal(
    server: PostgresServer, database: str, coordinator: PostgresRunCoordinator
) -> None:
    wanted = key()

    async def hold() -> None:
        async with coordinator.lease(wanted):
            server.execute("UPDATE lgos_run_leases SET token = token + 1000", database)
            await asyncio.sleep(10)

    async with asyncio.timeout(TTL.total_seconds()):
        with pytest.raises(LeaseLost):
            await hold()
    # What is somebody else's now is not given back.
    assert rows(server, database) == 1


async def test_row_that_a_write_holds_is_not_lost(
    dsn: str, coordinator: PostgresRunCoordinator
) -> None:
    async with (
        coordinator.lease(key()) as fenced,
        coordinator.lease(key()) as other,
        await psycopg.AsyncConnection.connect(dsn) as connection,
    ):
        await connection.execute(
            "SELECT FROM lgos_run_leases WHERE key = %s FOR SHARE", (fenced.key.digest,)
        )
        before = other.deadline
        await eventually(lambda: other.deadline > before)
        await connection.commit()
        fenced.check()
        behind = fenced.deadline
        await eventually(lambda: fenced.deadline > behind)


async def test_storm_of_cancelled_requests_leaves_nothing(
    server: PostgresServer, database: str, coordinator: PostgresRunCoordinator
) -> None:
    keys = [key() for _ in range(300)]

    async def pass_through(wanted: RunKey) -> None:
        async with coordinator.lease(wanted):
            await asyncio.sleep(0.01)

    tasks = [asyncio.create_task(pass_through(wanted)) for wanted in keys]
    for index, task in enumerate(tasks):
        asyncio.get_running_loop().call_later((1 + index % 30) / 1000, task.cancel)
    await asyncio.wait(tasks)

    await eventually(lambda: rows(server, database) == 0)
    assert all([await is_free(coordinator, wanted) for wanted in keys])


async def test_several_processes_may_make_the_table_at_once(dsn: str) -> None:
    coordinators = [PostgresRunCoordinator(dsn, ttl=TTL) for _ in range(8)]

    await asyncio.gather(*[coordinator.start() for coordinator in coordinators])

    for coordinator in coordinators:
        assert await is_free(coordinator, key())
        await coordinator.close()


async def test_closing_ends_leases_and_frees_their_keys(
    server: PostgresServer, database: str, dsn: str
) -> None:
    coordinator = PostgresRunCoordinator(dsn, ttl=TTL)
    entered = asyncio.Event()

    async def hold() -> None:
        async with coordinator.lease(key()):
            entered.set()
            await asyncio.sleep(60)

    task = asyncio.create_task(hold())
    await entered.wait()
    await coordinator.close()

    with pytest.raises(LeaseLost):
        await task
    assert rows(server, database) == 0


async def test_database_that_cannot_be_reached_is_a_clear_error() -> None:
    coordinator = PostgresRunCoordinator("postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(CoordinatorUnavailable):
        async with coordinator.lease(key()):
            pass
    await coordinator.close()
    with pytest.raises(ConfigurationError, match="cannot be read"):
        PostgresRunCoordinator("this is no connection string")
