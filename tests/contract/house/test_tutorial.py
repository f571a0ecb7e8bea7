"""What docs/tutorials/first-graph.md tells a reader to do works as it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from house.serving import BIN, environment, free_port, serving

ROOT = Path(__file__).parents[3]
GREETER = ROOT / "docs/tutorials/greeter"


def ask(port: int) -> list[str]:
    result = subprocess.run(
        [sys.executable, "ask.py"],
        cwd=GREETER,
        env=environment(OPENAI_BASE_URL=f"http://127.0.0.1:{port}/v1", OPENAI_API_KEY="unused"),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def test_greeter_in_an_application_answers_the_tutorials_client() -> None:
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "app:app", "--port", str(port)]
    with serving(command, port, GREETER, environment()):
        assert ask(port) == ["Hello, Ada!", "Good morning, Grace!"]


def test_greeter_manifest_answers_the_tutorials_client() -> None:
    port = free_port()
    command = [BIN / "lgos", "dev", "-f", "greeter.yaml", "--port", str(port)]
    with serving(command, port, GREETER, environment()):
        assert ask(port) == ["Welcome, Ada!", "Good morning, Grace!"]


@pytest.mark.parametrize("sentence", ["Welcome, Ada!", "Good morning, Grace!"])
def test_tutorial_tells_what_its_client_prints(sentence: str) -> None:
    assert f"`{sentence}`" in (ROOT / "docs/tutorials/first-graph.md").read_text()


def test_lgos_check_accepts_the_tutorials_graph() -> None:
    result = subprocess.run(
        [BIN / "lgos", "check", "greeter:config"],
        cwd=GREETER, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "word" in result.stdout
