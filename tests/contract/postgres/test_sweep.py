"""`lgos sweep` on a real PostgreSQL server: what it deletes, and what it leaves alone."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict

from langgraph_openai_serve.deploy.sweep import sweep_runs
from langgraph_openai_serve.integrations.postgres import PausedRun, PausedRuns, open_platform
from langgraph_openai_serve.integrations.postgres.platform import PostgresPlatform
from langgraph_openai_serve.ports.coordinator import RunKey, run_key
from support.programs import ROOT
from tools.postgres import PostgresServer

WEEK = timedelta(days=7)


class State(TypedDict, total=False):
    answer: str


def ask(_state: State) -> State:
    return {"answer": interrupt("May I?")}


@pytest.fixture
async def platform(dsn: str) -> AsyncIterator[PostgresPlatform]:
    async with open_platform(dsn, ttl=timedelta(seconds=1.5)) as opened:
        yield opened


class Runs:
    """Makes paused runs as the server does, and lets them grow old."""

    def __init__(self, platform: PostgresPlatform, server: PostgresServer, database: str) -> None:
        builder = StateGraph(State)
        builder.add_node("ask", ask)
        builder.add_edge(START, "ask")
        builder.add_edge("ask", END)
        self._graph = builder.compile(checkpointer=platform.checkpointer)
        self._server = server
        self._database = database

    async def pause(
        self, model: str | None = "m", *, age: timedelta, retention: float | None = None
    ) -> RunKey:
        key = run_key("tests", model or "", uuid4())
        metadata: dict[str, Any] = {} if model is None else {"lgos_model": model}
        if retention is not None:
            metadata["lgos_retention_seconds"] = retention
        await self._graph.ainvoke(
            {},
            {"configurable": {"thread_id": key.digest}, "metadata": metadata},
            durability="exit",
        )
        with psycopg.connect(self._server.dsn(self._database)) as connection:
            connection.execute(
                "UPDATE checkpoints SET checkpoint = jsonb_set(checkpoint, '{ts}', to_jsonb(now() - %s))"
                " WHERE thread_id = %s",
                (age, key.digest),
            )
        return key

    def threads(self) -> set[str]:
        """Threads of which any table holds anything."""
        found = self._server.execute(
            "SELECT thread_id FROM checkpoints UNION SELECT thread_id FROM checkpoint_blobs"
            " UNION SELECT thread_id FROM checkpoint_writes",
            self._database,
        )
        return {str(thread) for (thread,) in found}


@pytest.fixture
def runs(platform: PostgresPlatform, server: PostgresServer, database: str) -> Runs:
    return Runs(platform, server, database)


async def test_runs_that_nobody_answered_in_time_are_deleted_whole(
    platform: PostgresPlatform, runs: Runs
) -> None:
    await runs.pause("a", age=timedelta(hours=2), retention=3600)
    await runs.pause("b", age=timedelta(days=8))
    kept = {
        (await runs.pause("a", age=timedelta(minutes=59), retention=3600)).digest,
        (await runs.pause("b", age=timedelta(days=6))).digest,
        (await runs.pause("c", age=timedelta(days=30), retention=31536000)).digest,
    }

    swept = await sweep_runs(platform, WEEK)

    assert swept.deleted == {"a": 1, "b": 1}
    assert (swept.busy, swept.answered, swept.failed) == (0, 0, 0)
    assert runs.threads() == kept


async def test_threads_of_others_in_the_same_database_are_left_alone(
    platform: PostgresPlatform, runs: Runs
) -> None:
    other = await runs.pause(None, age=timedelta(days=400))

    assert not (await sweep_runs(platform, WEEK)).deleted
    assert runs.threads() == {other.digest}


async def test_run_that_somebody_works_on_is_left_for_the_next_sweep(
    dsn: str, platform: PostgresPlatform, runs: Runs
) -> None:
    busy = await runs.pause(age=timedelta(days=8))
    await runs.pause(age=timedelta(days=8))
    async with open_platform(dsn) as other:
        async with other.coordinator.lease(busy):
            swept = await sweep_runs(platform, WEEK)
        assert (swept.deleted, swept.busy) == ({"m": 1}, 1)
        assert runs.threads() == {busy.digest}
    assert (await sweep_runs(platform, WEEK)).deleted == {"m": 1}


async def test_every_run_is_deleted_however_many_there_are(
    platform: PostgresPlatform, runs: Runs
) -> None:
    held = [await runs.pause(age=timedelta(days=9)) for _ in range(3)]
    for _ in range(9):
        await runs.pause(age=timedelta(days=8))
    async with (
        platform.coordinator.lease(held[0]),
        platform.coordinator.lease(held[1]),
        platform.coordinator.lease(held[2]),
    ):
        swept = await sweep_runs(platform, WEEK, batch=2)

    assert (swept.deleted, swept.busy) == ({"m": 9}, 3)


class AnsweredMeanwhile(PausedRuns):
    """Somebody is quicker than the sweep: every run that it finds goes on before it is taken."""

    def __init__(self, paused: PausedRuns, proceed: Callable[[], object]) -> None:
        self._paused = paused
        self._proceed = proceed

    async def expired(self, default: timedelta, *, limit: int = 1000) -> list[PausedRun]:
        found = await self._paused.expired(default, limit=limit)
        self._proceed()
        return found

    async def find(self, thread_id: str) -> PausedRun | None:
        return await self._paused.find(thread_id)

    async def forget_expired_leases(self) -> int:
        return 0


@pytest.mark.parametrize(
    "meanwhile",
    [
        "UPDATE checkpoints SET checkpoint = jsonb_set(checkpoint, '{ts}', to_jsonb(now()))",
        "DELETE FROM checkpoints",
    ],
    ids=["paused-again", "ended"],
)
async def test_run_that_was_answered_since_it_was_found_is_left_alone(
    platform: PostgresPlatform,
    runs: Runs,
    server: PostgresServer,
    database: str,
    meanwhile: str,
) -> None:
    await runs.pause(age=timedelta(days=8))
    before = len(runs.threads())
    paused = AnsweredMeanwhile(platform.paused, lambda: server.execute(meanwhile, database))

    swept = await sweep_runs(dataclasses.replace(platform, paused=paused), WEEK)

    assert (swept.deleted, swept.answered) == ({}, 1)
    assert len(runs.threads()) == before


async def test_two_sweeps_at_once_delete_every_run_once(
    dsn: str, platform: PostgresPlatform, runs: Runs
) -> None:
    for _ in range(20):
        await runs.pause(age=timedelta(days=8))
    async with open_platform(dsn) as other:
        first, second = await asyncio.gather(sweep_runs(platform, WEEK), sweep_runs(other, WEEK))

    assert first.deleted["m"] + second.deleted["m"] == 20
    assert (first.failed, second.failed) == (0, 0)
    assert runs.threads() == set()


async def test_leases_that_expired_long_ago_are_forgotten(
    platform: PostgresPlatform, server: PostgresServer, database: str
) -> None:
    with psycopg.connect(server.dsn(database)) as connection:
        for key, age in (("old", timedelta(hours=25)), ("young", timedelta(hours=23))):
            connection.execute(
                "INSERT INTO lgos_run_leases VALUES (%s, 'm', gen_random_uuid(), 1, now(), now() - %s)",
                (key, age),
            )

    assert (await sweep_runs(platform, WEEK)).forgotten_leases == 1
    assert server.execute("SELECT key FROM lgos_run_leases", database) == [("young",)]


def command(dsn: str | None, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {"LGOS_LOG_LEVEL": "warning"} | ({} if dsn is None else {"LGOS_POSTGRES_DSN": dsn})
    return subprocess.run(
        [sys.executable, "-m", "langgraph_openai_serve.cli.main", "sweep", *arguments],
        env=environ, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


async def test_command_says_what_it_would_delete_and_then_what_it_has_deleted(
    dsn: str, runs: Runs
) -> None:
    await runs.pause("a", age=timedelta(hours=13))
    kept = await runs.pause("a", age=timedelta(hours=11))

    tried = await asyncio.to_thread(command, dsn, "--retention", "12h", "--dry-run")
    assert len(runs.threads()) == 2
    done = await asyncio.to_thread(command, dsn, "--retention", "12h")

    assert (tried.returncode, done.returncode) == (0, 0), tried.stderr + done.stderr
    report = json.loads(tried.stdout)
    assert (report["dry_run"], report["models"]) == (True, {"a": 1})
    report = json.loads(done.stdout)
    assert (report["dry_run"], report["deleted"], report["failed"]) == (False, 1, 0)
    assert runs.threads() == {kept.digest}


@pytest.mark.parametrize(
    ("dsn", "sentence"),
    [
        (None, "LGOS_POSTGRES_DSN is not set"),
        ("not a connection string", "cannot be read"),
    ],
)
def test_command_without_a_database_fails_with_a_sentence(dsn: str | None, sentence: str) -> None:
    done = command(dsn)

    assert done.returncode == 1
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_command_refuses_a_retention_that_is_none() -> None:
    done = command(None, "--retention", "soon")

    assert done.returncode == 2
    assert "'soon' is not a duration" in done.stderr
