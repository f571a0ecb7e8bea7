"""LGOS as it is deployed: all checks, run metrics on."""

from __future__ import annotations

from graphs import build
from prometheus_client import CollectorRegistry

from langgraph_openai_serve import GraphConfig, GraphRegistry, LanggraphOpenaiServe
from langgraph_openai_serve.integrations.prometheus import PrometheusObserver

GRAPHS = build()
observer = PrometheusObserver(CollectorRegistry(), GRAPHS)
registry = GraphRegistry(
    {name: GraphConfig(graph=graph, description="benchmark") for name, graph in GRAPHS.items()},
    observer=observer,
)
app = LanggraphOpenaiServe(registry).bind_openai_api().app
