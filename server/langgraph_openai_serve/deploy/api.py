"""`lgos serve`: the API process of one model, as it runs in the user's graph image.

Reads its entry of the mounted registry, loads the graph, serves it, and drains on SIGTERM. Metrics are answered on a
second port for as long as the process lives. A mistake at start is one sentence and exit code 1.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Final

from langgraph_openai_serve.deploy.background import background_backend
from langgraph_openai_serve.deploy.imports import described
from langgraph_openai_serve.deploy.model import declared_model, load_model, observed_model
from langgraph_openai_serve.deploy.process import (
    fast_loop,
    import_from_working_folder,
    log_to_stderr,
    report_failure,
)
from langgraph_openai_serve.deploy.scope_guard import ScopeGuard, owner_of
from langgraph_openai_serve.deploy.server import (
    StopSignal,
    listen,
    serve_until,
)
from langgraph_openai_serve.deploy.settings import ServeSettings, load_settings, termination_log
from langgraph_openai_serve.errors import ConfigurationError
from langgraph_openai_serve.graph.config import GraphFeature
from langgraph_openai_serve.web.exchange import Limits
from langgraph_openai_serve.web.server import LanggraphOpenaiServe
from lgos_contract.environment import ENV_PORT
from lgos_contract.scope import ScopeVerifier

logger = logging.getLogger(__name__)

PROGRAM: Final = "lgos serve"


def serve(environ: Mapping[str, str] = os.environ) -> int:
    """Serve one model until SIGTERM.

    Returns:
        0 after a drain; 1 when the model cannot be served, after a sentence that says why.
    """
    try:
        settings = load_settings(environ)
        log_to_stderr(settings.log_level)
        import_from_working_folder()
        with asyncio.Runner(loop_factory=fast_loop()) as runner:
            runner.run(_serve(settings))
    except ConfigurationError as error:
        logger.debug("the API cannot start", exc_info=True)
        report_failure(PROGRAM, error.message, termination_log(environ))
        return 1
    except Exception as error:
        logger.exception("the API cannot go on")
        report_failure(PROGRAM, f"unexpected failure: {described(error)}", termination_log(environ))
        return 1
    return 0


async def _serve(settings: ServeSettings) -> None:
    stop = StopSignal()
    try:
        async with AsyncExitStack() as resources:
            await _serve_model(settings, stop, resources)
    except asyncio.CancelledError:
        if not stop.requested.is_set():
            raise
        logger.info("stopped before the model was served")


async def _serve_model(
    settings: ServeSettings, stop: StopSignal, resources: AsyncExitStack
) -> None:
    declaration = await declared_model(settings)
    with observed_model(declaration, settings) as observer:
        models = await load_model(declaration, settings, resources, observer)
        runs_apart = GraphFeature.BACKGROUND in declaration.features
        limits = Limits(
            body_bytes=settings.max_body_bytes, keep_alive_seconds=settings.sse_keep_alive_seconds
        )
        api = LanggraphOpenaiServe(
            registry=models,
            checkpoint_scope=owner_of if settings.scope_keys else None,
            background=background_backend(settings) if runs_apart else None,
            limits=limits,
        ).bind_openai_api()
        listener = listen(settings.host, settings.port, port_setting=ENV_PORT)
        stop.started()
        await serve_until(
            stop.requested,
            api,
            listener,
            app=_guarded(api, settings, declaration.id),
            drain_seconds=settings.drain_seconds,
            keep_alive_seconds=settings.keep_alive_seconds,
            started=lambda: logger.info("serving %s on port %d", declaration.id, settings.port),
            draining=observer.drain_started,
        )


def _guarded(api: LanggraphOpenaiServe, settings: ServeSettings, model: str) -> ScopeGuard | None:
    if not settings.scope_keys:
        return None
    return ScopeGuard(api.app, ScopeVerifier(settings.scope_keys, model))
