"""Paused runs as metrics show them."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from prometheus_client import CollectorRegistry

from langgraph_openai_serve.integrations.postgres import open_platform, watched_pauses
from langgraph_openai_serve.integrations.postgres.platform import PostgresPlatform
from langgraph_openai_serve.integrations.prometheus import PrometheusObserver
from support.observing import eventually
from support.pausing import staged
from tools.postgres import PostgresServer

MODELS = ["ask_once", "ask_two"]


@pytest.fixture
async def platform(dsn: str) -> AsyncIterator[PostgresPlatform]:
    async with open_platform(dsn, connections=2, wait_seconds=0.5) as opened:
        yield opened


async def test_metrics_show_how_many_runs_wait_and_for_how_long(
    dsn: str, platform: PostgresPlatform
) -> None:
    registry = CollectorRegistry()
    observer = PrometheusObserver(registry, MODELS)

    def shown(model: str) -> tuple[Any, Any]:
        names = ("lgos_paused_runs", "lgos_oldest_paused_run_seconds")
        runs, oldest = (registry.get_sample_value(name, {"model": model}) for name in names)
        return runs, oldest

    async with (
        staged(platform.checkpointer, coordinator=platform.coordinator) as stage,
        watched_pauses(platform.paused, MODELS, observer, every=0.05),
    ):
        await eventually(lambda: shown("ask_once") == (0, 0))
        paused = [await stage.ask("ask_once") for _ in range(3)]
        await stage.ask("ask_in_subgraph")  # not a model of this process
        with psycopg.connect(dsn) as connection:
            connection.execute(
                "UPDATE checkpoints SET checkpoint = jsonb_set(checkpoint, '{ts}', to_jsonb(now() - %s))",
                (timedelta(hours=1),),
            )
        await eventually(lambda: shown("ask_once")[0] == 3 and shown("ask_once")[1] >= 3600)
        await stage.resume(paused[0], "yes")
        await eventually(lambda: shown("ask_once")[0] == 2)
        assert shown("ask_two") == (0, 0)
        assert shown("ask_in_subgraph") == (None, None)


async def test_database_that_is_away_makes_the_metrics_unknown_until_it_is_back(
    platform: PostgresPlatform, server: PostgresServer
) -> None:
    told: list[float] = []

    class Observer:
        def runs_paused(self, _model: str, runs: float, _oldest_seconds: float) -> None:
            told.append(runs)

    async with watched_pauses(platform.paused, ["m"], Observer(), every=0.05):
        await eventually(lambda: told == [0] * len(told) != [])
        await asyncio.to_thread(server.stop)
        try:
            await eventually(lambda: math.isnan(told[-1]), 5)
        finally:
            await asyncio.to_thread(server.start)
        await eventually(lambda: told[-1] == 0, 10)
