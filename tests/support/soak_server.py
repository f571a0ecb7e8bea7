"""A server process for soak tests: `python -m support.soak_server PORT`; tells of itself on `/process`."""

from __future__ import annotations

import asyncio
import gc
import socket
import sys
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Response
from langgraph.checkpoint.memory import InMemorySaver
from prometheus_client import CollectorRegistry, generate_latest

from langgraph_openai_serve import GraphRegistry, LanggraphOpenaiServe
from langgraph_openai_serve.integrations.prometheus import PrometheusObserver
from support.graphs import Probe, configs
from support.interrupt_graphs import interrupt_configs


def resident_kib() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def main() -> None:
    probe = Probe()
    metrics = CollectorRegistry()
    pausing = interrupt_configs(probe, InMemorySaver())["ask_once"]
    graphs = {**configs(probe), "ask_once": pausing}
    models = GraphRegistry(graphs, observer=PrometheusObserver(metrics, graphs))
    api = LanggraphOpenaiServe(models).bind_openai_api()
    around = FastAPI()

    @around.get("/process")
    async def process() -> dict[str, Any]:
        gc.collect()
        return {
            "resident_kib": resident_kib(),
            "tasks": len(asyncio.all_tasks()),
            "open_requests": api.open_requests,
            "objects": len(gc.get_objects()),
            "blocks": sys.getallocatedblocks(),
        }

    @around.get("/metrics")
    async def exposition() -> Response:
        return Response(generate_latest(metrics))

    around.mount("/", api.app)
    # Small kernel buffers, so that what a client does not read waits in this process.
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=512)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16 * 1024)
    uvicorn.Server(uvicorn.Config(around, log_level="critical")).run(sockets=[listener])


if __name__ == "__main__":
    main()
