"""`Run`: the one place where a graph is invoked.

A run pushes `RunEvent`s into a synchronous sink: text comes from a callback inside the graph's own tasks, so a token costs no
task switch. Its turn has ended before the last events are pushed, whatever happened. `opening` makes runs.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig

from langgraph_openai_serve.errors import InterruptRefused, LeaseLost, LgosError, RunError
from langgraph_openai_serve.graph.config import GraphFeature
from langgraph_openai_serve.graph.registry import RegisteredModel
from langgraph_openai_serve.graph.request import GraphRequest
from langgraph_openai_serve.ports.observer import RunStatus
from langgraph_openai_serve.run.batch import InterruptBatch
from langgraph_openai_serve.run.citations import citations_of
from langgraph_openai_serve.run.events import (
    Interrupted,
    MessageCompleted,
    Push,
    RunEnded,
    RunEvent,
    TextDelta,
)
from langgraph_openai_serve.run.interrupts import Turn
from langgraph_openai_serve.run.messages import (
    incomplete_reason,
    last_message,
    refusal_of,
    text_of,
    tool_calls,
    total_usage,
)
from langgraph_openai_serve.run.prepare import settled
from langgraph_openai_serve.run.probe import text_comes_by_callback
from langgraph_openai_serve.run.stream import PartReader

logger = logging.getLogger(__name__)


async def _nothing(_error: BaseException | None) -> None:
    """Release nothing: the run cannot pause."""


@dataclass(slots=True)
class Run:
    """One prepared run; `execute` may be called once."""

    model: RegisteredModel
    request: GraphRequest
    graph_input: Any
    context: Any
    config: RunnableConfig
    turn: Turn | None = None
    """The hold on a run that can pause."""
    release: Callable[[BaseException | None], Awaitable[None]] = _nothing
    """Ends the turn, given what the run failed with. Done before the caller can see how the run ended and answer."""
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
            ended = await self._turn(push, stream=stream)
        except (asyncio.CancelledError, Exception) as error:
            failure = self._failure(error)
            await self.release(error)
            if failure is error:
                raise
            raise failure from error
        if self.status is None:
            self.status = RunStatus.INCOMPLETE if ended.incomplete else RunStatus.COMPLETED
        push(ended)

    async def _turn(self, push: Push, *, stream: bool) -> RunEnded:
        """Run the graph, or show again what it waits for already."""
        if self.turn is not None and self.turn.pending is not None:
            return await self._pause(self.turn.pending, None, push)
        return await (self._stream(push) if stream else self._collect(push))

    def _failure(self, error: BaseException) -> BaseException:
        """Return what a run that did not get to its end raises."""
        lost = self.turn is not None and self.turn.lease.absorb_cancellation()
        self.status = RunStatus.FAILED
        if isinstance(error, asyncio.CancelledError):
            if lost:
                return LeaseLost(self.model.id)
            self.status = RunStatus.CANCELLED
            return error
        if isinstance(error, LgosError):
            return error
        logger.error(
            "run failed: model=%s request_id=%s",
            self.model.id,
            self.request.request_id,
            exc_info=error,
        )
        return RunError(f"{type(error).__name__} in the graph")

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
        """Follow the graph until it finishes or pauses, and return its output."""
        callbacks: list[BaseCallbackHandler] = [reader.handler]
        graph_input = self.graph_input
        if self.turn is not None:
            self.turn.begin()
            callbacks.append(self.turn.tools)
            graph_input = self.turn.resume or graph_input
        self.config["callbacks"] = callbacks
        parts = self.model.graph.astream(
            graph_input,
            self.config,
            context=self.context,
            stream_mode=reader.modes,
            subgraphs=reader.subgraphs,
            durability=None if self.turn is None else "exit",
            version="v2",
        )
        async for part in parts:
            reader.read(part)
        return reader.output

    async def _finish(
        self, output: Any, streamed: list[str] | None, reader: PartReader, push: Push
    ) -> RunEnded:
        if reader.interrupted:
            return await self._pause(await self._batch(), streamed, push, reader)
        reader.close()
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
        await self.release(None)
        incomplete = incomplete_reason(message)
        complete = incomplete is None
        push(MessageCompleted(text, refusal_of(message), citations_of(message), complete=complete))
        for call in tool_calls(message, self.request.tool_names, complete=complete):
            push(call)
        return RunEnded(incomplete, total_usage(reader.handler.reports))

    async def _batch(self) -> InterruptBatch:
        """Return what the graph waits for, stored where it can be answered."""
        if self.turn is None:
            msg = "The graph interrupted, but its model does not declare interrupts."
            raise InterruptRefused(msg)
        return await self.turn.pause(self.model.graph)

    async def _pause(
        self,
        batch: InterruptBatch,
        streamed: list[str] | None,
        push: Push,
        reader: PartReader | None = None,
    ) -> RunEnded:
        """Show what the run waits for, after whatever text was streamed before."""
        await self.release(None)
        self.status = RunStatus.INTERRUPTED
        self.first_output()
        if streamed:
            push(MessageCompleted("".join(streamed)))
        for pending in batch.interrupts:
            push(Interrupted(pending.id, batch.state, pending.payload))
        return RunEnded(None, None if reader is None else total_usage(reader.handler.reports))

    async def _message(self, output: Any) -> AIMessage:
        adapter = self.model.config.output_to_message
        if adapter is None:
            return last_message(output)
        message = await settled(adapter(output))
        if not isinstance(message, AIMessage):
            msg = f"output_to_message returned {type(message).__name__}, not an AIMessage"
            raise RunError(msg)
        return message
