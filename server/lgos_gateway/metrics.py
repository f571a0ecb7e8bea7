"""The gateway's metrics, in a registry of their own.

| name | type | labels |
| --- | --- | --- |
| lgos_gateway_requests_total | counter | model, code |
| lgos_gateway_refused_total | counter | reason |
| lgos_gateway_upstream_seconds | histogram | model |
| lgos_gateway_streams_open | gauge | |
| lgos_gateway_models | gauge | |
| lgos_gateway_api_keys | gauge | |
| lgos_gateway_registry_age_seconds | gauge | |
| lgos_build_info | gauge | version, python, component |

`model` is a name of the catalog, else `other`: a client cannot make new label values. `code` is the HTTP status; 499 is
a client that left, and 502 also counts answers that a model broke off after their headers.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable
from importlib.metadata import version
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

from lgos_gateway.errors import Reason

OTHER: Final = "other"
CLIENT_LEFT: Final = 499
BUCKETS: Final = (
    0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300
)  # fmt: skip


class Metrics:
    """What the gateway counts."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        ProcessCollector(registry=self.registry)
        self._requests = Counter(
            "lgos_gateway_requests",
            "Requests for a model by the HTTP status that the client got (499: it left).",
            ["model", "code"],
            registry=self.registry,
        )
        self._refused = Counter(
            "lgos_gateway_refused",
            "Requests that the gateway refused, by the reason.",
            ["reason"],
            registry=self.registry,
        )
        for reason in Reason:
            self._refused.labels(reason)
        self.api_keys = Gauge(
            "lgos_gateway_api_keys",
            "API keys that are known; 0 also when requests need none.",
            registry=self.registry,
        )
        self._upstream = Histogram(
            "lgos_gateway_upstream_seconds",
            "Time from sending a request to a model until its response headers.",
            ["model"],
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.streams_open = Gauge(
            "lgos_gateway_streams_open",
            "Event streams that pass through at the moment.",
            registry=self.registry,
        )
        self._models = Gauge(
            "lgos_gateway_models", "Models that are listed and routed.", registry=self.registry
        )
        self._age = Gauge(
            "lgos_gateway_registry_age_seconds",
            "Time since the API server last confirmed what the gateway knows of the registry.",
            registry=self.registry,
        )
        build = Gauge(
            "lgos_build_info",
            "Always 1; the labels name what runs.",
            ["version", "python", "component"],
            registry=self.registry,
        )
        build.labels(version("langgraph-openai-serve"), platform.python_version(), "gateway").set(1)
        self._requests.labels(OTHER, "404")

    def models_changed(self, models: Iterable[str]) -> None:
        """Take the names of all models; each has its series from the start, at 0."""
        names = list(models)
        self._models.set(len(names))
        for model in names:
            self._requests.labels(model, "200")
            self._upstream.labels(model)

    def watch_age(self, age_seconds: Callable[[], float]) -> None:
        """Read the registry's age from a function, when it is scraped."""
        self._age.set_function(age_seconds)

    def answered(self, model: str, code: int) -> None:
        """Count a request for a model."""
        self._requests.labels(model, str(code)).inc()

    def refused(self, reason: Reason) -> None:
        """Count a request that the gateway refused."""
        self._refused.labels(reason).inc()

    def headers_came(self, model: str, seconds: float) -> None:
        """Note how long a model took until its response headers."""
        self._upstream.labels(model).observe(seconds)
