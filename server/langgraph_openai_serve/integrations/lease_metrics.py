"""`PrometheusLeases`: the metrics of run leases.

| name | type | labels |
| --- | --- | --- |
| lgos_leases_held | gauge | model |
| lgos_lease_acquisitions_total | counter | model, result |
| lgos_lease_hold_seconds | histogram | model, release |
| lgos_lease_conflicts_total | counter | model, op |
| lgos_lease_expirations_total | counter | model |
| lgos_lease_renewals_total | counter | result |
| lgos_lease_renewal_delay_seconds | histogram | |

Acquired = held + ended at every moment. A conflict is a write that was refused to a run without its lease: the proof that
two runs believed to own one operation.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from langgraph_openai_serve.ports.observer import (
    LeaseRelease,
    LeaseResult,
    LeaseWrite,
    RenewalResult,
)

HOLD_BUCKETS: Final = (1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200)
RENEWAL_BUCKETS: Final = (1, 2, 5, 10, 15, 20, 30, 45, 60, 90, 120)
OTHER: Final = "other"


class PrometheusLeases:
    """Counts run leases in a Prometheus registry.

    Args:
        registry: Where the metrics live.
        models: Public names of the models that this process serves.
    """

    def __init__(self, registry: CollectorRegistry, models: Iterable[str]) -> None:
        self._models = frozenset(models)
        self._held = Gauge(
            "lgos_leases_held",
            "Run leases that this process holds.",
            ["model"],
            registry=registry,
        )
        self._acquisitions = Counter(
            "lgos_lease_acquisitions",
            "Run leases that were asked for, by what came of it.",
            ["model", "result"],
            registry=registry,
        )
        self._hold = Histogram(
            "lgos_lease_hold_seconds",
            "Seconds that run leases were held, by why they ended.",
            ["model", "release"],
            buckets=HOLD_BUCKETS,
            registry=registry,
        )
        self._conflicts = Counter(
            "lgos_lease_conflicts",
            "Writes that were refused to a run without its lease.",
            ["model", "op"],
            registry=registry,
        )
        self._expirations = Counter(
            "lgos_lease_expirations",
            "Expired run leases of holders that are gone, taken over by this process.",
            ["model"],
            registry=registry,
        )
        self._renewals = Counter(
            "lgos_lease_renewals",
            "Run leases in renewals, by what came of it.",
            ["result"],
            registry=registry,
        )
        self._renewal_delay = Histogram(
            "lgos_lease_renewal_delay_seconds",
            "Seconds between two successful renewals of this process.",
            buckets=RENEWAL_BUCKETS,
            registry=registry,
        )
        for model in self._models:
            self._create_lease_children(model)
        for renewal in RenewalResult:
            self._renewals.labels(renewal)

    def lease_settled(self, model: str, result: LeaseResult) -> None:
        """Count a lease that was asked for."""
        self._acquisitions.labels(self._known(model), result).inc()
        if result is LeaseResult.OK:
            self._held.labels(self._known(model)).inc()

    def lease_ended(self, model: str, release: LeaseRelease, seconds: float) -> None:
        """Observe how long a lease was held."""
        self._held.labels(self._known(model)).dec()
        self._hold.labels(self._known(model), release).observe(seconds)

    def lease_write_refused(self, model: str, write: LeaseWrite) -> None:
        """Count a write that was refused."""
        self._conflicts.labels(self._known(model), write).inc()

    def leases_renewed(self, result: RenewalResult, leases: int) -> None:
        """Count renewed leases."""
        self._renewals.labels(result).inc(leases)

    def renewal_delayed(self, seconds: float) -> None:
        """Observe the time between two renewals."""
        self._renewal_delay.observe(seconds)

    def lease_expired(self, model: str) -> None:
        """Count a lease that was taken over."""
        self._expirations.labels(self._known(model)).inc()

    def _known(self, model: str) -> str:
        return model if model in self._models else OTHER

    def _create_lease_children(self, model: str) -> None:
        self._held.labels(model)
        self._expirations.labels(model)
        for result in LeaseResult:
            self._acquisitions.labels(model, result)
        for release in LeaseRelease:
            self._hold.labels(model, release)
        for write in LeaseWrite:
            self._conflicts.labels(model, write)
