"""`execute_background_job`: one job to the JSON of its Response, the way a foreground request is answered."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from typing import Final
from uuid import UUID

from langgraph_openai_serve.errors import LgosError, RunBusy
from langgraph_openai_serve.graph.registry import GraphRegistry
from langgraph_openai_serve.ports.background import BackgroundJob
from langgraph_openai_serve.ports.observer import Mode
from langgraph_openai_serve.protocols import drive
from langgraph_openai_serve.protocols.codec import Caller
from langgraph_openai_serve.protocols.responses.decode import decode
from langgraph_openai_serve.protocols.responses.exchange import ResponseExchange
from langgraph_openai_serve.protocols.responses.kept import KeptResponse
from langgraph_openai_serve.run.opening import open_run

logger = logging.getLogger(__name__)

BUSY_SECONDS: Final = 150.0
"""How long a run waits for a lease that somebody else holds: a killed worker's is free after its time to live."""
BUSY_PAUSE: Final = 0.5


async def execute_background_job(job: BackgroundJob, run_id: str, registry: GraphRegistry) -> str:
    """Run a job and return its Response as JSON, whatever came of it.

    A mistake of the request that only shows now keeps its message; any other failure has a generic one.

    Args:
        job: What to run.
        run_id: The UUID that the engine gave the run.
        registry: The graphs of this process; the job's model must be among them.

    Raises:
        asyncio.CancelledError: The run was cancelled; it has no Response.
    """
    kept = KeptResponse(job, UUID(run_id))
    caller = Caller(job.scope, job.request_id, background=True, run_id=kept.run_id)
    try:
        exchange = decode(json.dumps(dict(job.request)).encode(), registry, caller)
        body = await _answer(kept.named(exchange), registry)
    except LgosError as error:
        logger.info("background run failed: model=%s run=%s: %s", job.model, run_id, error.message)
        body = kept.failed(error)
    return body.decode()


async def _answer(exchange: ResponseExchange, registry: GraphRegistry) -> bytes:
    """Run the graph, as soon as nobody else works on the same operation."""
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            async with open_run(
                registry,
                exchange.model,
                exchange.request,
                exchange.operation,
                mode=Mode.BACKGROUND,
            ) as run:
                return await drive.collect(run, exchange)
        except RunBusy:
            if time.monotonic() >= until:
                raise
        await asyncio.sleep(BUSY_PAUSE)
