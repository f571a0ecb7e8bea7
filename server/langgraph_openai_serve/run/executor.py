"""`open_run`: the one place where a graph is invoked.

Opening a run resolves everything that can still be refused (settings, context, input), so a caller can answer with an
error before it sends headers. Executing it pushes `RunEvent`s into a synchronous sink: text comes from a callback inside
the graph's own tasks, so a token costs no task switch. The run is observed from opening to leaving the context, once.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from langgraph_openai_serve.errors import LgosError, RunError
from langgraph_openai_serve.graph.config import GraphFeature
from langgraph_openai_serve.graph.registry import GraphRegistry, RegisteredModel
from langgraph_openai_serve.graph.request import GraphRequest
from langgraph_openai_serve.ports.observer import Mode, RunInfo, RunObserver, RunStatus
from langgraph_openai_serve.run.citations import citations_of
from langgraph_openai_serve.run.events import (
    MessageCompleted,
    Push,
    RunEnded,
    RunEvent,
    TextDelta,
)
from langgraph_openai_serve.run.messages import (
    incomplete_reason,
    last_message,
    refusal_of,
    text_of,
    tool_calls,
    total_usage,
)
from langgraph_openai_serve.run.prepare import prepare, resolve_settings, runnable_config, settled
from langgraph_openai_serve.run.probe import text_comes_by_callback
from langgraph_openai_serve.run.stream import PartReader

logger = logging.getLogger(__name__)

Clock = Callable[[], float]


@dataclass(slots=True)
class Run:
    """One prepared run; `execute` may be called once."""

    model: RegisteredModel
    request: GraphRequest
    graph_input: Any
    context: Any
    config: RunnableConfig
    status: RunStatus | None = None
    """How it ended; `None` until then."""
    first_output: Callable[[], None] = field(default=lambda: None)

    async def execute(self, push: Push, *, stream: bool) -> None:
        """Run the graph and push its events.

        Raises:
            RunError: The graph raised, or said something that cannot be served.
            asyncio.CancelledError: The task was cancelled; the graph's tasks have ended.
        """
        try:
            ended = await (self._stream(push) if stream else self._collect(push))
        except asyncio.CancelledError:
            self.status = RunStatus.CANCELLED
            raise
        except LgosError:
            self.status = RunStatus.FAILED
            raise
        except Exception as error:
            self.status = RunStatus.FAILED
            logger.exception(
                "run failed: model=%s request_id=%s", self.model.id, self.request.request_id
            )
            msg = f"{type(error).__name__} in the graph"
            raise RunError(msg) from error
        self.status = RunStatus.INCOMPLETE if ended.incomplete else RunStatus.COMPLETED
        push(ended)

    async def _collect(self, push: Push) -> RunEnded:
        reader = PartReader(self.request, push, None)
        return await self._finish(await self._consume(reader), None, reader, push)

    async def _stream(self, push: Push) -> RunEnded:
        streamed: list[str] = []

        def emit(text: str) -> None:
            if not streamed:
                self.first_output()
            streamed.append(text)
            push(TextDelta(text))

        def noting(event: RunEvent) -> None:
            self.first_output()
            push(event)

        shows_status = GraphFeature.CLIENT_EVENTS in self.model.features
        by_callback = await text_comes_by_callback()
        reader = PartReader(
            self.request, noting, emit, shows_status=shows_status, by_callback=by_callback
        )
        return await self._finish(await self._consume(reader), streamed, reader, push)

    async def _consume(self, reader: PartReader) -> Any:
        """Follow the graph to its end and return its output."""
        self.config["callbacks"] = [reader.handler]
        parts = self.model.graph.astream(
            self.graph_input,
            self.config,
            context=self.context,
            stream_mode=reader.modes,
            subgraphs=reader.subgraphs,
            version="v2",
        )
        async for part in parts:
            reader.read(part)
        reader.close()
        return reader.output

    async def _finish(
        self, output: Any, streamed: list[str] | None, reader: PartReader, push: Push
    ) -> RunEnded:
        message = await self._message(output)
        text = text_of(message)
        if streamed:
            if "".join(streamed) != text:
                msg = "the streamed text differs from the final message; output_to_message must render the same text"
                logger.error(
                    "%s: model=%s request_id=%s", msg, self.model.id, self.request.request_id
                )
                raise RunError(msg)
        elif streamed is not None:
            self.first_output()
            if text:
                push(TextDelta(text))
        incomplete = incomplete_reason(message)
        complete = incomplete is None
        push(MessageCompleted(text, refusal_of(message), citations_of(message), complete=complete))
        for call in tool_calls(message, self.request.tool_names, complete=complete):
            push(call)
        return RunEnded(incomplete, total_usage(reader.handler.reports))

    async def _message(self, output: Any) -> AIMessage:
        adapter = self.model.config.output_to_message
        if adapter is None:
            return last_message(output)
        message = await settled(adapter(output))
        if not isinstance(message, AIMessage):
            msg = f"output_to_message returned {type(message).__name__}, not an AIMessage"
            raise RunError(msg)
        return message


@asynccontextmanager
async def open_run(
    registry: GraphRegistry,
    model: RegisteredModel,
    request: GraphRequest,
    *,
    mode: Mode,
    clock: Clock = time.perf_counter,
) -> AsyncGenerator[Run, None]:
    """Prepare a run and observe it until the context is left.

    Raises:
        RequestError: The request's settings are refused; nothing ran and nothing was observed.
        RunError: The graph's own adapters raised.
    """
    settings = resolve_settings(model, request)
    info = RunInfo(model.id, request.api, mode)
    observer = registry.observer
    started = clock()
    observer.run_created(info)
    run: Run | None = None
    unended = RunStatus.FAILED
    try:
        graph_input, context = await prepare(model, request, settings)
        run = Run(model, request, graph_input, context, runnable_config(model, request))
        if mode is Mode.STREAM:
            run.first_output = _once(observer, info, started, clock)
        try:
            yield run
        finally:
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
