"""`lgos worker`: runs the background Responses of one model, as it runs in the user's graph image.

Reads its entry of the mounted registry like `lgos serve`, loads the graph inside the engine's worker, and takes runs of the
model's own task. On SIGTERM it takes no more and waits for those that run. A mistake at start is one sentence and exit code 1.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack
from typing import Final

from langgraph_openai_serve.deploy.background import response_task
from langgraph_openai_serve.deploy.declaration import Declaration
from langgraph_openai_serve.deploy.imports import described
from langgraph_openai_serve.deploy.model import declared_model, load_model, observed_model
from langgraph_openai_serve.deploy.process import (
    import_from_working_folder,
    log_to_stderr,
    report_failure,
)
from langgraph_openai_serve.deploy.settings import ServeSettings, load_settings, termination_log
from langgraph_openai_serve.errors import ConfigurationError
from langgraph_openai_serve.graph.config import GraphFeature
from langgraph_openai_serve.graph.registry import GraphRegistry

logger = logging.getLogger(__name__)

PROGRAM: Final = "lgos worker"


def work(environ: Mapping[str, str] = os.environ) -> int:
    """Run one model's background Responses until SIGTERM.

    Returns:
        0 after a drain; 1 when the model cannot be run, after a sentence that says why.
    """
    try:
        settings = load_settings(environ)
        log_to_stderr(settings.log_level)
        import_from_working_folder()
        declaration = asyncio.run(declared_model(settings))
        _work(declaration, settings)
    except ConfigurationError as error:
        report_failure(PROGRAM, error.message, termination_log(environ))
        return 1
    except Exception as error:
        logger.exception("the worker cannot go on")
        report_failure(PROGRAM, f"unexpected failure: {described(error)}", termination_log(environ))
        return 1
    return 0


def _work(declaration: Declaration, settings: ServeSettings) -> None:
    if GraphFeature.BACKGROUND not in declaration.features:
        msg = f"model '{declaration.id}' does not list the feature background, so it has no worker"
        raise ConfigurationError(msg)
    failures: list[Exception] = []
    with observed_model(declaration, settings) as observer:

        async def lifespan() -> AsyncGenerator[GraphRegistry, None]:
            async with AsyncExitStack() as opened:
                try:
                    models = await load_model(declaration, settings, opened, observer)
                except Exception as error:
                    failures.append(error)  # the engine's worker would only log it and end well
                    raise
                logger.info("running %s in the background", declaration.id)
                yield models

        hatchet, task = response_task(settings)
        worker = hatchet.worker(
            name=f"{settings.model}-{socket.gethostname()}",
            slots=settings.worker_slots,
            workflows=[task],
            lifespan=lifespan,
        )
        try:
            worker.start()
        except SystemExit as end:  # how the engine's worker says that it has ended
            logger.info("the worker has ended: %s", end.code)
    if failures:
        raise failures[0]
