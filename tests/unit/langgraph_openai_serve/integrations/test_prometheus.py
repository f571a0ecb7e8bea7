from __future__ import annotations

import urllib.request

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from langgraph_openai_serve.integrations.prometheus import (
    PrometheusObserver,
    process_registry,
    served_metrics,
)
from langgraph_openai_serve.ports.observer import Api, Mode, RunInfo, RunStatus

STREAM = RunInfo("m", Api.RESPONSES, Mode.STREAM)


@pytest.fixture
def metrics() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def observer(metrics: CollectorRegistry) -> PrometheusObserver:
    return PrometheusObserver(metrics, ["m"])


def test_all_series_exist_at_zero(metrics: CollectorRegistry, observer: PrometheusObserver) -> None:
    labels = {"model": "m", "api": "responses", "mode": "stream"}

    assert metrics.get_sample_value("lgos_runs_created_total", labels) == 0
    for status in RunStatus:
        finished = {**labels, "status": status}
        assert metrics.get_sample_value("lgos_runs_finished_total", finished) == 0
    assert metrics.get_sample_value("lgos_draining") == 0
    observer.drain_started()
    assert metrics.get_sample_value("lgos_draining") == 1


@pytest.mark.parametrize("status", RunStatus)
def test_run_is_counted_from_creation_to_end(
    metrics: CollectorRegistry, observer: PrometheusObserver, status: RunStatus
) -> None:
    observer.run_created(STREAM)
    assert metrics.get_sample_value("lgos_runs_in_progress", {"model": "m", "mode": "stream"}) == 1
    observer.first_output(STREAM, 0.3)
    observer.run_ended(STREAM, status, 90)

    labels = {"model": "m", "api": "responses", "mode": "stream", "status": status.value}
    assert metrics.get_sample_value("lgos_runs_finished_total", labels) == 1
    assert metrics.get_sample_value("lgos_runs_in_progress", {"model": "m", "mode": "stream"}) == 0
    first = {"model": "m", "mode": "stream", "le": "0.5"}
    assert metrics.get_sample_value("lgos_run_first_output_seconds_bucket", first) == 1
    coarse = status.value if status in {RunStatus.COMPLETED, RunStatus.FAILED} else "other"
    took = {"model": "m", "mode": "stream", "status": coarse, "le": "120.0"}
    assert metrics.get_sample_value("lgos_run_duration_seconds_bucket", took) == 1


def test_labels_never_come_from_a_caller(
    metrics: CollectorRegistry, observer: PrometheusObserver
) -> None:
    sizes = set()
    for number in range(100):
        observer.fields_ignored("m", [f"field{number}", f"input[{number}].x", "temperature"])
        run = RunInfo(f"model{number}", Api.RESPONSES, Mode.SYNC)
        observer.run_created(run)
        observer.fields_ignored(run.model, ["n"])
        text = generate_latest(metrics)
        sizes.add(text.count(b"\n"))

    assert b"field7" not in text
    assert b"model7" not in text
    assert len(sizes) == 1
    ignored = {"model": "m", "field": "input"}
    assert metrics.get_sample_value("lgos_ignored_fields_total", ignored) == 100


def test_metrics_are_served_on_a_port_of_their_own() -> None:
    registry = process_registry()
    with served_metrics(registry, host="127.0.0.1", port=0) as port:
        url = f"http://127.0.0.1:{port}/metrics"
        with urllib.request.urlopen(url, timeout=5) as answer:
            text = answer.read()

    assert b"process_resident_memory_bytes" in text
    assert b"python_gc_collections_total" in text
