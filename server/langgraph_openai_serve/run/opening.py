"""`open_run`: the hold on one run, from what can still be refused to its last word.

Opening a run resolves everything that can still be refused (settings, lease, answers, context, input), so a caller can answer
with an error before it sends headers. The run is observed from opening to leaving the context, once.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from langgraph_openai_serve.graph.registry import GraphRegistry, RegisteredModel
from langgraph_openai_serve.graph.request import GraphRequest
from langgraph_openai_serve.ports.observer import Mode, RunInfo, RunObserver, RunStatus
from langgraph_openai_serve.run.executor import Run
from langgraph_openai_serve.run.interrupts import Operation, Turn, open_turn
from langgraph_openai_serve.run.prepare import prepare, resolve_settings, runnable_config

logger = logging.getLogger(__name__)

Clock = Callable[[], float]


def open_run(
    registry: GraphRegistry,
    model: RegisteredModel,
    request: GraphRequest,
    operation: Operation | None = None,
    *,
    mode: Mode,
    clock: Clock = time.perf_counter,
) -> AbstractAsyncContextManager[Run]:
    """Return the context of one run: prepared on entering, observed until it is left.

    Args:
        registry: What the run is coordinated and observed by.
        model: The graph.
        request: What it is asked.
        operation: Which run to begin or go on with, for a model with interrupts.
        mode: How the run is answered.
        clock: Seconds for durations.

    Raises:
        RequestError: The request's settings or answers are refused; nothing ran and nothing was observed.
        RunError: The graph's own adapters raised, or nobody can say whether the run is alone.
    """
    settings = resolve_settings(model, request)
    if operation is None:
        return _observed(registry, model, request, settings, None, mode, clock)
    return _held(registry, model, request, settings, operation, mode, clock)


@asynccontextmanager
async def _held(
    registry: GraphRegistry,
    model: RegisteredModel,
    request: GraphRequest,
    settings: Any,
    operation: Operation,
    mode: Mode,
    clock: Clock,
) -> AsyncGenerator[Run, None]:
    async with AsyncExitStack() as stack:
        turn = await stack.enter_async_context(open_turn(registry, model, request, operation))
        async with _observed(registry, model, request, settings, turn, mode, clock) as run:
            run.release = partial(_leave, stack)
            yield run


async def _leave(turn: AsyncExitStack, error: BaseException | None) -> None:
    """Leave a turn early; the second time does nothing.

    Raises:
        LeaseLost: The lease was lost, and nothing else had ended the run.
    """
    await turn.__aexit__(type(error) if error else None, error, None)


@asynccontextmanager
async def _observed(
    registry: GraphRegistry,
    model: RegisteredModel,
    request: GraphRequest,
    settings: Any,
    turn: Turn | None,
    mode: Mode,
    clock: Clock,
) -> AsyncGenerator[Run, None]:
    info = RunInfo(model.id, request.api, mode)
    observer = registry.observer
    started = clock()
    observer.run_created(info)
    run: Run | None = None
    unended = RunStatus.FAILED
    try:
        graph_input, context = await prepare(
            model, request, settings, needs_input=turn is None or turn.begins
        )
        config = runnable_config(model, request, None if turn is None else turn.config)
        run = Run(model, request, graph_input, context, config, turn)
        if mode is Mode.STREAM:
            run.first_output = _once(observer, info, started, clock)
        try:
            yield run
        finally:
            if turn is None:
                await _forget_thread(run)
    except asyncio.CancelledError:
        unended = RunStatus.CANCELLED
        raise
    finally:
        # A caller that leaves while the last bytes are sent does not change how the run ended.
        status = unended if run is None or run.status is None else run.status
        observer.run_ended(info, status, clock() - started)


async def _forget_thread(run: Run) -> None:
    thread = run.config.get("configurable", {}).get("thread_id")
    checkpointer = run.model.graph.checkpointer
    if thread is None or not isinstance(checkpointer, BaseCheckpointSaver):
        return
    try:
        await checkpointer.adelete_thread(thread)
    except Exception:  # clean-up never replaces the run's own outcome
        logger.exception("cannot delete the thread of a finished run: model=%s", run.model.id)


def _once(observer: RunObserver, info: RunInfo, started: float, clock: Clock) -> Callable[[], None]:
    noted = False

    def note() -> None:
        nonlocal noted
        if not noted:
            noted = True
            observer.first_output(info, clock() - started)

    return note
