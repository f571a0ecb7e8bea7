"""`InMemoryBackgroundBackend`: jobs as tasks of the application's own process, for trials and tests."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import uuid4

import orjson

from langgraph_openai_serve.background.execute import execute_background_job
from langgraph_openai_serve.errors import EngineUnavailable
from langgraph_openai_serve.graph.registry import GraphRegistry
from langgraph_openai_serve.ports.background import (
    BackgroundJob,
    BackgroundRun,
    BackgroundStatus,
)

logger = logging.getLogger(__name__)

SLOTS: Final = 8
KEPT: Final = 10_000


@dataclass(slots=True)
class _Entry:
    run: BackgroundRun
    task: asyncio.Task[None]


class InMemoryBackgroundBackend:
    """Implements `BackgroundBackend`; everything is gone with the process.

    Args:
        registry: The graphs of the jobs.
        slots: How many jobs run at once.
        kept: How many runs are remembered; the oldest ended ones are forgotten.
    """

    def __init__(self, registry: GraphRegistry, *, slots: int = SLOTS, kept: int = KEPT) -> None:
        self._registry = registry
        self._slots = asyncio.Semaphore(slots)
        self._kept = kept
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._by_key: dict[str, str] = {}
        self._closed = False

    @asynccontextmanager
    async def lifespan(self, _app: Any) -> AsyncGenerator[None, None]:
        """End what is still running when the application ends; for `FastAPI(lifespan=…)`."""
        try:
            yield
        finally:
            await self.close()

    async def close(self) -> None:
        """Cancel all runs and take no more."""
        self._closed = True
        tasks = [entry.task for entry in self._entries.values() if not entry.task.done()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def submit(self, job: BackgroundJob) -> BackgroundRun:
        """Start a job, or return the run of its key.

        Raises:
            EngineUnavailable: The application is ending.
        """
        if self._closed:
            msg = "the application is ending"
            raise EngineUnavailable(msg)
        known = self._by_key.get(job.idempotency_key)
        if known is not None:
            return self._entries[known].run
        run = BackgroundRun(id=str(uuid4()), job=job, status=BackgroundStatus.QUEUED)
        task = asyncio.create_task(self._execute(run), name=f"lgos-background-{run.id}")
        self._entries[run.id] = _Entry(run, task)
        self._by_key[job.idempotency_key] = run.id
        self._forget()
        return run

    async def get(self, run_id: str) -> BackgroundRun | None:
        """Return a run, or `None`."""
        entry = self._entries.get(run_id)
        return None if entry is None else entry.run

    async def cancel(self, run_id: str) -> None:
        """End a run; when this returns it has ended."""
        entry = self._entries.get(run_id)
        if entry is None or entry.run.status.is_terminal:
            return
        entry.task.cancel()
        await asyncio.wait([entry.task])
        if not entry.run.status.is_terminal:  # it had not begun
            entry.run = replace(entry.run, status=BackgroundStatus.CANCELLED)

    async def _execute(self, run: BackgroundRun) -> None:
        entry: _Entry | None = None
        try:
            async with self._slots:
                entry = self._entries[run.id]
                entry.run = replace(run, status=BackgroundStatus.IN_PROGRESS)
                response = await execute_background_job(run.job, run.id, self._registry)
                status = _status_of(response)
                entry.run = replace(run, status=status, response=response)
        except asyncio.CancelledError:
            if entry is not None:
                entry.run = replace(run, status=BackgroundStatus.CANCELLED)
            raise
        except Exception:
            logger.exception("background run broke off: model=%s run=%s", run.job.model, run.id)
            self._entries[run.id].run = replace(run, status=BackgroundStatus.FAILED)

    def _forget(self) -> None:
        """Forget the oldest runs, but none that has not ended."""
        surplus = len(self._entries) - self._kept
        for run_id, entry in list(self._entries.items())[: max(0, surplus)]:
            if entry.run.status.is_terminal:
                del self._entries[run_id]
                del self._by_key[entry.run.job.idempotency_key]


def _status_of(response: str) -> BackgroundStatus:
    failed = orjson.loads(response)["status"] == BackgroundStatus.FAILED
    return BackgroundStatus.FAILED if failed else BackgroundStatus.COMPLETED
