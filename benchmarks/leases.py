"""Measures run leases on PostgreSQL against advisory locks in one run: `python benchmarks/leases.py [--seconds 5]`.

Both take and free one key at a time in 1, 10 and 100 tasks, in turn. The baseline is what leases are often made of: a
connection of its own for each lease, from a pool that is large enough, with `pg_try_advisory_lock` and `pg_advisory_unlock`.
Then one process holds 1,000 leases, and PostgreSQL counts the statements and connections that this costs.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path

from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

from langgraph_openai_serve.integrations.postgres import PostgresRunCoordinator
from langgraph_openai_serve.ports.coordinator import run_key

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from tools.postgres import postgres_server

TASKS = (1, 10, 100)
HELD = 1000
TTL = timedelta(seconds=60)
Take = Callable[[], AbstractAsyncContextManager[None]]


def rows_of(coordinator: PostgresRunCoordinator) -> Take:
    @asynccontextmanager
    async def take() -> AsyncIterator[None]:
        async with coordinator.lease(run_key("bench", "m", uuid.uuid4())):
            yield

    return take


def locks_of(pool: AsyncConnectionPool[AsyncConnection]) -> Take:
    @asynccontextmanager
    async def take() -> AsyncIterator[None]:
        key = uuid.uuid4().int >> 65
        async with pool.connection() as connection:
            await connection.execute("SELECT pg_try_advisory_lock(%s)", (key,))
            try:
                yield
            finally:
                await connection.execute("SELECT pg_advisory_unlock(%s)", (key,))

    return take


async def measured(take: Take, tasks: int, seconds: float) -> list[float]:
    """Return the seconds of every take and free."""
    took: list[float] = []
    ends = time.perf_counter() + seconds

    async def loop() -> None:
        while (started := time.perf_counter()) < ends:
            async with take():
                pass
            took.append(time.perf_counter() - started)

    await asyncio.gather(*[loop() for _ in range(tasks)])
    return took


def line(name: str, took: list[float], seconds: float) -> str:
    cuts = statistics.quantiles(took, n=100)
    return (
        f"{name} | {cuts[49] * 1000:.1f} ms | {cuts[98] * 1000:.1f} ms | {len(took) / seconds:.0f}"
    )


async def compare(dsn: str, seconds: float) -> None:
    print("| tasks, kind | p50 | p99 | a second |\n| --- | --- | --- | --- |")
    pool = AsyncConnectionPool[AsyncConnection](
        dsn, kwargs={"autocommit": True}, min_size=max(TASKS), max_size=max(TASKS), open=False
    )
    async with PostgresRunCoordinator(dsn, ttl=TTL) as coordinator, pool:
        await pool.wait()
        for tasks in TASKS:
            for kind, take in (("rows", rows_of(coordinator)), ("locks", locks_of(pool))):
                await measured(take, tasks, 0.5)
                took = await measured(take, tasks, seconds)
                print("| " + line(f"{tasks}, {kind}", took, seconds) + " |")


async def hold(dsn: str, count: Callable[[], tuple[int, int]]) -> None:
    ttl = timedelta(seconds=6)
    async with PostgresRunCoordinator(dsn, ttl=ttl) as coordinator, AsyncExitStack() as held:
        started = time.perf_counter()
        leases = await asyncio.gather(
            *[
                held.enter_async_context(coordinator.lease(run_key("bench", "m", uuid.uuid4())))
                for _ in range(HELD)
            ]
        )
        took = time.perf_counter() - started
        before, connections = await asyncio.to_thread(count)
        await asyncio.sleep(3 * ttl.total_seconds())
        after, _ = await asyncio.to_thread(count)
        for lease in leases:
            lease.check()
        print(
            f"\n{HELD} leases taken at once in {took * 1000:.0f} ms; held for 3 ttl with {connections} connection and"
            f" {after - before} statements ({(after - before) / 3:.1f} a ttl)"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    with postgres_server() as server:
        dsn = server.create_database("leases")
        asyncio.run(compare(dsn, options.seconds))

        def count() -> tuple[int, int]:
            """Transactions of the database, each of which is one statement here, and lease connections."""
            with_stats = "SELECT xact_commit FROM pg_stat_database WHERE datname = 'leases'"
            [(commits,)] = server.execute(with_stats)
            assert isinstance(commits, int)
            return commits, server.backends("lgos-leases", "leases")

        asyncio.run(hold(dsn, count))


if __name__ == "__main__":
    main()
