"""The program's start, its ports and its end."""

from __future__ import annotations

import asyncio
import urllib.error
import urllib.request
from pathlib import Path
from typing import cast

import pytest
from prometheus_client import CollectorRegistry, Gauge

from lgos_kube.client import KubeClient
from lgos_operator.health import serve_http
from lgos_operator.metrics import Metrics
from lgos_operator.program import Operator, run
from lgos_operator.settings import Settings
from lgos_operator.sweep import CrdMissingError
from operator_kit.fake_api import FakeApi
from operator_kit.process import free_port

MODELS = "/apis/lgos.dev/v1alpha1/langgraphmodels"


def fetch(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


async def test_health_and_metrics_answer_on_their_ports() -> None:
    registry = CollectorRegistry()
    Gauge("up", "Up.", registry=registry).set(1)
    health, metrics = free_port(), free_port()
    async with serve_http(
        health_port=health,
        metrics_port=metrics,
        alive=lambda: "",
        ready=lambda: "waiting",
        metrics=registry,
    ):
        assert await asyncio.to_thread(fetch, health, "/healthz") == (200, "ok")
        assert await asyncio.to_thread(fetch, health, "/readyz") == (503, "waiting")
        code, text = await asyncio.to_thread(fetch, metrics, "/metrics")
        assert code == 200
        assert "up 1.0" in text


async def test_without_the_crd_the_operator_ends_with_a_sentence() -> None:
    api = FakeApi()
    api.failures["GET", MODELS] = (404, "not found")
    operator = Operator(cast("KubeClient", api), Settings(), Metrics())
    with pytest.raises(CrdMissingError, match="install the chart"):
        await operator.run()


async def test_a_signal_before_the_api_server_answers_ends_the_operator() -> None:
    config = Settings()
    from lgos_kube.config import KubeConfig

    async with KubeClient(KubeConfig("http://127.0.0.1:1"), user_agent="test") as client:
        operator = Operator(client, config, Metrics())
        asyncio.get_running_loop().call_later(0.05, operator.stop.set)
        async with asyncio.timeout(5):
            await operator.run()


def test_a_bad_setting_is_one_sentence_and_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        run({"LGOS_LOG_LEVEL": "loud"})
    assert caught.value.code == 1
    assert capsys.readouterr().err.startswith("lgos operator: LGOS_LOG_LEVEL is 'loud'")


def test_missing_credentials_are_one_sentence_and_code_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    with pytest.raises(SystemExit) as caught:
        run({})
    assert caught.value.code == 1
    assert "cannot read the kubeconfig" in capsys.readouterr().err
