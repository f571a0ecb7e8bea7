"""`watched_pauses`: tells an observer now and then how many runs wait for answers, and since when.

All processes of a model count the same rows, so each of them tells the same; whoever adds up takes the largest.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from langgraph_openai_serve.integrations.postgres.lease_table import FAILURES
from langgraph_openai_serve.integrations.postgres.paused import PausedRuns
from langgraph_openai_serve.ports.observer import PauseObserver

logger = logging.getLogger(__name__)

WATCH_SECONDS: Final = 60.0


@asynccontextmanager
async def watched_pauses(
    paused: PausedRuns,
    models: Sequence[str],
    observer: PauseObserver,
    *,
    every: float = WATCH_SECONDS,
) -> AsyncGenerator[None, None]:
    """Count for as long as the block lasts.

    Args:
        paused: What is counted.
        models: Public names of the models.
        observer: Told for each model; when the database does not answer, that nothing is known.
        every: Seconds between two counts.
    """
    task = asyncio.create_task(_watch(paused, models, observer, every), name="lgos-pauses")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _watch(
    paused: PausedRuns, models: Sequence[str], observer: PauseObserver, every: float
) -> None:
    while True:
        try:
            async with asyncio.timeout(every):
                counted = await paused.by_model(models)
        except FAILURES as error:
            logger.warning("paused runs cannot be counted: %r", error)
            for model in models:
                observer.runs_paused(model, math.nan, math.nan)
        else:
            for model in models:
                runs, oldest = counted.get(model, (0, None))
                observer.runs_paused(model, runs, oldest.total_seconds() if oldest else 0.0)
        await asyncio.sleep(every)
