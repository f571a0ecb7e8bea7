"""`BackgroundBackend`: an engine that runs Responses apart from the request that asked for them, and keeps them.

Only plain values cross this port, so that an engine can put a job on a wire and a result into a database.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol


class BackgroundStatus(StrEnum):
    """Where a run is in its life; the values are those of a Response."""

    QUEUED = "queued"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        """Whether it can change no more."""
        return self not in {BackgroundStatus.QUEUED, BackgroundStatus.IN_PROGRESS}


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundJob:
    """A validated request, ready to be run later and elsewhere."""

    request: Mapping[str, Any]
    """The JSON body of the create request."""
    scope: str
    """The server-trusted owner; only it may retrieve and cancel."""
    idempotency_key: str
    """Digest, see `idempotency_digest`; a key of its own for a request that gave none, never empty."""
    created_at: int
    """Unix seconds."""
    request_id: str = ""

    @property
    def model(self) -> str:
        """The public OpenAI `model`."""
        return str(self.request["model"])


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundRun:
    """A job that an engine has accepted, as it stands."""

    id: str
    """A UUID that the engine gave."""
    job: BackgroundJob
    status: BackgroundStatus
    response: str | None = None
    """JSON of the finished Response; `None` until then, and for a run that ended without one."""
    failure: str | None = field(default=None)
    """Why a run without a Response failed, in words for its caller."""


class BackgroundBackend(Protocol):
    """Runs jobs and keeps their results."""

    async def submit(self, job: BackgroundJob) -> BackgroundRun:
        """Accept a job, or return the run that its idempotency key has started already.

        Raises:
            EngineUnavailable: The engine cannot be reached or has no worker for the job; nothing was accepted.
            RequestTooLarge: The job is larger than the engine takes; nothing was accepted.
        """
        ...

    async def get(self, run_id: str) -> BackgroundRun | None:
        """Return a run as it stands, or `None` when there is none of this id.

        Raises:
            EngineUnavailable: The engine cannot be reached.
        """
        ...

    async def cancel(self, run_id: str) -> None:
        """Ask for the end of a run; one that is unknown or has ended stays as it is.

        Raises:
            EngineUnavailable: The engine cannot be reached.
        """
        ...


def idempotency_digest(scope: str, model: str, key: str) -> str:
    """Return what an engine may know of an owner's idempotency key: 64 hexadecimal characters."""
    digest = hashlib.sha256(b"lgos-idempotency-1")
    for part in (scope.encode(), model.encode(), key.encode()):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()
