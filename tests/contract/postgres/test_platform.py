"""What a process has from its database: opened by many at once, through dead connections, and when there are too few."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import openai
import psycopg
import pytest

from langgraph_openai_serve.errors import ConfigurationError, LeaseLost
from langgraph_openai_serve.integrations.postgres import open_platform
from langgraph_openai_serve.integrations.postgres.platform import PostgresPlatform
from langgraph_openai_serve.ports.coordinator import run_key
from support.observing import becomes
from support.pausing import Stage, staged
from tools.postgres import PostgresServer

TTL = timedelta(seconds=1.5)
SECONDS = 1.0
"""How long requests wait for a connection, and for an answer of the database."""
HANG_SECONDS = 8.0
TABLES = """
    SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1
"""
LEASES = "SELECT count(*) FROM lgos_run_leases WHERE expires_at > now()"
INVALID = "SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid"


@pytest.fixture
async def platform(dsn: str) -> AsyncIterator[PostgresPlatform]:
    async with open_platform(
        dsn, ttl=TTL, connections=3, wait_seconds=SECONDS, operation_seconds=SECONDS
    ) as opened:
        yield opened


@pytest.fixture
async def stage(platform: PostgresPlatform) -> AsyncIterator[Stage]:
    async with staged(platform.checkpointer, coordinator=platform.coordinator) as made:
        yield made


def everything(server: PostgresServer, database: str) -> list[Any]:
    return [server.execute(TABLES, database), server.execute("TABLE checkpoint_migrations", database)]  # fmt: skip


async def test_many_processes_make_the_tables_of_an_empty_database_at_once(
    dsn: str, server: PostgresServer, database: str
) -> None:
    async def start() -> None:
        async with open_platform(dsn) as opened:
            assert await opened.paused.by_model(["m"]) == {}

    async with asyncio.timeout(30):
        await asyncio.gather(*[start() for _ in range(6)])

    made = everything(server, database)
    assert {"checkpoints", "checkpoint_writes", "lgos_run_leases", "store"} <= {
        name for (name,) in made[0]
    }
    assert server.execute(INVALID, database) == []
    await start()
    assert everything(server, database) == made


async def test_connections_that_died_while_idle_cost_nobody_an_answer(
    stage: Stage, server: PostgresServer, database: str
) -> None:
    paused = await asyncio.gather(*[stage.ask("ask_once") for _ in range(10)])
    ended = sum(
        server.terminate_backends(name, database) for name in ("lgos-checkpoints", "lgos-leases")
    )
    assert ended >= 2

    answered = await asyncio.gather(*[stage.resume(one, "yes") for one in paused])

    assert [one.output_text for one in answered] == ["got:'yes'"] * 10
    assert await stage.threads() == set()


async def test_runs_hold_no_connection_while_their_graphs_work(stage: Stage) -> None:
    running = [asyncio.create_task(stage.ask("never_asks")) for _ in range(50)]
    await stage.probe.running.wait()

    async with asyncio.timeout(5):
        paused = await stage.ask("ask_once")
        assert (await stage.resume(paused, "yes")).output_text == "got:'yes'"

    stage.probe.gate.set()
    assert {one.output_text for one in await asyncio.gather(*running)} == {"done"}


async def test_requests_that_get_no_connection_in_time_get_a_503(stage: Stage, dsn: str) -> None:
    paused = await stage.ask("ask_once")
    with psycopg.connect(dsn) as blocker:
        blocker.execute("LOCK TABLE checkpoints IN ACCESS EXCLUSIVE MODE")
        asked = [asyncio.create_task(status_of(stage.resume(paused, "yes"))) for _ in range(3)]
        asked += [asyncio.create_task(status_of(stage.ask("ask_once"))) for _ in range(7)]
        async with asyncio.timeout(2 * SECONDS):
            statuses = Counter(await asyncio.gather(*asked))
        blocker.rollback()

    # One of the three answers waited for its connection or its statement, like all that began.
    assert statuses == {409: 2, 503: 8}
    assert (await stage.resume(paused, "yes")).output_text == "got:'yes'"
    assert await stage.threads() == set()


async def test_database_that_stands_still_hangs_nobody(
    stage: Stage, platform: PostgresPlatform, server: PostgresServer, database: str
) -> None:
    paused = await stage.ask("ask_once")

    async def hold() -> None:
        async with platform.coordinator.lease(run_key("tests", "m", uuid4())):
            await asyncio.sleep(60)

    held = asyncio.create_task(hold())
    await becomes(lambda: leases(server, database, 1))
    server.pause()
    try:
        stopped = time.monotonic()
        asked = [asyncio.create_task(status_of(stage.resume(paused, "yes"))) for _ in range(3)]
        with pytest.raises(LeaseLost):
            await held
        assert time.monotonic() - stopped < TTL.total_seconds()
        async with asyncio.timeout(HANG_SECONDS):
            statuses = Counter(await asyncio.gather(*asked))
    finally:
        server.proceed()

    assert statuses == {409: 2, 503: 1}
    await becomes(lambda: leases(server, database, 0), 2 * HANG_SECONDS)

    async def answered() -> bool:
        return await status_of(stage.resume(paused, "yes")) == 200

    await becomes(answered, 2 * HANG_SECONDS)


async def leases(server: PostgresServer, database: str, count: int) -> bool:
    """Whether so many leases keep others out."""
    [(found,)] = await asyncio.to_thread(server.execute, LEASES, database)
    return bool(found == count)


async def status_of(answer: Awaitable[Any]) -> int:
    try:
        await answer
    except openai.APIStatusError as error:
        return error.status_code
    return 200


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"user": "nobody"}, 'role "nobody" does not exist'),
        ({"dbname": "absent"}, 'database "absent" does not exist'),
        ({"port": "1"}, "refused"),
    ],
    ids=["user", "database", "port"],
)
async def test_database_that_cannot_be_used_is_a_sentence_with_the_reason(
    dsn: str, arguments: dict[str, str], reason: str
) -> None:
    wrong = psycopg.conninfo.make_conninfo(dsn, **arguments)

    with pytest.raises(ConfigurationError, match="LGOS_POSTGRES_DSN") as failed:
        async with open_platform(wrong, wait_seconds=SECONDS):
            pass

    assert reason in failed.value.message
    assert "\n" not in failed.value.message


async def test_user_that_may_not_create_tables_is_told_so(
    server: PostgresServer, database: str
) -> None:
    server.execute("CREATE ROLE reader LOGIN", database)
    wrong = psycopg.conninfo.make_conninfo(server.dsn(database), user="reader")

    with pytest.raises(ConfigurationError, match="may its user create tables"):
        async with open_platform(wrong, wait_seconds=SECONDS):
            pass
