"""The programs of the how-to page on a real engine: `background/api.py`, `background/worker.py` and `background/client.py`."""

from __future__ import annotations

import sys
from typing import Any

from house.serving import free_port
from support.observing import becomes
from support.programs import ROOT, finished, running

FOLDER = ROOT / "examples/background"


async def test_client_polls_a_report_that_a_worker_makes(platform: Any) -> None:
    port, env = free_port(), platform.engine.client_environment()

    async def takes_runs() -> bool:
        listed = await platform.client().workers.aio_list()
        return any("background-agent" in one.name for one in listed.rows or [])

    with running(sys.executable, "worker.py", cwd=FOLDER, env=env):
        await becomes(takes_runs, 60, step=0.2)
        command = [sys.executable, "-m", "uvicorn", "api:app", "--port", str(port)]
        with running(*command, cwd=FOLDER, env=env) as program:
            program.says("Application startup complete")
            ask = {"OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1"}
            result = finished(sys.executable, str(FOLDER / "client.py"), env=ask)

    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("completed A report on:")
