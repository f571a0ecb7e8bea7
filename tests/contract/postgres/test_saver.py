"""`FencedPostgresSaver` on a real PostgreSQL server: who holds the lease writes, and nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint

from langgraph_openai_serve import RunKey
from langgraph_openai_serve.errors import LeaseLost
from langgraph_openai_serve.integrations.postgres import FencedPostgresSaver, open_platform
from langgraph_openai_serve.integrations.postgres.connections import pool_of
from langgraph_openai_serve.integrations.postgres.platform import PostgresPlatform
from langgraph_openai_serve.ports.coordinator import RunLease, current_lease, run_key
from langgraph_openai_serve.ports.observer import LeaseWrite
from support.observing import Ledger, becomes, eventually
from tools.postgres import PostgresServer

TTL = timedelta(seconds=1.5)
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


@pytest.fixture
async def platform(dsn: str, ledger: Ledger) -> AsyncIterator[PostgresPlatform]:
    async with open_platform(dsn, observer=ledger, ttl=TTL) as opened:
        yield opened


@pytest.fixture
def saver(platform: PostgresPlatform) -> FencedPostgresSaver:
    assert isinstance(platform.checkpointer, FencedPostgresSaver)
    return platform.checkpointer


@contextmanager
def running_under(lease: RunLease) -> Iterator[None]:
    """What runs in the block belongs to the run that has `lease`."""
    token = current_lease.set(lease)
    try:
        yield
    finally:
        current_lease.reset(token)


def a_key() -> RunKey:
    return run_key("tests", "m", uuid4())


def stood_still(lease: RunLease) -> RunLease:
    """Return the lease as a process sees it that has stood still since its last look at the clock."""
    return RunLease(lease.key, lease.token)


def thread(key: RunKey) -> RunnableConfig:
    return {"configurable": {"thread_id": key.digest, "checkpoint_ns": ""}}


async def store(saver: FencedPostgresSaver, key: RunKey, value: str) -> RunnableConfig:
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"text": value, "list": [value]}
    checkpoint["channel_versions"] = {"text": "1", "list": "1"}
    return await saver.aput(thread(key), checkpoint, {"step": 0}, {"text": "1", "list": "1"})


async def stored(saver: FencedPostgresSaver, key: RunKey) -> Any:
    found = await saver.aget_tuple(thread(key))
    return None if found is None else found.checkpoint["channel_values"]["text"]


async def waits(server: PostgresServer, database: str) -> bool:
    """Whether a statement waits for a lock."""
    [(waiting,)] = await asyncio.to_thread(server.execute, WAITING, database)
    return waiting != 0


async def test_holder_writes_reads_and_deletes(
    platform: PostgresPlatform, saver: FencedPostgresSaver, server: PostgresServer, database: str
) -> None:
    key = a_key()
    async with platform.coordinator.lease(key) as lease:
        with running_under(lease):
            config = await store(saver, key, "mine")
            await saver.aput_writes(config, [("text", "written")], "task")
            assert await stored(saver, key) == "mine"
            found = await saver.aget_tuple(thread(key))
            assert found is not None
            assert found.pending_writes == [("task", "text", "written")]
            await saver.adelete_thread(key.digest)

    for table in TABLES:
        assert server.execute(f"TABLE {table}", database) == []


async def test_write_of_a_process_that_lost_its_lease_is_refused_by_the_database(
    platform: PostgresPlatform,
    saver: FencedPostgresSaver,
    ledger: Ledger,
    server: PostgresServer,
    database: str,
) -> None:
    key = a_key()
    async with platform.coordinator.lease(key) as lease:
        late = stood_still(lease)
        with running_under(lease):
            config = await store(saver, key, "before")
    async with platform.coordinator.lease(key) as successor:
        with running_under(successor):
            await store(saver, key, "successor")
        before = [server.execute(f"TABLE {table}", database) for table in TABLES]
        with running_under(late):
            with pytest.raises(LeaseLost):
                await store(saver, key, "late")
            with pytest.raises(LeaseLost):
                await saver.aput_writes(config, [("text", "late")], "task")
            with pytest.raises(LeaseLost):
                await saver.adelete_thread(key.digest)

        assert [server.execute(f"TABLE {table}", database) for table in TABLES] == before
        assert await stored(saver, key) == "successor"
    assert ledger.refused_writes == [
        LeaseWrite.CHECKPOINT, LeaseWrite.WRITES, LeaseWrite.DELETE
    ]  # fmt: skip


async def test_lease_that_expired_allows_no_write_even_when_nobody_took_it(
    platform: PostgresPlatform,
    saver: FencedPostgresSaver,
    server: PostgresServer,
    database: str,
) -> None:
    key = a_key()
    async with platform.coordinator.lease(key) as lease:
        server.execute("UPDATE lgos_run_leases SET expires_at = now()", database)
        with running_under(stood_still(lease)), pytest.raises(LeaseLost):
            await store(saver, key, "late")

    assert await stored(saver, key) is None


async def test_take_over_waits_for_a_write_that_was_allowed(
    dsn: str,
    platform: PostgresPlatform,
    saver: FencedPostgresSaver,
    server: PostgresServer,
    database: str,
) -> None:
    """Else the successor could read the thread before the write and run beside it."""
    key = a_key()
    async with platform.coordinator.lease(key) as lease:
        with psycopg.connect(dsn) as blocker, psycopg.connect(dsn, autocommit=True) as admin:
            blocker.execute("LOCK TABLE checkpoints IN ACCESS EXCLUSIVE MODE")
            with running_under(lease):
                write = asyncio.create_task(store(saver, key, "allowed"))
            await becomes(lambda: waits(server, database))
            admin.execute("SET statement_timeout = '200ms'")
            with pytest.raises(psycopg.errors.QueryCanceled):
                admin.execute(
                    "UPDATE lgos_run_leases SET token = token + 1, holder = gen_random_uuid()"
                )
            blocker.rollback()
            await write
            admin.execute("UPDATE lgos_run_leases SET expires_at = now() + interval '9 s'")
    assert await stored(saver, key) == "allowed"


async def test_write_outside_of_a_run_needs_no_lease(saver: FencedPostgresSaver) -> None:
    key = a_key()

    await store(saver, key, "by hand")

    assert await stored(saver, key) == "by hand"
    await saver.adelete_thread(key.digest)
    assert await stored(saver, key) is None


async def test_cancelled_write_leaves_nothing_and_gives_its_connection_back(
    dsn: str,
    platform: PostgresPlatform,
    saver: FencedPostgresSaver,
    server: PostgresServer,
    database: str,
) -> None:
    key = a_key()
    async with platform.coordinator.lease(key) as lease:
        with psycopg.connect(dsn) as blocker, running_under(lease):
            blocker.execute("LOCK TABLE checkpoints IN ACCESS EXCLUSIVE MODE")
            tasks = [asyncio.create_task(store(saver, key, "cancelled")) for _ in range(20)]
            await becomes(lambda: waits(server, database))
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=10)
            assert all(task.cancelled() for task in tasks)
        with running_under(lease):
            assert await stored(saver, key) is None
            await asyncio.gather(*[store(saver, key, "again") for _ in range(20)])
    assert await stored(saver, key) == "again"


@pytest.mark.parametrize("turns", range(3))
async def test_cancellation_that_comes_together_with_a_connection_is_not_lost(
    dsn: str, turns: int
) -> None:
    pool = pool_of(dsn, name="lgos-test", min_size=1, max_size=1, timeout=5)

    async def work() -> None:
        async with pool.connection():
            await asyncio.sleep(60)

    async with pool:
        async with pool.connection():
            task = asyncio.create_task(work())
            await eventually(lambda: pool.get_stats().get("requests_waiting") == 1)
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()

        await asyncio.wait([task], timeout=2)

        assert task.cancelled()
        async with asyncio.timeout(2), pool.connection():
            pass
