"""Responses that an engine keeps: how they are named, and how they look until they have ended.

The id of a kept Response names the operation that its run works on and the run itself, in the form of every Response that
can be gone on with; so a pause that a background run shows is answered like any other.
"""

from __future__ import annotations

import dataclasses
from typing import Final
from uuid import UUID

import orjson

from langgraph_openai_serve.errors import LgosError, RunError
from langgraph_openai_serve.ports.background import (
    BackgroundJob,
    BackgroundRun,
    BackgroundStatus,
)
from langgraph_openai_serve.protocols.metadata import RUN_ID_KEY
from langgraph_openai_serve.protocols.responses.exchange import Identity, ResponseExchange
from langgraph_openai_serve.protocols.responses.resume import parts_of, response_id
from langgraph_openai_serve.protocols.responses.shapes import ResponseFrame, Status
from langgraph_openai_serve.wire.responses import ResponseCreate

_SHOWN: Final[dict[BackgroundStatus, Status]] = {
    BackgroundStatus.QUEUED: "queued",
    BackgroundStatus.IN_PROGRESS: "in_progress",
    # The engine has noted the end, but not yet the result.
    BackgroundStatus.COMPLETED: "in_progress",
    BackgroundStatus.FAILED: "failed",
    BackgroundStatus.CANCELLED: "cancelled",
}
"""Statuses of runs that have no Response."""


def run_of(text: str) -> str | None:
    """Return the id of the run behind a Response's id, or `None` when it cannot have one."""
    parts = parts_of(text)
    return None if parts is None else str(parts[1])


class KeptResponse:
    """The Response of a job.

    Args:
        job: What was asked for.
        run_id: The run that answers it.
    """

    def __init__(self, job: BackgroundJob, run_id: UUID) -> None:
        self.run_id = run_id
        self._job = job
        self._identity = Identity(response_id(_operation(job, run_id), run_id), job.created_at)

    @property
    def id(self) -> str:
        """The Response's id."""
        return self._identity.id

    def named(self, exchange: ResponseExchange) -> ResponseExchange:
        """Return the exchange with the Response's id and time."""
        return dataclasses.replace(exchange, identity=self._identity)

    def failed(self, error: LgosError) -> bytes:
        """Return the Response of a run that failed."""
        return orjson.dumps(self._frame().render("failed", [], error=error))

    def shown(self, run: BackgroundRun) -> bytes:
        """Return the Response as its run stands."""
        if run.response is not None:
            return run.response.encode()
        error = None
        if run.failure is not None or run.status is BackgroundStatus.FAILED:
            error = RunError("the run ended without a Response")
            error.public_message = run.failure or error.public_message
        return orjson.dumps(self._frame().render(_SHOWN[run.status], [], error=error))

    def _frame(self) -> ResponseFrame:
        body = ResponseCreate.model_validate(dict(self._job.request))
        return ResponseFrame(self._identity.id, self._identity.created_at, body.model, body)


def _operation(job: BackgroundJob, run_id: UUID) -> UUID:
    """Return the run that is begun or gone on with; a new one has the engine's own id."""
    previous = parts_of(job.request.get("previous_response_id") or "")
    if previous is not None:
        return previous[0]
    chosen = (job.request.get("metadata") or {}).get(RUN_ID_KEY)
    return run_id if chosen is None else UUID(chosen)
