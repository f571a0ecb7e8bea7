"""`open_turn`: one request's hold on a run that can be paused.

A turn holds the run lease while it reads the thread's state, checks answers against it and runs the graph. It keeps the
thread when the graph interrupted and deletes it whenever the run is over, whatever the reason. Refusing a request never
touches a pending pause.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command

from langgraph_openai_serve.errors import (
    CoordinatorUnavailable,
    InterruptConflict,
    InterruptRefused,
    LgosError,
    RequestError,
    RunBusy,
)
from langgraph_openai_serve.graph.config import Graph
from langgraph_openai_serve.graph.registry import GraphRegistry, RegisteredModel
from langgraph_openai_serve.graph.request import GraphRequest
from langgraph_openai_serve.ports.coordinator import RunKey, RunLease, current_lease, run_key
from langgraph_openai_serve.ports.observer import SHUTDOWN, LeaseRelease, LeaseResult
from langgraph_openai_serve.run.batch import InterruptBatch, ToolInterrupts, batch_of

logger = logging.getLogger(__name__)

MODEL_KEY = "lgos_model"
RETENTION_KEY = "lgos_retention_seconds"
"""Keys of a checkpoint's metadata, by which abandoned pauses are found and expire."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer to an interrupt, with what its call id says about the pause it belongs to."""

    interrupt_id: str
    state: str
    text: str


@dataclass(frozen=True, slots=True)
class Operation:
    """The run that a request begins or goes on with."""

    id: UUID
    answers: tuple[Answer, ...] = ()
    """Empty for a request that begins; each interrupt at most once."""


@dataclass(slots=True)
class Turn:
    """A held lease and the thread behind it; made by `open_turn`."""

    lease: RunLease
    config: RunnableConfig
    resume: Command[Any] | None = None
    """What the graph goes on with; `None` for a run that begins."""
    pending: InterruptBatch | None = None
    """What the run is waiting for: it is shown again, and nothing runs."""
    keeps_thread: bool = True
    tools: ToolInterrupts = field(default_factory=ToolInterrupts)

    @property
    def begins(self) -> bool:
        """Whether the graph starts from an input."""
        return self.resume is None and self.pending is None

    def begin(self) -> None:
        """The graph starts to run; from now on only a new pause keeps the thread."""
        self.keeps_thread = False

    async def pause(self, graph: Graph) -> InterruptBatch:
        """Return what the graph waits for once its invocation has ended.

        Raises:
            InterruptRefused: The pause cannot be shown or answered safely.
            LeaseLost: The run is not the only one any more.
        """
        batch = batch_of(await graph.aget_state(self.config))
        if batch is None:
            msg = "The graph interrupted without a question, so nobody could answer."
            raise InterruptRefused(msg)
        await self.tools.check(batch)
        self.lease.check()
        self.keeps_thread = True
        return batch


@asynccontextmanager
async def open_turn(
    registry: GraphRegistry, model: RegisteredModel, request: GraphRequest, operation: Operation
) -> AsyncGenerator[Turn, None]:
    """Hold the lease of an operation and find out what the request means for it.

    Raises:
        RunBusy: Another request works on the operation.
        RequestError: The answers leave out an interrupt; the pause stays answerable.
        InterruptConflict: The answers do not match what is pending.
        CoordinatorUnavailable: Leases or checkpoints cannot be reached; nothing ran.
    """
    key = run_key(request.scope, model.id, operation.id)
    async with _held(registry, key) as lease:
        context = current_lease.set(lease)
        turn = Turn(lease, _thread(model, key))
        try:
            await _read(turn, model, operation)
            yield turn
        finally:
            try:
                if not turn.keeps_thread and not lease.lost:
                    await _delete(model, key)
            finally:
                current_lease.reset(context)


def _thread(model: RegisteredModel, key: RunKey) -> RunnableConfig:
    metadata: dict[str, Any] = {MODEL_KEY: model.id}
    if model.info.retention_seconds is not None:
        metadata[RETENTION_KEY] = model.info.retention_seconds
    return {"configurable": {"thread_id": key.digest}, "metadata": metadata}


@asynccontextmanager
async def _held(registry: GraphRegistry, key: RunKey) -> AsyncGenerator[RunLease, None]:
    """Hold a lease and tell the observer about it."""
    observer = registry.observer
    async with AsyncExitStack() as stack:
        try:
            lease = await stack.enter_async_context(registry.run_coordinator.lease(key))
        except RunBusy:
            observer.lease_settled(key.model, LeaseResult.CONTENDED)
            raise
        except Exception as error:
            observer.lease_settled(key.model, LeaseResult.ERROR)
            if isinstance(error, LgosError):
                raise
            logger.exception("the run coordinator failed: model=%s", key.model)
            msg = f"{type(error).__name__} in the run coordinator"
            raise CoordinatorUnavailable(msg) from error
        observer.lease_settled(key.model, LeaseResult.OK)
        started = time.monotonic()
        release = LeaseRelease.FINISHED
        try:
            yield lease
        except asyncio.CancelledError as cancelled:
            if cancelled.args == (SHUTDOWN,):
                release = LeaseRelease.SHUTDOWN
            raise
        finally:
            release = LeaseRelease.LOST if lease.lost else release
            observer.lease_ended(key.model, release, time.monotonic() - started)


async def _read(turn: Turn, model: RegisteredModel, operation: Operation) -> None:
    """Compare the thread's state with the request."""
    try:
        snapshot = await model.graph.aget_state(turn.config)
        pending = batch_of(snapshot)
        if operation.answers:
            turn.resume = _resume(pending, operation.answers)
        elif pending is not None:
            turn.pending = pending
        elif snapshot.created_at is not None:
            await _checkpointer(model).adelete_thread(turn.lease.key.digest)
    except LgosError:
        raise
    except Exception as error:
        logger.exception("checkpoints cannot be read: model=%s", model.id)
        msg = f"{type(error).__name__} in the checkpointer"
        raise CoordinatorUnavailable(msg) from error


def _resume(pending: InterruptBatch | None, answers: tuple[Answer, ...]) -> Command[Any]:
    given = {answer.interrupt_id: answer.text for answer in answers}
    if pending is None or {answer.state for answer in answers} != {pending.state}:
        raise InterruptConflict
    if given.keys() - pending.ids:
        raise InterruptConflict
    missing = len(pending.ids) - len(given)
    if missing:
        msg = f"All {len(pending.ids)} interrupts must be answered in one request; {missing} of them have no function_call_output."
        raise RequestError(msg, param="input")
    return Command(resume=given)


def _checkpointer(model: RegisteredModel) -> BaseCheckpointSaver[Any]:
    saver: Any = model.graph.checkpointer  # registration made sure that there is one
    return cast("BaseCheckpointSaver[Any]", saver)


async def _delete(model: RegisteredModel, key: RunKey) -> None:
    try:
        await _checkpointer(model).adelete_thread(key.digest)
    except Exception:  # clean-up never replaces the run's own outcome; the sweep finds what is left
        logger.exception("cannot delete the thread of a finished run: model=%s", model.id)
