"""Background Responses while workers, the engine and its database end: nothing is lost, nothing runs twice without a reason.

The long forms repeat each fault; `nox -s endurance` runs them.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI
from openai.types.responses import Response

from support.backgrounds import create, finished, refused
from support.observing import becomes
from tools.hatchet import HatchetEngine, hatchet_engine
from tools.postgres import PostgresServer, postgres_server

TRIALS = pytest.mark.parametrize("trials", [1, pytest.param(5, marks=pytest.mark.endurance)])
LONG_TRIALS = pytest.mark.parametrize(
    "trials", [pytest.param(trials, marks=pytest.mark.endurance) for trials in (1, 5)]
)
UP_AGAIN = 60.0


@pytest.fixture(scope="module")
def hatchet(hatchet_programs: Path, postgres: PostgresServer) -> Iterator[HatchetEngine]:
    """An engine whose faults are nobody else's: for a minute after a kill it may not schedule."""
    del postgres  # skips or fails where PostgreSQL is not installed
    with postgres_server() as server, hatchet_engine(hatchet_programs, server) as engine:
        yield engine


async def logged(platform: Any, line: str) -> None:
    async def has() -> bool:
        return line in platform.log()

    await becomes(has, UP_AGAIN, step=0.05)


def ran_in(platform: Any, label: str) -> int:
    """Return the process of a run's latest start."""
    pids = [
        line.split()[1]
        for line in platform.log()
        if line.startswith("process ") and line.endswith(f" {label}")
    ]
    return int(pids[-1])


async def ended(client: AsyncOpenAI, response_id: str, seconds: float) -> Response:
    """Poll as a caller that takes a 503 for what it is: try again."""
    responses: list[Response] = []

    async def terminal() -> bool:
        try:
            responses.append(await client.responses.retrieve(response_id))
        except openai.InternalServerError as error:
            if error.status_code != 503:
                raise
            return False
        return responses[-1].status not in {"queued", "in_progress"}

    await becomes(terminal, seconds, step=0.1)
    return responses[-1]


async def takes_runs(client: AsyncOpenAI, label: str) -> None:
    """Show that a new run goes through; the engine may need its partition lease of a minute first."""
    fresh = await create(client, "bg_work", f"0 {label}")
    assert (await ended(client, fresh.id, 120)).status == "completed"


@TRIALS
async def test_run_of_a_killed_worker_completes_in_another(platform: Any, trials: int) -> None:
    async with platform.api() as client:
        for trial in range(trials):
            label = f"killed-{trial}"
            with platform.worker() as one, platform.worker() as other:
                await platform.active(2)
                response = await create(client, "bg_work", f"4 {label}")
                await logged(platform, f"started {label}")
                first = ran_in(platform, label)
                [doomed] = [worker for worker in (one, other) if worker.process.pid == first]
                doomed.process.kill()
                doomed.exit_code()
                platform.engine.age_worker(f"{platform.task}-{first}")

                final = await ended(client, response.id, 90)

            assert (final.status, final.output_text) == ("completed", "ok")
            assert platform.log().count(f"started {label}") == 2
            assert platform.log().count(f"ended {label}") == 1
            assert ran_in(platform, label) != first


@LONG_TRIALS
async def test_worker_that_is_asked_to_end_finishes_its_run(platform: Any, trials: int) -> None:
    for trial in range(trials):
        label = f"drained-{trial}"
        with platform.worker() as worker:
            await platform.active()
            async with platform.api() as client:
                response = await create(client, "bg_work", f"4 {label}")
            await logged(platform, f"started {label}")

            worker.terminate()

            assert worker.exit_code() == 0
        assert platform.log().count(f"started {label}") == 1
        # The API process that accepted the request is gone as well.
        async with platform.api() as another:
            final = await finished(another, response.id)
        assert (final.id, final.status) == (response.id, "completed")


@TRIALS
async def test_run_goes_on_while_the_engine_has_no_database(platform: Any, trials: int) -> None:
    database = platform.engine.postgres
    with platform.worker():
        await platform.active()
        async with platform.api() as client:
            for trial in range(trials):
                label = f"database-{trial}"
                response = await create(client, "bg_work", f"12 {label}")
                await logged(platform, f"started {label}")

                await asyncio.to_thread(database.stop)
                try:
                    error = await refused(503, client.responses.retrieve(response.id))
                finally:
                    await asyncio.to_thread(database.start)

                assert "Traceback" not in str(error)
                assert (await ended(client, response.id, 90)).status == "completed"
                assert platform.log().count(f"started {label}") == 1
                if trials > 1:
                    await takes_runs(client, f"after {label}")


@LONG_TRIALS
async def test_run_goes_on_while_the_engine_is_killed(platform: Any, trials: int) -> None:
    with platform.worker():
        await platform.active()
        async with platform.api() as client:
            for trial in range(trials):
                label = f"engine-{trial}"
                response = await create(client, "bg_work", f"8 {label}")
                await logged(platform, f"started {label}")

                await asyncio.to_thread(platform.engine.restart, signal.SIGKILL)

                assert (await ended(client, response.id, 60)).status == "completed"
                assert platform.log().count(f"started {label}") == 1
                if trials > 1:
                    await takes_runs(client, f"after {label}")


@pytest.mark.endurance
async def test_completion_that_the_engine_lost_ends_at_the_execution_timeout(
    platform: Any,
) -> None:
    """The run ends while the database is gone after a crash; what came of it may be lost, but not for ever."""
    database = platform.engine.postgres
    with platform.worker(TEST_EXECUTION_SECONDS="30"):
        await platform.active()
        async with platform.api() as client:
            response = await create(client, "bg_work", "3 lost")
            await logged(platform, "started lost")

            await asyncio.to_thread(database.stop, "immediate")
            try:
                await logged(platform, "ended lost")
            finally:
                await asyncio.to_thread(database.start)

            final = await ended(client, response.id, 30 + 120)

    assert final.status in {"completed", "cancelled"}
    if final.status == "cancelled":
        assert final.error is not None
        assert "execution timeout" in final.error.message
