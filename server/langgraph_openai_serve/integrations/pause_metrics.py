"""`PrometheusPauses`: the metrics of runs that wait for answers.

| name | type | labels |
| --- | --- | --- |
| lgos_paused_runs | gauge | model |
| lgos_oldest_paused_run_seconds | gauge | model |

Every process of a model counts the same runs: `max by (model)`, never `sum`. NaN while the database does not answer.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Gauge


class PrometheusPauses:
    """Shows paused runs in a Prometheus registry.

    Args:
        registry: Where the metrics live.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._paused = Gauge(
            "lgos_paused_runs",
            "Runs of the model that wait for answers, in all processes.",
            ["model"],
            registry=registry,
        )
        self._oldest = Gauge(
            "lgos_oldest_paused_run_seconds",
            "Seconds that the oldest of them has waited.",
            ["model"],
            registry=registry,
        )

    def runs_paused(self, model: str, runs: float, oldest_seconds: float) -> None:
        """Show how many runs of a model of this process wait."""
        self._paused.labels(model).set(runs)
        self._oldest.labels(model).set(oldest_seconds)
