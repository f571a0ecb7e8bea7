"""Metrics of paused runs, and the page that lists them beside those of leases."""

from __future__ import annotations

import math
import re
from pathlib import Path

from prometheus_client import CollectorRegistry

from langgraph_openai_serve.integrations.lease_metrics import PrometheusLeases
from langgraph_openai_serve.integrations.pause_metrics import PrometheusPauses

PAGE = Path(__file__).parents[4] / "docs/reference/leases.md"


def names(registry: CollectorRegistry) -> set[str]:
    return {
        f"{metric.name}_total" if metric.type == "counter" else metric.name
        for metric in registry.collect()
    }


def test_paused_runs_and_their_age_are_shown_until_nobody_knows() -> None:
    registry = CollectorRegistry()
    pauses = PrometheusPauses(registry)

    pauses.runs_paused("m", 3, 90.5)
    assert registry.get_sample_value("lgos_paused_runs", {"model": "m"}) == 3
    assert registry.get_sample_value("lgos_oldest_paused_run_seconds", {"model": "m"}) == 90.5

    pauses.runs_paused("m", math.nan, math.nan)
    for name in names(registry):
        value = registry.get_sample_value(name, {"model": "m"})
        assert value is not None
        assert math.isnan(value)


def test_page_of_leases_lists_every_metric_of_leases_and_pauses() -> None:
    registry = CollectorRegistry()
    PrometheusLeases(registry, ["m"])
    PrometheusPauses(registry)

    assert set(re.findall(r"^\| `(lgos_\w+)` \|", PAGE.read_text(), re.MULTILINE)) == names(
        registry
    )
