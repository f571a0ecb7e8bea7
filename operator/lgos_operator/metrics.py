"""The operator's metrics. Counters are counted where things happen; gauges are read from the caches at each scrape."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from lgos_operator.resource import Object, model_id_of

_RECONCILE_BUCKETS: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0)
_PATH = re.compile(
    r"^/apis?(?:/[^/]+)?/v[^/]+(?:/namespaces/[^/]+)?/(?P<resource>[a-z]+)(?:/[^/]+(?:/(?P<sub>[a-z]+))?)?$"
)
RESULTS: Final = ("noop", "applied", "waiting", "rejected", "paused", "error")


class Metrics:
    """All metrics of one operator, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._reconciles = Counter(
            "lgos_operator_reconcile",
            "Looks at one LanggraphModel, by result.",
            ["result"],
            registry=self.registry,
        )
        for result in RESULTS:
            self._reconciles.labels(result)
        self.reconcile_seconds = Histogram(
            "lgos_operator_reconcile_seconds",
            "Duration of one look at a LanggraphModel.",
            buckets=_RECONCILE_BUCKETS,
            registry=self.registry,
        )
        self._requests = Counter(
            "lgos_operator_api_requests",
            "Requests to the Kubernetes API besides watches; code 0 is no answer.",
            ["verb", "resource", "code"],
            registry=self.registry,
        )
        self._repairs = Counter(
            "lgos_operator_drift_repairs",
            "Objects that others had changed and that were applied again.",
            ["kind"],
            registry=self.registry,
        )

    def reconciled(self, result: str, seconds: float) -> None:
        """Count one look at a LanggraphModel."""
        self._reconciles.labels(result).inc()
        self.reconcile_seconds.observe(seconds)

    def requested(self, method: str, path: str, code: int) -> None:
        """Count one request to the Kubernetes API."""
        match = _PATH.match(path)
        resource = "other"
        if match is not None:
            resource = "/".join(part for part in match.group("resource", "sub") if part)
        self._requests.labels(method, resource, str(code)).inc()

    def repaired(self, kind: str) -> None:
        """Count one repair of an object that others had changed."""
        self._repairs.labels(kind).inc()

    def watch(
        self,
        *,
        models: Iterable[Object],
        queue: Callable[[], tuple[int, float]],
        objects: Callable[[], dict[str, int]],
        restarts: Callable[[], dict[str, int]],
    ) -> None:
        """Read gauges at each scrape.

        Args:
            models: All LanggraphModels; iterated again at each scrape.
            queue: Depth of the work queue and the seconds its oldest key has waited.
            objects: Objects in the caches, by kind.
            restarts: Interrupted watches, by resource.
        """
        self.registry.register(_ModelCollector(models))
        self.registry.register(_StateCollector(queue, objects, restarts))


class _ModelCollector(Collector):
    def __init__(self, models: Iterable[Object]) -> None:
        self._models = models

    def collect(self) -> Iterator[GaugeMetricFamily]:
        info = GaugeMetricFamily(
            "lgos_model_info",
            "One LanggraphModel: its name, public name and image.",
            labels=["namespace", "model", "model_id", "image"],
        )
        condition = GaugeMetricFamily(
            "lgos_model_condition",
            "1 for the status that a condition of a LanggraphModel has, 0 for the others.",
            labels=["namespace", "model", "type", "status"],
        )
        for obj in self._models:
            metadata = obj["metadata"]
            where = [metadata["namespace"], metadata["name"]]
            image = (obj.get("spec") or {}).get("image", "")
            info.add_metric([*where, model_id_of(obj), image], 1)
            for found in (obj.get("status") or {}).get("conditions") or ():
                for status in ("True", "False", "Unknown"):
                    value = float(found.get("status") == status)
                    condition.add_metric([*where, found["type"], status], value)
        yield info
        yield condition


class _StateCollector(Collector):
    def __init__(
        self,
        queue: Callable[[], tuple[int, float]],
        objects: Callable[[], dict[str, int]],
        restarts: Callable[[], dict[str, int]],
    ) -> None:
        self._queue = queue
        self._objects = objects
        self._restarts = restarts

    def collect(self) -> Iterator[GaugeMetricFamily | CounterMetricFamily]:
        depth, oldest = self._queue()
        yield GaugeMetricFamily(
            "lgos_operator_queue_depth", "LanggraphModels that wait for a look or get one.", depth
        )
        yield GaugeMetricFamily(
            "lgos_operator_queue_oldest_seconds",
            "Time that the first in the queue has waited.",
            oldest,
        )
        objects = GaugeMetricFamily(
            "lgos_operator_objects", "Objects in the caches, by kind.", labels=["kind"]
        )
        for kind, number in self._objects().items():
            objects.add_metric([kind], number)
        yield objects
        restarts = CounterMetricFamily(
            "lgos_operator_watch_restarts",
            "Watches that ended otherwise than planned.",
            labels=["resource"],
        )
        for resource, number in self._restarts().items():
            restarts.add_metric([resource], number)
        yield restarts
