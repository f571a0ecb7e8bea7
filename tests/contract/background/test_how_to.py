"""The programs of the how-to page, as a reader runs them: `background/in_one_process.py` and `background/client.py`."""

from __future__ import annotations

import sys

from house.serving import free_port
from support.programs import ROOT, finished, running

FOLDER = ROOT / "examples/background"


def test_client_polls_a_report_from_one_process() -> None:
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "in_one_process:app", "--port", str(port)]
    with running(*command, cwd=FOLDER) as program:
        program.says("Application startup complete")
        env = {"OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1"}
        result = finished(sys.executable, str(FOLDER / "client.py"), env=env)

    assert result.returncode == 0, result.stderr
    risks = "Summarize the migration risks and next actions."
    assert result.stdout == f"completed A report on: {risks}\n"
