"""Background Responses on Hatchet (extra `hatchet`): the task that a worker runs, and the backend that API processes use.

One task runs one job by `execute_background_job` and returns the Response as its output, so the engine keeps request and
Response. What the engine does not say clearly is settled here: a run that nobody can see after its submission has no worker,
an end by a timeout is not a caller's cancel, and a Response that is too large ends as failed instead of hanging.
"""

from __future__ import annotations

import asyncio
import copy
import logging
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final, TypeVar
from uuid import UUID

import grpc
import orjson
from hatchet_sdk import Context, Hatchet, RunStatus
from hatchet_sdk.clients.rest.exceptions import ApiException
from hatchet_sdk.clients.rest.models.v1_task_status import V1TaskStatus
from hatchet_sdk.exceptions import IdempotencyCollisionError
from hatchet_sdk.features.runs import RunsClient
from hatchet_sdk.runnables.workflow import Standalone
from hatchet_sdk.types.idempotency import TTLBasedIdempotencyConfig
from pydantic import BaseModel

from langgraph_openai_serve.background.execute import execute_background_job
from langgraph_openai_serve.errors import EngineUnavailable, RequestTooLarge, RunError
from langgraph_openai_serve.graph.registry import GraphRegistry
from langgraph_openai_serve.ports.background import (
    BackgroundJob,
    BackgroundRun,
    BackgroundStatus,
)
from langgraph_openai_serve.protocols.responses.kept import KeptResponse

__all__ = ["Hatchet", "HatchetBackgroundBackend", "JobInput", "ResponseTask", "create_hatchet_task"]

logger = logging.getLogger(__name__)

DEFAULT_NAME: Final = "lgos-response"
SCHEDULE_TIMEOUT: Final = timedelta(minutes=30)
EXECUTION_TIMEOUT: Final = timedelta(hours=1)
KEYS_KEPT: Final = timedelta(hours=24)
ENVELOPE_BYTES: Final = 64 * 1024
"""What a message may hold besides a job or a Response."""
SEEN_SECONDS: Final = 5.0
"""How long a new run may take until the engine shows it."""
TRY_SECONDS: Final = 5.0
"""How long an engine that does not answer is tried."""
HISTORY_SECONDS: Final = 2.0
"""How long the engine's history may be behind."""
PAUSE_SECONDS: Final = 0.05

TOO_LARGE: Final = "The Response is larger than the background engine takes; ask for less."
TIMED_OUT: Final = "The run was ended by the engine: it took longer than its execution timeout."
NOT_STARTED: Final = (
    "The run was ended by the engine: no worker took it within its schedule timeout."
)
NO_WORKER: Final = (
    "No worker for this model has ever reached the background engine; nothing was started."
)

_STATUS: Final = {
    RunStatus.QUEUED: BackgroundStatus.QUEUED,
    RunStatus.RUNNING: BackgroundStatus.IN_PROGRESS,
    RunStatus.COMPLETED: BackgroundStatus.COMPLETED,
    RunStatus.FAILED: BackgroundStatus.FAILED,
    RunStatus.CANCELLED: BackgroundStatus.CANCELLED,
}
# While the engine's database is away it calls every token invalid.
_TRANSIENT: Final = {
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.UNKNOWN,
}

T = TypeVar("T")


class JobInput(BaseModel):
    """A `BackgroundJob` on the wire."""

    request: dict[str, Any]
    scope: str
    idempotency_key: str
    created_at: int
    request_id: str = ""

    def job(self) -> BackgroundJob:
        """Return the job."""
        return BackgroundJob(**dict(self))


ResponseTask = Standalone[JobInput, dict[str, Any]]


def create_hatchet_task(
    hatchet: Hatchet,
    *,
    name: str = DEFAULT_NAME,
    schedule_timeout: timedelta = SCHEDULE_TIMEOUT,
    execution_timeout: timedelta = EXECUTION_TIMEOUT,
) -> ResponseTask:
    """Return the task that runs background Responses; workers register it, API processes submit to it.

    The worker's lifespan must yield the `GraphRegistry` of the background models.

    Args:
        hatchet: The client.
        name: The task's name in the engine; the same in workers and API processes.
        schedule_timeout: How long a run may wait for a worker.
        execution_timeout: How long a run may take. It also ends a run whose completion the engine has lost.
    """
    limit = _limit(hatchet)

    @hatchet.task(
        name=name,
        input_validator=JobInput,
        schedule_timeout=schedule_timeout,
        execution_timeout=execution_timeout,
        retries=0,
        idempotency=TTLBasedIdempotencyConfig(
            key_expression="input.idempotency_key", ttl=KEYS_KEPT
        ),
    )
    async def respond(job_input: JobInput, context: Context) -> dict[str, Any]:
        registry: GraphRegistry = context.lifespan
        job, run_id = job_input.job(), context.workflow_run_id
        response = await execute_background_job(job, run_id, registry)
        if len(orjson.dumps(response)) > limit:
            logger.error("Response is too large: model=%s run=%s", job.model, run_id)
            error = RunError("the Response is too large")
            error.public_message = TOO_LARGE
            response = KeptResponse(job, UUID(run_id)).failed(error).decode()
        return {"response": response}

    return respond


