from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from langgraph_openai_serve.integrations.lease_metrics import PrometheusLeases
from langgraph_openai_serve.ports.observer import (
    LeaseRelease,
    LeaseResult,
    LeaseWrite,
    RenewalResult,
)


@pytest.fixture
def metrics() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def leases(metrics: CollectorRegistry) -> PrometheusLeases:
    return PrometheusLeases(metrics, ["m"])


@pytest.mark.usefixtures("leases")
def test_all_series_exist_at_zero(metrics: CollectorRegistry) -> None:
    model = {"model": "m"}
    for result in LeaseResult:
        labels = {**model, "result": result.value}
        assert metrics.get_sample_value("lgos_lease_acquisitions_total", labels) == 0
    for write in LeaseWrite:
        labels = {**model, "op": write.value}
        assert metrics.get_sample_value("lgos_lease_conflicts_total", labels) == 0
    for renewal in RenewalResult:
        labels = {"result": renewal.value}
        assert metrics.get_sample_value("lgos_lease_renewals_total", labels) == 0
    assert metrics.get_sample_value("lgos_leases_held", model) == 0
    assert metrics.get_sample_value("lgos_lease_expirations_total", model) == 0


def test_only_granted_leases_are_held_until_they_end(
    metrics: CollectorRegistry, leases: PrometheusLeases
) -> None:
    for result in LeaseResult:
        leases.lease_settled("m", result)
    assert metrics.get_sample_value("lgos_leases_held", {"model": "m"}) == 1

    leases.lease_ended("m", LeaseRelease.LOST, 42)

    assert metrics.get_sample_value("lgos_leases_held", {"model": "m"}) == 0
    held = {"model": "m", "release": "lost", "le": "60.0"}
    assert metrics.get_sample_value("lgos_lease_hold_seconds_bucket", held) == 1


def test_renewals_takeovers_and_refused_writes_are_counted(
    metrics: CollectorRegistry, leases: PrometheusLeases
) -> None:
    leases.leases_renewed(RenewalResult.OK, 1000)
    leases.renewal_delayed(20.5)
    leases.lease_expired("m")
    leases.lease_write_refused("m", LeaseWrite.CHECKPOINT)

    assert metrics.get_sample_value("lgos_lease_renewals_total", {"result": "ok"}) == 1000
    assert metrics.get_sample_value("lgos_lease_renewal_delay_seconds_bucket", {"le": "20.0"}) == 0
    assert metrics.get_sample_value("lgos_lease_renewal_delay_seconds_bucket", {"le": "30.0"}) == 1
    assert metrics.get_sample_value("lgos_lease_expirations_total", {"model": "m"}) == 1
    conflict = {"model": "m", "op": "checkpoint"}
    assert metrics.get_sample_value("lgos_lease_conflicts_total", conflict) == 1


def test_a_model_that_is_not_served_is_other(
    metrics: CollectorRegistry, leases: PrometheusLeases
) -> None:
    leases.lease_settled("made up", LeaseResult.CONTENDED)

    labels = {"model": "other", "result": "contended"}
    assert metrics.get_sample_value("lgos_lease_acquisitions_total", labels) == 1
