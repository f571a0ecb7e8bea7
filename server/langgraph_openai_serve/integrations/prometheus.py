"""`PrometheusObserver`: the metrics of runs.

| name | type | labels |
| --- | --- | --- |
| lgos_runs_created_total | counter | model, api, mode |
| lgos_runs_finished_total | counter | model, api, mode, status |
| lgos_runs_in_progress | gauge | model, mode |
| lgos_run_duration_seconds | histogram | model, mode, status |
| lgos_run_first_output_seconds | histogram | model, mode |
| lgos_ignored_fields_total | counter | model, field |
| lgos_build_info | gauge | version, python, langgraph |
| lgos_draining | gauge | |

Labels have few values: the model comes from the registry, never from a request. All children exist at zero from the
start, so a rate has a beginning. Those of run leases are in `lease_metrics`, those of paused runs in
`pause_metrics`.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    ProcessCollector,
    start_http_server,
)

from langgraph_openai_serve.integrations.lease_metrics import OTHER, PrometheusLeases
from langgraph_openai_serve.integrations.pause_metrics import PrometheusPauses
from langgraph_openai_serve.ports.observer import Api, Mode, RunInfo, RunStatus

DURATION_BUCKETS: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200)
FIRST_OUTPUT_BUCKETS: Final = (0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60)
COUNTED_FIELDS: Final = frozenset(
    {
        "include",
        "input",
        "max_completion_tokens",
        "max_output_tokens",
        "max_tokens",
        "messages",
        "n",
        "parallel_tool_calls",
        "prompt_cache_key",
        "reasoning",
        "reasoning_effort",
        "response_format",
        "seed",
        "service_tier",
        "stop",
        "stream_options",
        "temperature",
        "text",
        "tools",
        "top_p",
        "truncation",
    }
)
"""Names that the metric of ignored fields tells apart; a caller cannot add to them."""
SERVED_MODES: Final = (Mode.SYNC, Mode.STREAM, Mode.BACKGROUND)


@dataclass(frozen=True, slots=True)
class _Meters:
    created: Counter
    in_progress: Gauge
    finished: dict[RunStatus, Counter]
    duration: dict[RunStatus, Histogram]
    first_output: Histogram


class PrometheusObserver(PrometheusLeases, PrometheusPauses):
    """Counts runs, run leases and paused runs in a Prometheus registry.

    Args:
        registry: Where the metrics live; one observer a registry.
        models: Public names of the models that this process serves.
    """

    def __init__(self, registry: CollectorRegistry, models: Iterable[str]) -> None:
        PrometheusLeases.__init__(self, registry, models := tuple(models))
        PrometheusPauses.__init__(self, registry)
        self._created = Counter(
            "lgos_runs_created",
            "Runs that were accepted.",
            ["model", "api", "mode"],
            registry=registry,
        )
        self._finished = Counter(
            "lgos_runs_finished",
            "Runs that ended, by how.",
            ["model", "api", "mode", "status"],
            registry=registry,
        )
        self._in_progress = Gauge(
            "lgos_runs_in_progress",
            "Runs that execute in this process.",
            ["model", "mode"],
            registry=registry,
        )
        self._duration = Histogram(
            "lgos_run_duration_seconds",
            "Seconds from creation to the end of a run.",
            ["model", "mode", "status"],
            buckets=DURATION_BUCKETS,
            registry=registry,
        )
        self._first_output = Histogram(
            "lgos_run_first_output_seconds",
            "Seconds from creation to the first output of a streamed run.",
            ["model", "mode"],
            buckets=FIRST_OUTPUT_BUCKETS,
            registry=registry,
        )
        self._ignored = Counter(
            "lgos_ignored_fields",
            "Requests with a field that the model ignored, by field.",
            ["model", "field"],
            registry=registry,
        )
        self._draining = Gauge(
            "lgos_draining", "1 from SIGTERM until the process has ended.", registry=registry
        )
        self._children: dict[RunInfo, _Meters] = {}
        for model in models:
            self._create_children(model)
        _build_info(registry)

    def fields_ignored(self, model: str, fields: Sequence[str]) -> None:
        """Count ignored request fields by their top-level name."""
        for name in {_top_level(field) for field in fields}:
            self._ignored.labels(model if model in self._models else OTHER, name).inc()

    def run_created(self, run: RunInfo) -> None:
        """Count an accepted run."""
        meters = self._meters(run)
        meters.created.inc()
        meters.in_progress.inc()

    def first_output(self, run: RunInfo, seconds: float) -> None:
        """Observe the wait for the first output."""
        self._meters(run).first_output.observe(seconds)

    def run_ended(self, run: RunInfo, status: RunStatus, seconds: float) -> None:
        """Count a finished run and observe its duration."""
        meters = self._meters(run)
        meters.in_progress.dec()
        meters.finished[status].inc()
        meters.duration[status].observe(seconds)

    def drain_started(self) -> None:
        """Show that the process takes no more work."""
        self._draining.set(1)

    def _meters(self, run: RunInfo) -> _Meters:
        """Return the children of a run; looking labels up costs more than counting."""
        meters = self._children.get(run)
        if meters is None:
            model = run.model if run.model in self._models else OTHER
            meters = self._children[run] = self._labelled(RunInfo(model, run.api, run.mode))
        return meters

    def _labelled(self, run: RunInfo) -> _Meters:
        labels = (run.model, run.api, run.mode)
        return _Meters(
            created=self._created.labels(*labels),
            in_progress=self._in_progress.labels(run.model, run.mode),
            finished={status: self._finished.labels(*labels, status) for status in RunStatus},
            duration={
                status: self._duration.labels(run.model, run.mode, _coarse(status))
                for status in RunStatus
            },
            first_output=self._first_output.labels(run.model, run.mode),
        )

    def _create_children(self, model: str) -> None:
        for mode in SERVED_MODES:
            for api in Api:
                self._meters(RunInfo(model, api, mode))


def _top_level(path: str) -> str:
    name = re.split(r"[.\[]", path, maxsplit=1)[0]
    return name if name in COUNTED_FIELDS else OTHER


def process_registry() -> CollectorRegistry:
    """Return a registry of its own with the metrics of the process and of its garbage collector."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    GCCollector(registry=registry)
    return registry


@contextmanager
def served_metrics(registry: CollectorRegistry, *, host: str, port: int) -> Iterator[int]:
    """Answer `GET /metrics` on a thread of its own, so that a busy event loop does not delay a scrape.

    Yields:
        The port; of use where `port` is 0.

    Raises:
        OSError: The port is taken.
    """
    server, thread = start_http_server(port, host, registry)
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _coarse(status: RunStatus) -> str:
    return status.value if status in {RunStatus.COMPLETED, RunStatus.FAILED} else OTHER


def _build_info(registry: CollectorRegistry) -> None:
    info = Gauge(
        "lgos_build_info",
        "Versions, as labels of a constant 1.",
        ["version", "python", "langgraph"],
        registry=registry,
    )
    info.labels(
        version("langgraph-openai-serve"), platform.python_version(), version("langgraph")
    ).set(1)
