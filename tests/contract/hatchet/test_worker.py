"""`lgos serve` and `lgos worker` of one model on a real engine, as a platform starts them."""

from __future__ import annotations

import contextlib
import signal
from pathlib import Path
from typing import Any
from uuid import uuid4

import openai
import pytest

from support.backgrounds import create, finished
from support.observing import becomes
from support.pausing import answers
from support.programs import LGOS
from support.programs import finished as ended
from support.replicas import Deployment
from tools.hatchet import HatchetEngine
from tools.postgres import PostgresServer


@pytest.fixture
def deployment(tmp_path: Path, hatchet: HatchetEngine, postgres: PostgresServer) -> Deployment:
    """The model `work` in a namespace of its own, so that its task is nobody else's."""
    name = f"w{uuid4().hex[:10]}"
    env = {**hatchet.client_environment(), "LGOS_NAMESPACE": name}
    return Deployment(
        tmp_path, postgres.create_database(name), features=("background", "interrupts"), env=env
    )


async def test_runs_go_through_a_worker_that_drains(deployment: Deployment) -> None:
    async with deployment.replica() as first, deployment.replica() as second:
        with deployment.worker() as worker:
            accepted: Any = None

            async def taken() -> bool:
                nonlocal accepted
                # The engine does not know the task yet, which is a 503.
                with contextlib.suppress(openai.InternalServerError):
                    accepted = await create(first.client, "work", "ask")
                return accepted is not None

            await becomes(taken, 30, step=0.2)
            paused = await finished(second.client, accepted.id)
            last = await create(
                second.client,
                "work",
                answers(paused, "3"),
                previous_response_id=paused.id,
            )

            async def at_work() -> bool:
                return "worked 3" in deployment.log()

            await becomes(at_work, 30, step=0.05)
            worker.process.send_signal(signal.SIGTERM)

            assert (await finished(first.client, last.id)).output_text == "worked for 3"
            assert worker.exit_code() == 0
            assert "Traceback" not in worker.output()
    assert deployment.log() == ["prepared", "worked 3"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"HATCHET_CLIENT_TOKEN": ""}, "set HATCHET_CLIENT_TOKEN, on Kubernetes in the Secret"),
        ({"LGOS_POSTGRES_DSN": ""}, "set LGOS_POSTGRES_DSN"),
        ({"LGOS_MODEL": "other"}, "no readable entry"),
    ],
)
def test_worker_that_cannot_start_says_why(
    deployment: Deployment, change: dict[str, str], sentence: str
) -> None:
    env = {**deployment.environment(), **change}

    result = ended(LGOS, "worker", cwd=deployment.folder, env=env)

    assert result.returncode == 1
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr.partition("lgos worker:")[2]