class HatchetBackgroundBackend:
    """Implements `BackgroundBackend` on a Hatchet engine.

    Args:
        task: What `create_hatchet_task` returned, with the name that the workers use.
        runs: The client's `runs`.
    """

    def __init__(self, task: ResponseTask, runs: RunsClient) -> None:
        self._task = task
        self._runs = runs
        self._limit = _limit_of(runs.client_config.grpc_max_send_message_length)
        self._details = _details(runs)

    async def submit(self, job: BackgroundJob) -> BackgroundRun:
        """Accept a job, or return the run of its key.

        Raises:
            RequestTooLarge: The job is larger than a message of the engine.
            EngineUnavailable: The engine cannot be reached, or no worker ever registered the task.
        """
        job_input = JobInput(
            request=dict(job.request),
            scope=job.scope,
            idempotency_key=job.idempotency_key,
            created_at=job.created_at,
            request_id=job.request_id,
        )
        if len(job_input.model_dump_json()) > self._limit:
            raise RequestTooLarge(self._limit)
        run_id = await self._start(job_input)
        until = time.monotonic() + SEEN_SECONDS
        while time.monotonic() < until:
            run = await self.get(run_id)
            if run is not None:
                return run
            await asyncio.sleep(PAUSE_SECONDS)
        msg = f"the engine does not know the task '{self._task.name}'"
        raise EngineUnavailable(msg, public_message=NO_WORKER)

    async def get(self, run_id: str) -> BackgroundRun | None:
        """Return a run, or `None`.

        Raises:
            EngineUnavailable: The engine cannot be reached.
        """
        try:
            details = await _tried(lambda: asyncio.to_thread(self._details, run_id))
        except grpc.RpcError as error:
            if _code(error) in {grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INVALID_ARGUMENT}:
                return None
            raise _unavailable(error) from error
        job = _job_of(details.input)
        if job is None:  # somebody else's run in the same tenant
            return None
        status = _STATUS[details.status]
        [task] = details.task_runs.values() if details.task_runs else [None]
        response = (task.output or {}).get("response") if task is not None else None
        failure = None
        if status.is_terminal and response is None:
            status, failure = await self._ending(run_id, status, task and task.error)
        elif response is not None and orjson.loads(response)["status"] == "failed":
            status = BackgroundStatus.FAILED
        return BackgroundRun(id=run_id, job=job, status=status, response=response, failure=failure)

    async def cancel(self, run_id: str) -> None:
        """End a run, whether it waits or runs.

        Raises:
            EngineUnavailable: The engine cannot be reached.
        """
        try:
            await self._runs.aio_cancel(run_id)
        except (ApiException, grpc.RpcError, OSError) as error:
            raise _unavailable(error) from error
        until = time.monotonic() + TRY_SECONDS
        while time.monotonic() < until:
            run = await self.get(run_id)
            if run is None or run.status.is_terminal:
                return
            await asyncio.sleep(PAUSE_SECONDS)

    async def _start(self, job_input: JobInput) -> str:
        try:
            started = await _tried(lambda: self._task.aio_run(job_input, wait_for_result=False))
        except IdempotencyCollisionError as collision:
            return str(collision.existing_run_external_id)
        except grpc.RpcError as error:
            raise _unavailable(error) from error
        return str(started.workflow_run_id)

    async def _ending(
        self, run_id: str, status: BackgroundStatus, error: str | None
    ) -> tuple[BackgroundStatus, str | None]:
        """Tell an end by the engine from a caller's cancel and from a failure."""
        if status is BackgroundStatus.FAILED and error and "exceeded timeout" in error:
            return BackgroundStatus.CANCELLED, TIMED_OUT
        if status is BackgroundStatus.CANCELLED and await self._was_not_scheduled(run_id):
            return BackgroundStatus.CANCELLED, NOT_STARTED
        return status, None

    async def _was_not_scheduled(self, run_id: str) -> bool:
        """Return whether the engine ended a run that nobody cancelled.

        It calls such a run cancelled where it is asked first, and failed in its history, which is a moment behind.
        """
        until = time.monotonic() + HISTORY_SECONDS
        while time.monotonic() < until:
            try:
                history = await self._runs.aio_get_status(run_id)
            except (ApiException, OSError) as error:
                logger.warning("the history of a cancelled run cannot be read: %r", error)
                return False
            if history in {V1TaskStatus.FAILED, V1TaskStatus.CANCELLED}:
                return history is V1TaskStatus.FAILED
            await asyncio.sleep(PAUSE_SECONDS)
        return False


def _details(runs: RunsClient) -> Callable[[str], Any]:
    """Return the SDK's question for a run without its retries: an unknown id is an answer, not a fault."""
    admin = copy.copy(runs._admin_client)
    tenacity = admin.config.tenacity.model_copy(update={"max_attempts": 1})
    admin.config = admin.config.model_copy(update={"tenacity": tenacity})
    question: Callable[[str], Any] = admin.get_details
    return question


async def _tried(call: Callable[[], Any]) -> Any:
    """Call until the engine answers, for as long as its silence may pass."""
    until = time.monotonic() + TRY_SECONDS
    while True:
        try:
            return await call()
        except grpc.RpcError as error:
            if _code(error) not in _TRANSIENT or time.monotonic() >= until:
                raise
        await asyncio.sleep(PAUSE_SECONDS * 5)


def _job_of(document: Any) -> BackgroundJob | None:
    """Return the job of a run's input, wherever the engine puts it; `None` for runs that are not ours."""
    for candidate in (document, (document or {}).get("input")):
        if isinstance(candidate, dict) and {"request", "scope", "idempotency_key"} <= set(
            candidate
        ):
            return JobInput.model_validate(candidate).job()
    return None


def _code(error: grpc.RpcError) -> grpc.StatusCode | None:
    code = getattr(error, "code", None)
    return code() if callable(code) else None


def _unavailable(error: Exception) -> EngineUnavailable:
    return EngineUnavailable(f"the background engine cannot be reached: {error!r}")


def _limit(hatchet: Hatchet) -> int:
    return _limit_of(hatchet.config.grpc_max_send_message_length)


def _limit_of(message_bytes: int) -> int:
    return message_bytes - ENVELOPE_BYTES
